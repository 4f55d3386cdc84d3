"""Axes: every tick says which value it stands at."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.report.figures.axes import (
    MOST_TICKS,
    Margins,
    blank,
    inline,
    limits,
    power_values,
    tick_texts,
    x_scale,
    y_scale,
)

sizes = st.floats(1e-6, 1e7)


def value(text: str) -> float:
    thousands = 1000 if text.endswith("k") else 1
    return thousands * float(text.removesuffix("k").replace("−", "-").replace(",", ""))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(low=st.one_of(st.just(0.0), sizes, sizes.map(lambda size: -size)), width=sizes)
@example(low=0.0, width=0.0101)  # the SAP of a small study: 0, 0.01, 0.01
@example(low=0.165, width=0.075)  # its UDR: 0.17, 0.2, 0.23
@example(low=123_456.1, width=0.2)
def test_no_two_ticks_read_alike_and_each_reads_its_value(low: float, width: float) -> None:
    width = max(width, 1e-6 * abs(low))  # narrower is the rounding of the numbers themselves
    for scale in (y_scale, x_scale):
        _, (axes,) = blank(352, 128, Margins())
        scale(axes, limits(pd.Series([low, low + width])))
        place = 1 if scale is y_scale else 0
        ticks = [(text.xy[place], text.get_text()) for text in axes.texts]
        assert len(ticks) >= 2
        step = min(b - a for (a, _), (b, _) in pairwise(ticks))
        assert len({text for _, text in ticks}) == len(ticks), ticks
        assert all(abs(value(text) - at) < 1e-3 * step for at, text in ticks), ticks


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0, 0.005, 0.01], ["0", "0.005", "0.01"]),
        ([0.15, 0.175, 0.2], ["0.15", "0.175", "0.2"]),
        ([-0.5, -1e-17, 0.5], ["−0.5", "0", "0.5"]),
        ([0.0, 50_000.0, 100_000.0], ["0", "50k", "100k"]),
        ([0.0, 2500.0, 5000.0], ["0", "2,500", "5,000"]),
        ([1_234_500.0, 1_234_600.0], ["1,234.5k", "1,234.6k"]),
        ([0.0], ["0"]),
        ([], []),
    ],
)
def test_ticks_are_as_short_as_they_can_be(values: list[float], texts: list[str]) -> None:
    assert tick_texts(values) == texts


@pytest.mark.parametrize(
    ("ends", "values"),
    [
        ((0.1, 10), [0.1, 0.2, 0.5, 1, 2, 5, 10]),
        ((0.9e-3, 1.1e3), [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        ((2.2, 2.8), [2.2, 2.4, 2.6, 2.8]),
        ((1e-9, 1e9), [10.0**k for k in range(-9, 10, 3)]),
    ],
)
def test_a_scale_of_powers_has_round_values(ends: tuple[float, float], values: list[float]) -> None:
    low, high = map(math.log10, ends)
    assert power_values((low, high)) == pytest.approx(values)


@given(st.floats(-12, 12), st.floats(1e-3, 20))
def test_values_of_powers_are_on_the_scale_few_and_rising(low: float, size: float) -> None:
    values = power_values((low, low + size))
    assert values == sorted(set(values)) and 1 <= len(values) <= MOST_TICKS
    assert all(low - 1e-6 <= math.log10(value) <= low + size + 1e-6 for value in values)


def test_ticks_reach_the_page_with_all_their_decimals() -> None:
    figure, (axes,) = blank(300, 200, Margins())
    y_scale(axes, (0.0041, 0.0113))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", inline(figure, "ticks"))
    assert texts == ["0.006", "0.008", "0.01"] and len(set(texts)) == 3
