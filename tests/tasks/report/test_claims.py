"""What the papers say in words, where this study's models bear it out, do not, or are too few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from models import METHODS, STUDY_2019
from tasks.report.claims import FAILS, HOLDS, NO_MEASURE, Claim, claims_table, verdict
from tasks.report.published import SEVEN
from tasks.report.questions.independence import COLUMNS, MEAN, SAMPLED, independence_claims
from tasks.study.spec import Study

STUDY = Study(name="s", data=("dsprites",), methods={"beta_vae": (1.0,)})
FEW_STEPS = STUDY.model_copy(update={"training": STUDY.training.model_copy(update={"steps": 30})})


@pytest.fixture(scope="module")
def whole() -> pd.DataFrame:
    """All 12,600 models; sampled codes: 10 / place; mean codes: place."""
    rows = pd.DataFrame(
        [
            {"method": name, "strength": float(strength), "place": float(place), "data": data}
            for data in SEVEN
            for name in STUDY_2019
            for place, strength in enumerate(METHODS[name].strengths, 1)
        ]
    )
    models = rows.loc[rows.index.repeat(50)].assign(source="redrawn", seed=list(range(50)) * 252)
    models = models.assign(**{column.id: 1.0 for column in COLUMNS})
    models[SAMPLED.id], models[MEAN.id] = 10 / models["place"], models["place"]
    return models.reset_index(drop=True)


def claims(models: pd.DataFrame) -> list[Claim]:
    return list(independence_claims(models))


def test_what_is_planted_holds(whole: pd.DataFrame) -> None:
    falls, rises, highest, above = claims(whole)
    assert [verdict(claim, STUDY) for claim in (falls, rises, highest)] == [HOLDS] * 3
    assert falls.finding == "It falls in 14 of 14 cases." and "7 of 7" in highest.finding
    assert verdict(above, STUDY) == NO_MEASURE and above.finding.startswith("For 50% of 12,600")


def test_what_is_not_so_fails(whole: pd.DataFrame) -> None:
    other = whole.copy()
    of_beta = (other["method"] == "beta_vae") & (other["data"] == "cars3d")
    other.loc[of_beta, SAMPLED.id] = other["place"]
    falls, rises, highest, _ = claims(other)
    assert [verdict(c, STUDY) for c in (falls, rises, highest)] == [FAILS, HOLDS, FAILS]
    assert "13 of 14" in falls.finding and "not on Cars3D" in highest.finding
    flat = whole.assign(**{MEAN.id: 1.0})
    assert claims(flat)[1].finding == "", "no trend, nothing found"
    small = whole.copy()
    norb = (small["data"] == "smallnorb") & (small["method"] == "beta_vae")
    small.loc[norb, SAMPLED.id] /= 100
    assert verdict(claims(small)[2], STUDY) == HOLDS, "the paper leaves SmallNORB out, too"


def test_of_less_than_the_whole_grid_nothing_holds_or_fails(whole: pd.DataFrame) -> None:
    for models, study in (
        (whole[whole["seed"] < 5], STUDY),
        (whole[whole["data"] != "cars3d"], STUDY),
        (whole.assign(source="look-alike"), STUDY),
        (whole, FEW_STEPS),
    ):
        for claim in claims(models):
            for holds in (True, False, None):
                said = verdict(replace(claim, holds=holds), study)
                assert said.startswith("not comparable: ")


def test_claims_on_which_nothing_bears_are_left_out(whole: pd.DataFrame) -> None:
    assert claims_table(claims(whole.iloc[:0]), STUDY) == []
    (table,) = claims_table(claims(whole[whole["method"] == "factor_vae"]), FEW_STEPS)
    (row,) = table.rows
    assert row.cells[0].below == ("Figure 10",) and "30 steps" in row.cells[2].text
    assert np.all([cell.text for cell in row.cells])
