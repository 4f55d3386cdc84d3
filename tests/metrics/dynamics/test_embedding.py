"""Randomised range finding against exact singular vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metrics.dynamics import embedding
from metrics.dynamics.embedding import leading

Array = np.ndarray[Any, Any]


def exact(matrix: Array, count: int) -> tuple[Array, Array]:
    _, values, rows = np.linalg.svd(matrix)
    return rows[:count].T, values[:count] ** 2


@pytest.mark.parametrize("block", [4, 8, 60])
def test_the_first_singular_vectors_are_the_exact_ones(block: int) -> None:
    draws = np.random.default_rng(0)
    matrix = draws.normal(size=(90, 60)) @ np.diag(0.9 ** np.arange(60))
    visits = 0

    def squared(columns: Array) -> Array:
        nonlocal visits
        visits += 1
        return matrix.T @ (matrix @ columns)

    found = leading(squared, 60, 3, np.random.default_rng(1), block)
    vectors, values = exact(matrix, 3)
    assert found.values == pytest.approx(values, rel=1e-6)
    assert abs((found.vectors * vectors).sum(axis=0)) == pytest.approx(1, abs=1e-6)
    assert found.vectors.T @ found.vectors == pytest.approx(np.eye(3), abs=1e-10)
    assert found.residual <= embedding.TOLERANCE
    assert (visits == 1) == (block == 60), "the whole space at once needs no second visit"


def test_fewer_directions_than_a_block_are_all_of_them() -> None:
    draws = np.random.default_rng(0)
    matrix = draws.normal(size=(80, 3)) @ draws.normal(size=(3, 50))
    found = leading(lambda x: matrix.T @ (matrix @ x), 50, 4, np.random.default_rng(1), 8)
    vectors, values = exact(matrix, 3)
    assert found.values == pytest.approx([*values, 0], abs=1e-9 * values[0])
    assert abs((found.vectors[:, :3] * vectors).sum(axis=0)) == pytest.approx(1)


def test_vectors_that_do_not_settle_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MOST_VISITS", 2)
    scale = np.linspace(1, 0.9, 500)[:, None]
    found = leading(lambda x: scale * x, 500, 3, np.random.default_rng(1), 5)
    assert found.residual > embedding.TOLERANCE
