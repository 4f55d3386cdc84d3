"""Table 1 of Duan et al. 2020: which of our correlations stand beside which of its numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tasks.report.published import UDR_WITH_MIG
from tasks.report.questions.udr_with_mig import answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore

METHODS = dict.fromkeys(("beta_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii"), (1.0, 2.0))


def test_the_table_has_the_papers_cells() -> None:
    """Two data sets, three classes, two similarities, two pools."""
    assert len(UDR_WITH_MIG) == 2 * 3 * 2 * 2
    numbers = np.array(list(UDR_WITH_MIG.values()))
    assert numbers.min() == 0.37 and numbers.max() == 0.81


@pytest.mark.parametrize("similarity", ["lasso", "lasso_cv", "spearman"])
def test_every_similarity_and_both_dip_vaes_have_rows(
    make_store: MakeStore, similarity: str
) -> None:
    grid = Grid(data=("dsprites", "cars3d"), methods=METHODS, seeds=4, steps=300_000, curves=False)
    store = make_store(grid)
    for part in store.parts("ranks"):
        rows = store.read("ranks", keys=[part]).to_pylist()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        store.write_part("ranks", part, columns | {"similarity": similarity})
    results = read_results(store, grid.study())
    rows = answer(results).published
    paper = similarity.removesuffix("_cv")
    unscored = [row for row in rows if row.ours is None]
    assert {row.grid for row in unscored} == {"not computed"}
    rows = tuple(row for row in rows if row.ours is not None)
    assert {row.grid for row in rows} == {"partial grid"}
    assert [row.published for row in rows if "DIP-VAE-II," in row.what] == [
        UDR_WITH_MIG["dsprites", "dip_vae", paper, pool] for pool in ("cell", "method")
    ]
    assert len(rows) == 4 * 2 and all("dSprites" in row.what for row in rows)
    models = results.models
    models = models[(models["data"] == "dsprites") & (models["method"] == "dip_vae_i")]
    ours = next(row for row in rows if "DIP-VAE-I," in row.what)
    rho = spearmanr(models[f"udr {similarity} cell"], models["metric mig"]).statistic
    assert (ours.ours, ours.n) == (pytest.approx(rho), 8)
