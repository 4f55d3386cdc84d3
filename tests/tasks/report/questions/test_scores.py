"""The table of scores, against plain computations."""

from __future__ import annotations

from dataclasses import replace

from tasks.report.questions import Sentence
from tasks.report.questions.scores import answer, cell_rows
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore, fill

GRID = Grid(seeds=8, pictures=False)


def test_sources_are_never_mixed(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=2, pictures=False)
    store = make_store(grid)
    for table in ("models", "scores", "curves", "ranks"):
        for part in store.parts(table):
            rows = store.read(table, keys=[part])
            renamed = [f"x{model_id}" for model_id in rows["model_id"].to_pylist()]
            place = rows.schema.get_field_index("model_id")
            rows = rows.set_column(place, rows.schema.field(place), [renamed])
            store.write_part(table, f"other-{part}", rows)
            store.remove_part(table, part)
    fill(store, replace(grid, sources={"dsprites": "official"}))
    results = read_results(store, grid.study())
    rows = cell_rows(results.frames, results.models, results.columns)
    assert [(row.source, row.trained) for row in rows] == 4 * [("official", 2)] + 4 * [
        ("redrawn", 2)
    ]
    assert sum(summary.best for row in rows for summary in row.scores) == 2 * len(results.columns)


def test_repeated_draws_say_how_far_one_deviates(make_store: MakeStore) -> None:
    store, study = make_store(GRID), GRID.study()
    metrics = study.metrics.model_copy(update={"repeats": 3})
    repeated = study.model_copy(update={"metrics": metrics})
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part]).to_pylist()
        headlines = [row for row in rows if (row["part"], row["factor"]) == ("score", None)]
        rows += [
            row | {"part": "score deviation", "value": 0.01 if row["metric"] == "mig" else 0.2}
            for row in headlines
        ]
        store.write_part("scores", part, {name: [row[name] for row in rows] for name in rows[0]})

    def texts(study) -> list[str]:
        content = answer(read_results(store, study)).content
        return [str(each.text) for each in content if isinstance(each, Sentence)]

    assert not any("independent draws" in text for text in texts(study))
    (text,) = (text for text in texts(repeated) if "mean of 3 independent draws" in text)
    assert "MIG 0.010, FactorVAE score 0.200." in text


def test_dci_of_long_steps_says_what_it_is_worth(make_store: MakeStore) -> None:
    grid = Grid(metrics=("mig", "dci"), seeds=4, curves=False, pictures=False)
    store = make_store(grid)
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part]).to_pylist()
        headlines = [row for row in rows if (row["metric"], row["part"]) == ("dci", "score")]
        rows += [
            row | {"part": "stable", "value": 0.5 if row["data"] == "dsprites" else row["value"]}
            for row in headlines
            if row["factor"] is None
        ]
        store.write_part("scores", part, {name: [row[name] for row in rows] for name in rows[0]})
    content = answer(read_results(store, grid.study())).content
    (note,) = (c.text for c in content if isinstance(c, Sentence) and "rounding" in c.text)
    assert "DCI of 16 of 16 models" in note and "dSprites" in note and "Color" not in note
    assert "0.500 with bounded steps" in note


def test_cells_follow_the_order_of_the_study(make_store: MakeStore) -> None:
    methods = {"factor_vae": (40.0, 10.0), "beta_vae": (16.0, 2.0)}
    grid = Grid(methods=methods, seeds=1, data=("noisy_dsprites", "dsprites"))
    results = read_results(make_store(grid), grid.study())
    rows = cell_rows(results.frames, results.models, results.columns)
    assert [(row.data, row.method, row.strength) for row in rows[:5]] == [
        ("noisy_dsprites", "factor_vae", 10.0),
        ("noisy_dsprites", "factor_vae", 40.0),
        ("noisy_dsprites", "beta_vae", 2.0),
        ("noisy_dsprites", "beta_vae", 16.0),
        ("dsprites", "factor_vae", 10.0),
    ]


def test_where_all_are_equal_none_is_best(make_store: MakeStore) -> None:
    results = read_results(make_store(GRID), GRID.study())
    flat = results.models.assign(**{column.id: 0.0 for column in results.columns})
    rows = cell_rows(results.frames, flat, results.columns)
    assert not any(summary.best for row in rows for summary in row.scores)


def test_the_lowest_is_best_where_less_is_better_and_nothing_where_neither_is(
    make_store: MakeStore,
) -> None:
    grid = Grid(data=("dsprites",), metrics=("mig", "jemmig", "unsupervised"), pictures=False)
    results = read_results(make_store(grid), grid.study())
    rows = cell_rows(results.frames, results.models, results.columns)
    for place, choose in ((0, max), (1, min)):
        medians = [row.scores[place].median for row in rows]
        assert [row.scores[place].best for row in rows] == [m == choose(medians) for m in medians]
    assert not any(row.scores[2].best for row in rows)
