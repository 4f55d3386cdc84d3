"""Metrics of other packages: found by their entry points, and left out where they are of no use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import metrics
from metrics import BUILT_IN, METRICS, MODULES, Metric
from metrics.base.inputs import Inputs
from metrics.evaluate import evaluate
from tasks.explain import page
from tasks.study.spec import Metrics
from tests.plug_in import install_plug_in


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    for table in ("METRICS", "MODULES"):
        monkeypatch.setattr(metrics, table, getattr(metrics, table).copy())
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("my_package")]:
        del sys.modules[name]


def test_a_package_adds_a_metric_by_an_entry_point(place: Path) -> None:
    install_plug_in(place)
    metrics.add_plug_ins()
    assert metrics.METRICS["best_rho"] == Metric("Best ρ", "", better="more")
    assert metrics.MODULES["best_rho"] == "my_package.best_rho"
    assert "best_rho" not in Metrics().names, "a study computes it only if it is named"
    assert "best_rho" not in page()


def test_a_plug_in_is_evaluated_as_any_metric(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plug_in(place)
    monkeypatch.setitem(METRICS, "best_rho", Metric("Best ρ", "", better="more"))
    monkeypatch.setitem(MODULES, "best_rho", "my_package.best_rho")
    factors = np.arange(12).reshape(6, 2) % 5
    (score,) = evaluate("best_rho", Inputs(factors * 2.0, factors), np.random.default_rng(0))
    assert score.value == pytest.approx(1)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("import no_such_package", "No module named 'no_such_package'"),
        ("NEEDS = frozenset()", "has no attribute 'METRIC'"),
        ("METRIC = 'mine'", "no metrics.Metric"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_warning(
    module: str, reason: str, place: Path
) -> None:
    install_plug_in(place, module)
    with pytest.warns(UserWarning, match=reason):
        metrics.add_plug_ins()
    assert tuple(metrics.METRICS) == BUILT_IN


def test_no_plug_in_takes_the_place_of_a_metric(place: Path) -> None:
    install_plug_in(place)
    points = place / "my_package-1.0.dist-info" / "entry_points.txt"
    points.write_text("[tolstoy.metrics]\nmig = my_package.best_rho\n")
    with pytest.warns(UserWarning, match="metric mig .*there is a metric of this name"):
        metrics.add_plug_ins()
    assert metrics.MODULES["mig"] == "metrics.mig"
