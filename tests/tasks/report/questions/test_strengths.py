"""Which strength each score chooses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions import Sentence, Table
from tasks.report.questions.strengths import answer, chosen_strengths, orders_of_strengths
from tasks.report.results import Column, read_results
from tests.tasks.report.conftest import Grid, MakeStore

METHOD = Column("lasso", "UDR, all strengths", "method")
CELL = Column("lasso", "UDR, same strength", "cell")
MIG, SAP = Column("mig", "mig"), Column("sap", "sap")
UNFAIR = Column("fairness", "unfairness", direction=-1)
CORRELATION = Column("unsupervised", "total correlation", direction=0)


def cells(medians: dict[float, dict[str, float]]) -> pd.DataFrame:
    """Cells of three seeds whose scores have these medians; their means are the other way round."""
    rows = [
        {"strength": strength, "seed": seed}
        | {k: (v - 0.01, v, v + 50 * (10 - v))[seed] for k, v in scores.items()}
        for strength, scores in medians.items()
        for seed in range(3)
    ]
    return pd.DataFrame(rows).assign(data="dsprites", source="redrawn", method="beta_vae")


def test_chosen_strengths_by_hand() -> None:
    mig, sap = MIG, SAP
    columns = [mig, sap, UNFAIR, CORRELATION, METHOD, CELL]
    wide = cells(
        {
            1.0: dict(zip([c.id for c in columns], (0.1, 0.9, 0.8, 7.0, 0.9, 0.1), strict=True)),
            2.0: dict(zip([c.id for c in columns], (0.5, 0.1, 0.2, 8.0, 0.1, 0.5), strict=True)),
            4.0: dict(zip([c.id for c in columns], (0.5, 0.1, 0.4, 9.0, 0.2, 0.3), strict=True)),
        }
    )
    chosen = chosen_strengths(wide, columns)
    assert chosen is not None
    assert chosen.udr == CELL, "for strengths the paper prefers the comparison within a cell"
    assert chosen.columns == (mig, sap, UNFAIR, METHOD, CELL), "no direction, no choice"
    (row,) = chosen.rows
    assert row.chosen == ((2.0, 4.0), (1.0,), (2.0,), (1.0,), (2.0,))
    assert row.agrees == (True, False, True, None, None)
    assert (chosen.same, chosen.compared, chosen.seeds) == (2, 3, 3)
    assert chosen.by_chance == pytest.approx(1.0)


def test_where_all_medians_are_equal_nothing_is_chosen() -> None:
    mig = MIG
    wide = cells({1.0: {mig.id: 0.5, METHOD.id: 0.1}, 2.0: {mig.id: 0.5, METHOD.id: 0.2}})
    assert chosen_strengths(wide, [mig, METHOD]) is None
    other = wide.assign(method="factor_vae", **{mig.id: wide["strength"]})
    chosen = chosen_strengths(pd.concat([wide, other]), [mig, METHOD])
    assert chosen is not None and chosen.udr == METHOD
    assert [row.agrees for row in chosen.rows] == [(None, None), (True, None)]
    assert [row.chosen[0] for row in chosen.rows] == [(), (2.0,)]
    assert (chosen.compared, chosen.by_chance) == (1, 0.5)


@pytest.mark.parametrize("missing", [METHOD.id, MIG.id])
def test_without_udr_or_labels_there_is_no_choice(missing: str) -> None:
    mig = MIG
    wide = cells({1.0: {mig.id: 0.1, METHOD.id: 0.1}, 2.0: {mig.id: 0.5, METHOD.id: 0.2}})
    assert chosen_strengths(wide, [mig, METHOD]) is not None
    assert chosen_strengths(wide.assign(**{missing: np.nan}), [mig, METHOD]) is None
    assert chosen_strengths(wide[wide["strength"] == 1], [mig, METHOD]) is None


def test_orders_of_strengths_by_hand() -> None:
    """Medians 1 2 3 4 5 and 2 1 4 3 5: 0.8; unfairness is the other way round."""
    swapped = dict(zip((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 4.0, 3.0, 5.0), strict=True))
    wide = cells(
        {
            s: {CELL.id: s / 10, METHOD.id: -s, MIG.id: swapped[s] / 10, UNFAIR.id: -s}
            for s in swapped
        }
    )
    orders = orders_of_strengths(wide, [MIG, UNFAIR, METHOD, CELL], CELL)
    assert {column.title: rhos for column, rhos in orders.items()} == {
        "mig": [pytest.approx(0.8)],
        "unfairness": [pytest.approx(1.0)],
        "UDR, all strengths": [pytest.approx(-1.0)],
    }
    few = wide[wide["strength"] < 5]
    assert orders_of_strengths(few, [MIG, CELL], CELL) == {}, "four strengths are too few"


def test_the_finding_is_read_without_the_table_and_the_sentence_before_it_explains_it(
    make_store: MakeStore,
) -> None:
    grid = Grid(seeds=3, metrics=("mig", "fairness"), pictures=False, curves=False)
    finding, about, table = answer(read_results(make_store(grid), grid.study())).content
    assert isinstance(finding, Sentence) and isinstance(about, Sentence)
    assert finding.kind == "finding" and about.kind == "about" and isinstance(table, Table)
    agrees = sum(cell.style == "agrees" for row in table.rows for cell in row.cells)
    assert f"<b>{agrees} of 8</b> cases" in finding.text and "marked" not in finding.text
    assert "some of these medians are of 3 models only." in finding.text
    assert "the lowest where less is better" in about.text and "marked" in about.text
