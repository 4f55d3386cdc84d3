"""`tolstoy rank STORE`: a study's models, also while it runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso

from flows.cli import main
from infra.store import Store
from metrics.udr import pairwise
from tasks.rank_data_set import medians_of_strengths
from tasks.study.spec import Study
from tests.flows.conftest import tolstoy
from tests.flows.trained import Inline, codes_of, compared, made_up, models_of, train

Codes = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Workers in this process; the addresses they were asked for."""
    started: list[str | None] = []

    @contextmanager
    def here(address: str | None = None) -> Iterator[Inline]:
        started.append(address)
        yield Inline()

    monkeypatch.setattr("flows.ranking.running_workers", here)
    return started


@pytest.fixture
def full(tmp_path: Path) -> tuple[Study, Store]:
    study, store = made_up(tmp_path / "store", seeds=3)
    train(store, models_of(study))
    return study, store


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(["rank", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["rank", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def matrix(x: Codes, y: Codes, similarity: str) -> Codes:
    """Similarities of informative latents, the slow way."""
    if similarity == "spearman":
        result = [[abs(spearmanr(a, b).statistic) for b in y.T] for a in x.T]
        return np.array(result)
    x, y = ((v - v.mean(0)) / v.std(0) for v in (x.astype(float), y.astype(float)))
    return np.array([np.abs(Lasso(alpha=0.1, tol=1e-10).fit(x, t).coef_) for t in y.T]).T


def strength(result: Codes) -> float:
    rows, columns = (
        [max(line) ** 2 / sum(line) if sum(line) else 0.0 for line in lines]
        for lines in (result, result.T)
    )
    return float((np.mean(rows) + np.mean(columns)) / 2)


def times(store: Store) -> dict[str, list[tuple[str, int]]]:
    return {table: store.listing("tables", table) for table in store.names("tables")}


def test_models_are_ranked_by_centrality(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    study, store = full
    models = models_of(study)
    found = as_json(capsys, store.uri, "--pool", "data", "--similarity", "centrality")
    by_id = {row["model_id"]: row["udr"] for row in found["data"][0]["models"]}
    codes = np.stack([codes_of(model)[:, :2] for model in models])
    pairs = pairwise(codes, None, "centrality").udr
    expected = np.nanmean((pairs + pairs.T) / 2, axis=0)
    assert [by_id[model.id] for model in models] == pytest.approx(expected.tolist())
    plot = tmp_path / "ranking.png"
    text = printed(capsys, store.uri, "--similarity", "centrality", "--plot", plot)
    assert "Strengths by median ModelCentrality, pool cell" in text and "UDR" not in text
    assert plot.stat().st_size > 10_000


@pytest.mark.parametrize("pool", ["cell", "method", "data"])
@pytest.mark.parametrize("similarity", ["lasso", "spearman"])
def test_models_come_best_first_with_the_median_of_their_pool(
    pool: str, similarity: str, full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    models = models_of(study)
    result = as_json(capsys, store.uri, "--pool", pool, "--similarity", similarity)
    assert (result["pool"], result["similarity"], result["p"]) == (pool, similarity, None)
    (of_data,) = result["data"]
    assert (of_data["data"], of_data["missing"], of_data["collapsed"]) == ("dsprites", 0, 0)
    by_id = {row["model_id"]: row for row in of_data["models"]}
    alike = {"cell": lambda m: m.cell, "method": lambda m: m.method, "data": lambda m: 0}[pool]
    for target in models:
        scores = [
            strength(matrix(codes_of(other)[:, :2], codes_of(target)[:, :2], similarity))
            for other in models
            if other.id != target.id and alike(other) == alike(target)
        ]
        row = by_id[target.id]
        assert row["udr"] == pytest.approx(median(scores), abs=1e-4)
        assert (row["comparisons"], row["informative"]) == (len(scores), 2)
        assert row["scores"] == {"mig": target.strength / 100 + target.seed / 1000}
        cell = (target.method, target.strength, target.seed)
        assert (row["method"], row["strength"], row["seed"]) == cell
    udr = [row["udr"] for row in of_data["models"]]
    assert udr == sorted(udr, reverse=True) and len(set(udr)) > 6
    assert [row["rank"] for row in of_data["models"]] == list(range(1, 10))
    for row in of_data["strengths"]:
        mine = [r["udr"] for r in by_id.values() if r["method"] == row["method"]]
        same = [r["udr"] for r in of_data["models"] if r["strength"] == row["strength"]]
        assert (row["models"], row["udr"]) == (3, median(same))
        assert len(mine) in (3, 6)
    best = max((row["udr"], row["strength"]) for row in of_data["strengths"][:2])[1]
    assert [r["strength"] for r in of_data["strengths"] if r["best"]] == [best]


def test_it_agrees_with_the_studys_own_ranks(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    study = study.model_copy(update={"udr": study.udr.model_copy(update={"p": 1})})
    store.write_json(study.model_dump(mode="json"), "study.json")
    compared(study, store)
    for pool in ("cell", "method"):
        rows = {
            row["model_id"]: row["udr"]
            for row in store.read("ranks").to_pylist()
            if row["pool"] == pool
        }
        result = as_json(capsys, store.uri, "--pool", pool)
        assert result["p"] == 1
        assert {row["model_id"]: row["udr"] for row in result["data"][0]["models"]} == rows
    everything = as_json(capsys, store.uri, "--p", 0)
    assert everything["p"] is None
    assert {row["comparisons"] for row in everything["data"][0]["models"]} == {2, 5}


def test_a_finished_study_starts_no_workers_and_writes_nothing(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str], workers: list[str | None]
) -> None:
    study, store = full
    compared(study, store)
    before = times(store)
    printed(capsys, store.uri, "--pool", "method")
    printed(capsys, store.uri, "--pool", "cell")
    assert workers == [] and times(store) == before
    printed(capsys, store.uri, "--pool", "data", "--ray", "auto")
    assert workers == ["auto"]
    after = times(store)
    assert set(before["pairs"]) < set(after["pairs"]) and len(after["pairs"]) == 6
    assert after["ranks"] == before["ranks"], "the study's own rankings are the study's"
    printed(capsys, store.uri, "--pool", "data")
    assert workers == ["auto"] and times(store) == after, "what was compared is kept"


def test_the_table_says_all_that_a_reader_needs(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = full
    facts = as_json(capsys, store.uri)["data"][0]
    out = printed(capsys, store.uri, "--top", 3)
    head, *lines = out.split("\n\n")[0].splitlines()
    columns = "rank model method strength seed udr informative comparisons mig"
    assert head.split() == columns.split()
    assert len(lines) == 3
    for line, row in zip(lines, facts["models"], strict=False):
        assert line.split() == [
            str(row["rank"]),
            row["model_id"],
            row["method"],
            f"{row['strength']:g}",
            str(row["seed"]),
            f"{row['udr']:.3f}",
            "2",
            str(row["comparisons"]),
            f"{row['scores']['mig']:.3f}",
        ]
    marked = [line for line in out.splitlines() if "best of the method" in line]
    (best,) = (row for row in facts["strengths"] if row["best"])
    assert [line.split()[:3] for line in marked] == [
        ["beta_vae", f"{best['strength']:g}", f"{best['udr']:.3f}"]
    ]
    assert "9 models ranked by lasso; pool method, all comparisons" in out


def test_a_metric_without_any_value_has_no_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", seeds=2)
    train(store, models_of(study))
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part])
        empty = rows.set_column(
            rows.column_names.index("value"), "value", pa.nulls(len(rows), pa.float64())
        )
        store.write_part("scores", part, empty)
    assert printed(capsys, store.uri).splitlines()[0].split()[-1] == "comparisons"
    assert as_json(capsys, store.uri)["data"][0]["models"][0]["scores"] == {"mig": None}


def test_without_a_pool_strengths_are_compared_within_their_cells(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = full
    default, cell, method = (
        as_json(capsys, store.uri, *pool) for pool in ((), ("--pool", "cell"), ("--pool", "method"))
    )
    assert default["pool"] == "method"
    (of_default,), (of_cell,), (of_method,) = (one["data"] for one in (default, cell, method))
    assert of_default["models"] == of_method["models"]
    assert of_default["strengths"] == of_cell["strengths"] != of_method["strengths"]
    pools = [one["strengths_pool"] for one in (of_default, of_cell, of_method)]
    assert pools == ["cell", "cell", "method"]
    assert "Strengths by median UDR, pool cell: a model is" in printed(capsys, store.uri)
    assert "--pool cell" not in printed(capsys, store.uri)
    out = printed(capsys, store.uri, "--pool", "method")
    assert "pool cell is advised (--pool cell)" in out


def test_cells_of_one_model_leave_strengths_to_the_pool_of_the_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", seeds=1)
    train(store, models_of(study))
    (facts,) = as_json(capsys, store.uri)["data"]
    assert facts["strengths_pool"] == "method"
    assert [row["models"] for row in facts["strengths"]] == [1, 1]
    out = printed(capsys, store.uri)
    assert "No cell has two models yet" in out and "is no ground for a choice" in out
    assert "best of the method" not in out


def test_a_study_of_all_methods_together_is_ranked_by_that_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo's: with one model of each method, no other pool has anything to compare."""
    study, store = made_up(tmp_path / "store", seeds=1, udr={"pools": ["data"]})
    train(store, models_of(study))
    facts = as_json(capsys, store.uri)
    assert facts["pool"] == facts["data"][0]["strengths_pool"] == "data"
    assert facts["data"] == as_json(capsys, store.uri, "--pool", "data")["data"]
    assert as_json(capsys, store.uri, "--pool", "method")["pool"] == "method"


def test_it_says_how_many_comparisons_were_made(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = full
    assert "pool cell, all comparisons, 2 each" in printed(capsys, store.uri, "--pool", "cell")
    out = printed(capsys, store.uri, "--p", 1000)
    assert "pool method, 2 to 5 comparisons each (1,000 asked for)" in out
    assert "pool method, 1 comparison each" in printed(capsys, store.uri, "--p", 1)


def test_missing_collapsed_and_lost_models_are_named(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    models = models_of(study)
    before = {r["model_id"]: r["udr"] for r in as_json(capsys, store.uri)["data"][0]["models"]}
    for table in ("models", "representations", "scores"):
        store.remove_part(table, models[8].id)
    store.remove_part("representations", models[7].id)
    train(store, models[:1], kl=(0.0, 0.001, 0.01))
    for part in store.parts("pairs"):
        store.remove_part("pairs", part)
    facts = as_json(capsys, store.uri)["data"][0]
    assert (facts["missing"], facts["collapsed"], facts["lost"]) == (2, 1, [models[7].id])
    last = facts["models"][-1]
    assert (last["model_id"], last["udr"]) == (models[6].id, None), "alone with its method"
    by_id = {row["model_id"]: row for row in facts["models"]}
    assert by_id[models[0].id]["udr"] == 0 and by_id[models[0].id]["collapsed"]
    assert by_id.keys() == {model.id for model in models[:7]}
    assert by_id[models[1].id]["udr"] != before[models[1].id], "compared with one less"
    out = printed(capsys, store.uri)
    assert "1 collapsed" in out and "2 missing" in out and models[7].id in out


def test_during_a_run_only_what_is_whole_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "run", seeds=3)
    whole = made_up(tmp_path / "whole", seeds=3)[1]
    models = models_of(study)
    train(whole, models)
    compared(study, whole)
    train(store, models[:5])  # a cell and most of the next
    facts = as_json(capsys, store.uri)["data"][0]
    assert (len(facts["models"]), facts["missing"]) == (5, 4)
    assert {row["comparisons"] for row in facts["models"]} == {4}
    assert store.parts("pairs") == ["lasso~dsprites-beta_vae-1~dsprites-beta_vae-1"]
    train(store, models[5:])
    compared(study, store)
    for table in ("pairs", "ranks"):
        assert store.read(table).equals(whole.read(table)), "as if nothing had been ranked before"


def test_a_store_without_models_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, store = made_up(tmp_path / "store")
    out = printed(capsys, store.uri)
    assert "0 models ranked" in out and "6 missing" in out


def test_where_nothing_can_be_written_it_still_ranks(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from infra.errors import WrongInput

    _, store = full

    def cannot(self: Store) -> None:
        raise WrongInput("store", "it", "a folder that can be written")

    monkeypatch.setattr(Store, "prepare", cannot)
    assert len(as_json(capsys, store.uri)["data"][0]["models"]) == 9
    assert store.parts("pairs") == []


def test_data_sets_have_a_table_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = {"dsprites": "redrawn", "shapes3d": "look-alike"}
    data = [{"name": name, "source": source} for name, source in sources.items()]
    study, store = made_up(tmp_path / "store", data=data)
    train(store, models_of(study))
    both = as_json(capsys, store.uri)["data"]
    assert [of_data["data"] for of_data in both] == ["dsprites", "shapes3d"]
    assert as_json(capsys, store.uri, "--data", "shapes3d")["data"] == both[1:]
    out = printed(capsys, store.uri)
    assert out.index("dsprites\n") < out.index("shapes3d\n") and out.count("rank  model") == 2
    assert main(["rank", store.uri, "--plot", str(tmp_path / "x.png")]) == 2
    assert "--data NAME" in capsys.readouterr().err and not (tmp_path / "x.png").exists()
    assert main(["rank", store.uri, "--plot", str(tmp_path / "x.png"), "--data", "dsprites"]) == 0


def test_the_papers_all_to_all_is_the_studys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", seeds=3, udr={"seeds_per_cell": 2})
    train(store, models_of(study))
    rows = as_json(capsys, store.uri, "--pool", "data")["data"][0]["models"]
    assert {(row["seed"], row["comparisons"]) for row in rows} == {(0, 5), (1, 5)}
    sizes = {len(store.read("pairs", keys=[key])) for key in store.parts("pairs") if "beta" in key}
    assert sizes == {3 * 2, 2 * 2 * 2}, "cells as whole as the study's pool cell needs them"


def drawn(path: Path) -> Codes:
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def test_the_picture_has_dots_medians_and_two_matrices(
    full: tuple[Study, Store], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = full
    plot = tmp_path / "ranking.png"
    printed(capsys, store.uri, "--plot", plot)
    picture = drawn(plot)
    upper, lower = picture[: len(picture) // 2], picture[len(picture) // 2 :]
    blue = (lower[..., 2] - lower[..., 0] > 60).mean()
    assert 0.01 < blue < 0.5, "cells of the matrices"
    coloured = (upper.max(axis=2) - upper.min(axis=2) > 60).mean()
    assert 0.0003 < coloured < 0.02, "dots"


def test_a_store_is_ranked_through_ray(undisturbed: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(undisturbed, store)
    done = tolstoy("rank", store, "--similarity", "spearman", "--pool", "data", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["data"][0]["models"]) == 6
    parts = [key for key in Store(store).parts("pairs") if key.startswith("spearman~")]
    assert len(parts) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.npz"], ["FILE", "nowhere.npz"]),
        (["nowhere"], ["store", "nowhere", "study.json"]),
        (["text.npz"], ["text.npz", "cannot be read"]),
        (["text.txt"], ["FILE", "text.txt", ".npz"]),
        (["text.npz", "--pool", "cell"], ["--pool", "a file is one pool"]),
        (["text.npz", "--data", "x"], ["--data", "a file is one pool"]),
        (["STORE", "--pool", "cells"], ["--pool", "did you mean cell?"]),
        (["STORE", "--similarity", "laso"], ["--similarity", "did you mean lasso?"]),
        (["STORE", "--p", "-1"], ["--p", "-1", "0 means all"]),
        (["STORE", "--top", "0"], ["--top", "from 1"]),
        (["STORE", "--data", "dsprite"], ["--data", "did you mean dsprites?"]),
        (["STORE", "--plot", "text.txt"], ["--plot", "ends in .png"]),
        (["STORE", "--plot", "nowhere/x.png"], ["--plot", "whose folder does not exist"]),
        (["STORE", "--plot", "x.doc"], ["--plot", "x.doc", ".png"]),
        (["EMPTY", "--plot", "x.png"], ["--plot", "no trained model"]),
        (["STORE", "--ray", "127.0.0.1:9"], ["--ray", "127.0.0.1:9"]),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str],
    words: list[str],
    full: tuple[Study, Store],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("text.npz", "text.txt"):
        Path(name).write_text("neither one nor the other")
    places = {"STORE": full[1].uri, "EMPTY": made_up(tmp_path / "empty")[1].uri}
    assert main(["rank", *(places.get(word, word) for word in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and all(word in err for word in words), err
    assert len([line for line in err.splitlines() if line.startswith("tolstoy: ")]) == 1
    assert not list(tmp_path.glob("x.*"))


def test_equal_medians_have_no_best_strength() -> None:
    """As where all models have collapsed, and every UDR is 0."""
    of_sweep = {"method": "beta_vae", "architecture": "paper", "latents": 10}
    rows = [{**of_sweep, "strength": float(s), "udr": 0.0} for s in (1, 1, 4, 4)]
    assert [row["best"] for row in medians_of_strengths(rows)] == [False, False]
    rows[3]["udr"] = 0.2
    assert [row["best"] for row in medians_of_strengths(rows)] == [False, True]


def test_the_best_model_of_each_number_of_informative_latents(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    models = models_of(study)
    train(store, models[:2], kl=(1.0, 0.0, 0.0))
    train(store, models[2:3], kl=(0.0, 0.0, 0.0))
    facts = as_json(capsys, store.uri, "--per-informative")["data"][0]
    one, two = facts["per_informative"]
    assert (one["informative"], one["models"], two["informative"], two["models"]) == (1, 2, 2, 6)
    for number in (one, two):
        same = [r for r in facts["models"] if r["informative"] == number["informative"]]
        assert number["best"] == same[0], "models are best first"
    out = printed(capsys, store.uri, "--per-informative")
    lines = out.split("The best model for each number of informative latents:\n")[1].splitlines()
    assert lines[0].split() == [
        "informative",
        "models",
        "model",
        "method",
        "strength",
        "seed",
        "udr",
    ]
    for line, number in zip(lines[1:3], (one, two), strict=True):
        best = number["best"]
        keys = [best["model_id"], best["method"], f"{best['strength']:g}", str(best["seed"])]
        counts = [str(number["informative"]), str(number["models"])]
        assert line.split() == [*counts, *keys, f"{best['udr']:.3f}"]
    assert "per_informative" not in as_json(capsys, store.uri)["data"][0]
    assert "number of informative" not in printed(capsys, store.uri)
