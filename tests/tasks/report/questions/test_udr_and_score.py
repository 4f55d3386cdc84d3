"""Six models on which UDR and DCI differ most, marked in the figure and pictured below it."""

from __future__ import annotations

import re
from itertools import pairwise

import pandas as pd

from tasks.report.figures.coloured import steps_of
from tasks.report.figures.colours import STEPS
from tasks.report.questions import Figures, Portraits
from tasks.report.questions.udr_and_score import answer, six, subject_of
from tasks.report.results import Column, read_results
from tests.tasks.report.conftest import Grid, MakeStore

UDR = Column("lasso", "UDR", "method")
DCI = Column("dci", "DCI")
# model: (UDR, DCI); ranks rise with the numbers
PLANTED = {
    "a": (0.1, 0.1),  # the lowest of both
    "b": (0.2, 0.7),
    "c": (0.3, 0.9),  # 3 and 9: DCI ranks it highest above UDR
    "d": (0.9, 0.2),  # 9 and 2
    "e": (0.8, 0.3),  # 8 and 3
    "f": (0.7, 0.4),  # 7 and 4
    "g": (0.6, 0.5),  # 6 and 5
    "h": (0.5, 0.8),  # 5 and 8
    "i": (0.4, 0.6),
}


def models(sign: float = 1) -> pd.DataFrame:
    rows = [(name, udr, sign * dci) for name, (udr, dci) in PLANTED.items()]
    return pd.DataFrame(rows, columns=["model_id", UDR.id, DCI.id])


def test_the_six_differ_most() -> None:
    """b: 2 and 7, c: 3 and 9."""
    chosen = six(models(), UDR, DCI)
    assert [model_id for _, model_id in chosen] == ["d", "e", "f", "c", "b", "a"]
    assert [why for why, _ in chosen] == [
        *["UDR ranks it higher"] * 3,
        *["DCI ranks it higher"] * 2,
        "both rank it low",
    ]
    less = Column("dci", "DCI", direction=-1)
    assert [i for _, i in six(models(-1), UDR, less)] == ["d", "e", "f", "c", "b", "a"]


def test_six_models_are_six_even_if_all_are_equal() -> None:
    equal = models().assign(**{UDR.id: 0.5, DCI.id: 0.5}).iloc[:6]
    assert sorted(i for _, i in six(equal, UDR, DCI)) == list("abcdef")
    reasons = [why for why, _ in six(equal, UDR, DCI)]
    assert reasons == [*["both rank it alike"] * 5, "both rank it low"]


def test_beta_vae_and_dci_come_first(make_store: MakeStore) -> None:
    methods = {"factor_vae": (10.0, 40.0), "beta_vae": (1.0, 4.0)}
    grid = Grid(methods=methods, seeds=3, metrics=("mig", "dci"), curves=False)
    store = make_store(grid)
    results = read_results(store, grid.study())
    assert results.udr
    subject = subject_of(results, results.udr)
    assert subject
    assert (subject.data, subject.method, subject.metric.name, len(subject.models)) == (
        "dsprites",
        "beta_vae",
        "dci",
        6,
    )
    _, figures, portraits = answer(results).content
    assert isinstance(figures, Figures) and isinstance(portraits, Portraits)
    assert [p.heading[:2] for p in portraits.groups[0].portraits] == [f"{n}:" for n in range(1, 7)]
    by_strength, by_latents = figures.groups[0].figures
    assert re.sub("<.*?>", "", by_strength.subtitle) == "1 4"
    for figure in (by_strength, by_latents):
        assert all(f">{n}<" in figure.drawing.svg for n in range(1, 7))
        assert sorted(figure.data["number"]) == [1, 2, 3, 4, 5, 6]


def test_without_dci_or_beta_vae_the_first_that_is_there(make_store: MakeStore) -> None:
    methods = {"factor_vae": (10.0, 40.0), "beta_vae": (1.0,)}
    grid = Grid(methods=methods, seeds=3, metrics=("mig",), curves=False, pictures=False)
    results = read_results(make_store(grid), grid.study())
    assert results.udr
    subject = subject_of(results, results.udr)
    assert subject and (subject.method, subject.metric.name) == ("factor_vae", "mig")
    few = Grid(data=("dsprites",), methods={"beta_vae": (4.0,)}, seeds=5, curves=False)
    assert answer(read_results(make_store(few), few.study())).is_missing


def test_few_values_have_a_colour_each_and_many_share_them() -> None:
    assert steps_of(pd.Series([4.0, 1.0, 4.0])) == [(1, 1, 0), (4, 4, 6)]
    assert steps_of(pd.Series([3.0, 3.0])) == [(3, 3, 0)]
    many = steps_of(pd.Series(range(11), dtype=float))
    assert [step for *_, step in many] == list(range(len(STEPS)))
    assert (many[0][0], many[-1][1]) == (0, 10)
    assert all(a[1] < b[0] for a, b in pairwise(many))
