"""Tables 1, 3 and 4 of Eastwood and Williams 2018: planted scores, and what is comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from infra.store import Store
from tasks.report.kinds import by_data
from tasks.report.page import sections
from tasks.report.papers_kinds import PapersKind
from tasks.report.published import (
    KINDS,
    KINDS_CODES,
    KINDS_COMPLETENESS,
    KINDS_DATA,
    KINDS_ERRORS,
    KINDS_SCORES,
    KINDS_STEPS,
    KINDS_TRAINING,
    KINDS_ZERO_SHOT,
)
from tasks.report.questions import QUESTIONS, Published, Sentence, Table, load
from tasks.report.questions.kinds_of_models import answer
from tasks.report.results import Results, read_results
from tasks.report.verdicts import verdict
from tasks.study.spec import Study
from tests.tasks.report import teapots
from tests.tasks.report.conftest import Grid, MakeStore

FOUR: Mapping[str, tuple[float, ...]] = {"pca": (0.0,), "beta_vae": (1.0, 6.0), "infogan": (6.0,)}
GRID = Grid(
    data=(KINDS_DATA,),
    sources={KINDS_DATA: "official"},
    methods=FOUR,
    seeds=3,
    metrics=("dci_lasso", "dci_forest"),
)
LATENTS = 10


def results_of(make_store: MakeStore, grid: Grid = GRID) -> Results:
    return read_results(make_store(grid), grid.study())


def planted(part: str, factor: str | None, *model: object) -> float:
    rows = teapots.scores("dci_forest", *model)  # type: ignore[arg-type]
    return next(value for name, of, value in rows if (name, of) == (part, factor))


def test_the_published_means_are_those_of_the_published_factors() -> None:
    """The paper rounds to two digits, so that a mean of five is known within 0.01."""
    for key, (_, complete, error) in KINDS_SCORES.items():
        assert np.mean(KINDS_COMPLETENESS[key]) == pytest.approx(complete, abs=0.0101), key
        assert np.mean(KINDS_ERRORS[key]) == pytest.approx(error, abs=0.0101), key
        assert np.mean(KINDS_ZERO_SHOT[key][:-1]) == pytest.approx(
            KINDS_ZERO_SHOT[key][-1], abs=0.0101
        )
        assert len(KINDS_CODES[key]) == LATENTS
    assert {name for _, name in KINDS_SCORES} == set(KINDS)


def test_numbers_are_means_over_seeds_beside_the_papers(make_store: MakeStore) -> None:
    rows = answer(results_of(make_store)).published
    wanted = 4 * 2 * (3 + 5 + 5)  # kinds, regressors, three means and two numbers per factor
    assert len(rows) == wanted and all(row.n == 3 for row in rows)
    row = one(rows, "β-VAE, β = 1: completeness of green, forests")
    values = [planted("completeness", "green", "beta_vae", 1.0, seed, LATENTS) for seed in range(3)]
    assert row.ours == pytest.approx(np.mean(values))
    assert row.published == 0.91 and row.place.endswith("Table 4")
    assert row.interval and min(values) - 1e-9 <= row.interval.low <= row.ours
    assert row.published_interval  # as far as single models of ours lie apart
    half = 1.959963984540054 * np.std(values, ddof=1)
    assert row.published_interval.high - row.published == pytest.approx(half)


def one(rows: tuple[Published, ...], what: str) -> Published:
    (row,) = (row for row in rows if row.what == what)
    return row


def test_the_finding_names_the_best_kind_by_each_of_the_three(make_store: MakeStore) -> None:
    """Errors are planted per method, and disentanglement follows from planted loadings."""
    results = results_of(make_store)
    content = answer(results).content
    texts = [str(c.text) for c in content if isinstance(c, Sentence) and c.kind == "finding"]
    assert len(texts) == 2
    for text, regressor in zip(texts, ("lasso", "forests"), strict=True):
        assert f"by {regressor}: most disentangled is InfoGAN, λ = 6, D = " in text
        assert "most informative is InfoGAN, λ = 6, NRMSE = " in text
        first, _, second = text.partition("D = ")[2].partition(", before ")
        assert " to " in first, "an interval, as there are three seeds"
        assert second.startswith("β-VAE, β = ")
    single = answer(results_of(make_store, replace(GRID, seeds=1)))
    text = next(str(c.text) for c in single.content if isinstance(c, Sentence) and "D = " in c.text)
    assert "(" not in text
    notes = [str(c.text) for c in single.content if isinstance(c, Sentence)]
    assert any(note.startswith("1 seed of a kind is too few") for note in notes)
    assert not any("too few" in str(c.text) for c in content if isinstance(c, Sentence))


def test_codes_are_sorted_before_they_are_averaged(make_store: MakeStore) -> None:
    content = answer(results_of(make_store)).content
    table = next(
        c for c in content if isinstance(c, Table) and "forests: disentanglement of c" in c.summary
    )
    ours, papers = table.rows[0].cells, table.rows[1].cells
    of_seeds = [
        sorted(
            planted(f"disentanglement latent {latent}", None, "pca", 0.0, seed, LATENTS)
            for latent in range(LATENTS)
        )[::-1]
        for seed in range(3)
    ]
    assert [cell.value for cell in ours[1:-1]] == pytest.approx(np.mean(of_seeds, axis=0))
    values = [cell.value for cell in papers[1:]]
    assert values == [*sorted(KINDS_CODES["dci_forest", "PCA"], reverse=True), 0.50]


def full_study(kind: str) -> Study:
    """With all that the paper and its code say of one kind."""
    raw = {
        "name": "full",
        "data": [KINDS_DATA],
        "methods": {"beta_vae": [1, 6]},
        "training": {"steps": KINDS_STEPS.get(kind, 1), "beta1": 0.0, "beta2": 0.9},
        "metrics": {"points": KINDS_TRAINING},
    }
    return Study.model_validate(raw)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_as_the_paper_trains_it_is_comparable(make_store: MakeStore, kind: str) -> None:
    models = results_of(make_store).models.assign(architecture="resnet")
    study = full_study(kind)
    of_kind = PapersKind(kind)
    assert list(of_kind.reasons(study, models)) == []
    few = study.model_copy(update={"metrics": study.metrics.model_copy(update={"points": 9})})
    assert [grid for grid, _ in of_kind.reasons(few, models)] == ["other settings"]
    for column, value, grid in (
        ("source", "look-alike", "look-alike data"),
        ("latents", 9, "other architecture"),
    ):
        assert [g for g, _ in of_kind.reasons(study, models.assign(**{column: value}))] == [grid]
    trained = [] if kind == "PCA" else ["other architecture"]
    small = models.assign(architecture="resnet_small")
    assert [grid for grid, _ in of_kind.reasons(study, small)] == trained
    shorter = study.training.model_copy(update={"steps": 60, "beta1": 0.9})
    reasons = dict(of_kind.reasons(study.model_copy(update={"training": shorter}), models))
    if kind == "PCA":  # is fitted at once
        assert not reasons
    else:
        assert set(reasons) == {"fewer steps", "other settings"}
        assert "60 steps" in reasons["fewer steps"] and "beta1" in reasons["other settings"]


def test_fewer_pictures_are_a_reason(make_store: MakeStore) -> None:
    study = full_study("PCA")
    models = results_of(make_store).models
    choice = study.data[0].model_copy(update={"pictures": 20_000})
    fewer = study.model_copy(update={"data": (choice,)})
    ((grid, text),) = PapersKind("PCA").reasons(fewer, models)
    assert grid == "other settings" and "20,000" in text and "200,000" in text


def test_what_is_lacking_is_said(make_store: MakeStore) -> None:
    grid = replace(GRID, methods={"beta_vae": (4.0,)})
    rows = answer(results_of(make_store, grid)).published
    assert {row.grid for row in rows} == {"not computed"}
    assert {verdict(row) for row in rows} == {
        f"not computed: no models of {name} on Teapots" for name in KINDS
    }
    unscored = results_of(make_store, replace(GRID, metrics=("mig",)))
    assert answer(unscored).is_missing
    assert {row.why_not for row in answer(unscored).published} == {"not scored"}


def test_studies_of_other_pictures_have_no_such_section(make_store: MakeStore) -> None:
    """Their page of the papers lists the paper's tables; ours lists their numbers."""

    def places(results: Results) -> list[Published]:
        parts = sections(results, [name for name in QUESTIONS if name in wanted])
        every = [row for section in parts for part in section for row in part.answer.published]
        assert ("kinds_of_models" in {s[0].name for s in parts}) == (
            results.study.data[0].name == KINDS_DATA
        )
        return [row for row in every if "Eastwood" in row.place]

    wanted = {n for n in QUESTIONS if n == "papers" or load(n)[0].needs_real_factors}
    others = replace(GRID, data=("dsprites",), methods={"beta_vae": (1.0,)}, metrics=("mig",))
    tables = places(results_of(make_store, others))
    assert [row.published for row in tables] == [None] * 4
    numbers = places(results_of(make_store))
    assert len(numbers) == 4 * 2 * (3 + 10 + 6)


def test_many_cells_show_the_papers_and_the_ends(make_store: MakeStore) -> None:
    strengths = (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)
    grid = replace(GRID, methods={"beta_vae": strengths, "beta_tcvae": strengths}, seeds=1)
    (of_data,) = by_data(results_of(make_store, grid))
    assert len(of_data.kinds) == 12
    assert [(kind.method, kind.strength) for kind in of_data.shown] == [
        ("beta_vae", 1.0),
        ("beta_vae", 6.0),
        ("beta_tcvae", 1.0),
        ("beta_tcvae", 16.0),
    ]


def test_the_first_seed_is_shown_whatever_its_scores(make_store: MakeStore) -> None:
    (of_data,) = by_data(results_of(make_store))
    assert [kind.first["seed"] for kind in of_data.kinds] == [0] * 4
    assert of_data.factors.periodic == ("azimuth",)


def test_the_store_of_these_tests_has_what_a_method_without_a_posterior_has(
    make_store: MakeStore,
) -> None:
    store: Store = make_store(GRID)
    models = store.read("models").to_pylist()
    of_pca = [row for row in models if row["method"] == "pca"]
    assert {row["kl"] for row in of_pca} == {None} and of_pca[0]["kl_per_latent"] == []
    assert not [row for row in store.read("curves").to_pylist() if row["method"] == "pca"]
