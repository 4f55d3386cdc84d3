"""The summary of a run stays readable, whatever its size, and its commands work."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flows.cli import main
from flows.commands.failures import failures
from flows.commands.run import as_json, as_lines
from infra.store import Store, merged_key, table_of
from infra.tables import schema
from metrics import METRICS, OF_ALL_DATA
from tasks.study.model import Model
from tasks.study.reading import read_study
from tasks.study.spec import Study
from tasks.study.stored import forget
from tasks.study.survey import survey
from tests.flows.trained import compared, made_up, models_of, train

Ends = Callable[[int, Model], tuple[str, str]]
STEP = "loss is not finite at step {0}: kl {1:.3e}"


def store_of_outcomes(place: Path, ends: Ends, **changes: Any) -> tuple[Study, Store]:
    """A store whose models ended as `ends` says, its cells merged as after a finished run."""
    study, store = made_up(place, **changes)
    number = 0
    for cell in study.cells():
        rows: dict[str, Any] = {
            name: [model.keys[name] for model in cell.models] for name in cell.models[0].keys
        }
        outcomes = [ends(number + i, model) for i, model in enumerate(cell.models)]
        rows["status"], rows["reason"] = (list(column) for column in zip(*outcomes, strict=True))
        rows |= {"kl_per_latent": [[]] * len(outcomes), "steps": 0, "training_steps": 10}
        unknown = dict.fromkeys(set(schema("models").names) - rows.keys())
        store.write_part("models", merged_key(cell.name), {**rows, **unknown})
        number += len(outcomes)
    return study, store


def text(study: Study, store: Store, width: int = 100, troubles: tuple[str, ...] = ()) -> str:
    return as_lines(study, store, survey(study, store), troubles, "report/index.html", width)


def large(place: Path) -> tuple[Study, Store]:
    """1,000 models in 100 cells, of which 300 ended for two reasons and one for a third."""

    def ends(number: int, model: Model) -> tuple[str, str]:
        if number == 500:
            return "failed", "its worker died 4 times: signal 9"
        if number % 10 == 1:
            return "failed", f"OutOfMemory: no room for {number} bytes in /dev/shm7"
        if number % 5 == 2:
            return "diverged", STEP.format(number * 7, number / 3)
        return "trained", ""

    strengths = list(range(1, 51))
    methods = {"beta_vae": strengths, "dip_vae_i": strengths}
    study, store = store_of_outcomes(
        place, ends, methods=methods, seeds=10, metrics=list(OF_ALL_DATA)
    )
    first, udr = models_of(study)[0], study.udr
    write_scores(store, first, dict.fromkeys(OF_ALL_DATA, 0.5))  # so that no column is empty
    ranks = [{"similarity": s, "pool": p, "udr": 0.5} for s in udr.similarities for p in udr.pools]
    for row in ranks:
        row |= first.keys | {"p": 0, "informative": 1, "comparisons": 1, "collapsed": False}
    store.write_part("ranks", first.id, pa.Table.from_pylist(ranks, schema("ranks")))
    return study, store


def write_scores(store: Store, model: Model, values: dict[str, float | None]) -> None:
    score = {"part": "score", "factor": None, "reason": "", "seconds": 0.0, "stream": ""}
    protocols = [METRICS[name].protocol for name in values]
    rows = {"metric": list(values), "value": list(values.values()), "protocol": protocols}
    store.write_part("scores", model.id, table_of("scores", {**model.keys, **score, **rows}))


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Store]:
    return large(tmp_path_factory.mktemp("big") / "store")


def test_hundreds_of_failures_are_a_few_lines(big: tuple[Study, Store]) -> None:
    summary = text(*big)
    assert len(summary.splitlines()) < 70
    assert "301 models have no weights:" in summary
    assert "200 diverged: loss is not finite at step #: kl #\n" in summary
    assert "100 failed: OutOfMemory: no room for # bytes in /dev/shm7\n" in summary
    assert "1 failed: its worker died 4 times: signal 9\n" in summary
    assert summary.index("200 diverged") < summary.index("100 failed") < summary.index(" 1 failed")


def test_examples_are_models_that_ended_so_and_their_logs_are_named(
    big: tuple[Study, Store],
) -> None:
    summary = text(*big)
    ids = [model.id for model in models_of(big[0])]
    wanted = f"in 100 cells: {ids[2]}, {ids[7]}, {ids[12]}, ..."
    assert wanted in summary
    assert f"{ids[500]}\n" in summary, "the only one: nothing is left out"
    assert f"in dsprites-dip_vae_i-1: {ids[500]}" in summary
    assert f"{big[1]}/models/ID/log.txt" in summary


@pytest.mark.parametrize("width", [60, 80, 100, 140, 1000])
def test_the_table_fits_the_terminal(big: tuple[Study, Store], width: int) -> None:
    summary = text(*big, width)
    table = summary.partition("\nand ")[0].splitlines()
    assert max(map(len, table)) <= width
    assert table[0].startswith("cell (medians over seeds)  models  udr (cell)")
    more = next(line for line in summary.splitlines() if line.startswith("and "))
    columns = 20 if width == 1000 else sum(word in METRICS for word in table[0].split()) + 2
    assert (f"{20 - columns} more columns" in more) == (columns < 20)
    assert "60 more cells: tolstoy report " in more
    assert len(table) == 41


def test_the_six_metrics_of_the_study_come_first(big: tuple[Study, Store]) -> None:
    head = text(*big, 95).splitlines()[0]
    words = [word for word in head.split() if word in METRICS]
    assert words == ["beta_vae", "factor_vae", "dci", "sap"]


def test_a_small_study_is_shown_whole(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    summary = text(study, store)
    assert "no weights" not in summary
    assert "more" not in summary.partition("Next:")[0]
    assert "--retry" not in summary
    row = next(line for line in summary.splitlines() if line.startswith("dsprites-beta_vae-4"))
    assert row.split() == ["dsprites-beta_vae-4", "2", "0.041"]


def test_columns_without_any_value_are_left_out(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", metrics=["mig", "unsupervised"], udr={"pools": []})
    train(store, models_of(study))
    for number, model in enumerate(models_of(study)):
        write_scores(store, model, {"mig": None, "unsupervised": None if number else 0.5})
    head, *rows = text(study, store).split("\n\n")[0].splitlines()
    assert "unsupervised" in head and "mig" not in head
    assert rows[-1].startswith("and 1 column without a value: ") and "0.500" in "".join(rows)
    facts = json.loads(as_json(study, store, survey(study, store), [], "report/index.html"))
    assert facts["medians"][0]["mig"] is None, "JSON has all columns"


def test_numbers_that_all_have_in_common_stay(tmp_path: Path) -> None:
    def ends(number: int, model: Model) -> tuple[str, str]:
        return "failed", f"OSError: [Errno 5] in float32 # {number} of model {model.id}"

    study, store = store_of_outcomes(tmp_path / "store", ends)
    (group,) = failures(survey(study, store))
    assert group.reason == "OSError: [Errno 5] in float32 # # of model #"
    assert (group.count, group.cells, len(group.examples)) == (6, 3, 3)


def test_numbers_in_names_are_not_stripped(tmp_path: Path) -> None:
    def ends(number: int, model: Model) -> tuple[str, str]:
        return "failed", f"float{32 << number % 2} of conv-{number % 2} is -{number}.5e-{number}"

    study, store = store_of_outcomes(tmp_path / "store", ends)
    reasons = {group.reason: group.count for group in failures(survey(study, store))}
    assert reasons == {"float32 of conv-0 is #": 3, "float64 of conv-1 is #": 3}


@pytest.mark.parametrize("reason", ["", "two\nlines\n", "x" * 5000])
def test_reasons_are_one_line_each(reason: str, tmp_path: Path) -> None:
    study, store = store_of_outcomes(tmp_path / "store", lambda *_: ("failed", reason))
    summary = text(study, store)
    line = next(line for line in summary.splitlines() if "6 failed: " in line)
    assert len(line) < 200
    assert line.split(": ", 1)[1].startswith(" ".join(reason.split())[:9] or "no reason")


def test_many_kinds_are_counted_not_listed(tmp_path: Path) -> None:
    def ends(number: int, model: Model) -> tuple[str, str]:
        return "failed", f"{'abcdefghijklmnopqrst'[number]} went wrong"

    study, store = store_of_outcomes(tmp_path / "store", ends, seeds=6)
    summary = text(study, store)
    assert summary.count(" went wrong\n") == 8
    assert "and 10 for 10 other reasons: tolstoy status " in summary


@pytest.mark.parametrize(
    ("statuses", "option"),
    [
        (["diverged"], "--retry diverged"),
        (["failed"], "--retry failed"),
        (["diverged", "failed"], "--retry failed,diverged"),
    ],
)
def test_the_command_to_try_again_does_just_that(
    statuses: list[str], option: str, tmp_path: Path
) -> None:
    def ends(number: int, model: Model) -> tuple[str, str]:
        return (statuses[number % len(statuses)] if number < 3 else "trained"), "a reason"

    place = tmp_path / "a store"
    study, store = store_of_outcomes(
        place, ends, training={"learning_rate": 1e-8, "epsilon": 1e-12}
    )
    line = next(line for line in text(study, store).splitlines() if "Try them again: " in line)
    program, command, spec, *options = shlex.split(line.partition(": ")[2])
    assert (Path(program).name, command) == ("tolstoy", "run")
    assert options == ["--store", str(place), *option.split()]
    assert read_study(spec) == study, "the spec that made the store"
    assert forget(study, store, set(options[-1].split(","))) == 3


def test_a_store_that_is_no_folder_has_no_spec_to_name(tmp_path: Path) -> None:
    study, store = store_of_outcomes(tmp_path / "store", lambda *_: ("failed", "a reason"))
    by_uri = Store(f"file://{store.root}")
    assert f"run SPEC --store file://{store.root} --retry failed" in text(study, by_uri)


def test_json_has_all(big: tuple[Study, Store]) -> None:
    study, store = big
    facts = json.loads(as_json(study, store, survey(study, store), ["oh"], "report/index.html"))
    assert (facts["models"], facts["trained"], facts["diverged"]) == (1000, 699, 200)
    assert len(facts["medians"]) == 100
    assert facts["medians"][0].keys() >= {"cell", "models", *OF_ALL_DATA, "udr (method)"}
    assert [group["count"] for group in facts["failures"]] == [200, 100, 1]
    assert facts["failures"][0]["examples"][0]["reason"] == STEP.format(14, 2 / 3)
    assert facts["retry"].endswith("--retry failed,diverged")
    assert facts["troubles"] == ["oh"]


def test_many_troubles_are_counted(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    summary = text(study, store, troubles=tuple(f"trouble {i}" for i in range(300)))
    assert summary.count("trouble ") == 10
    assert "and 290 more such lines" in summary


def test_a_run_with_nothing_to_do_says_so_and_exits_by_the_models_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = store_of_outcomes(
        tmp_path / "store", lambda *_: ("diverged", "a reason"), udr={"pools": []}
    )
    command = ["run", store.path("study.json"), "--store", store.root]
    assert main(command) == 1
    assert "6 models have no weights" in capsys.readouterr().out
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"][0]["reason"] == "a reason"


def test_damage_that_a_run_meets_is_named_and_how_to_mend_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", udr={"pools": []})
    models = models_of(study)
    train(store, models)
    points = {"step": [1, 2], "loss": 1.0, "reconstruction": 1.0, "kl": 0.0, "regulariser": 0.0}
    for model in models:
        store.write_part("curves", model.id, {**model.keys, **points})
    command = ["run", store.path("study.json"), "--store", store.root]
    assert main(command) == 0
    place = ("tables", "curves", f"{models[0].id}.parquet")
    content = bytearray(store.read_bytes(*place))
    content[len(content) // 2] ^= 1
    store.write_bytes(bytes(content), *place)
    capsys.readouterr()
    assert main(command) == 1
    out = capsys.readouterr().out
    assert f"is damaged and counts as missing: curves/{models[0].id}.parquet. To make it" in out
    assert f"run SPEC --store {store} --retry damaged" in out


def test_the_table_of_a_ranking_fits_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = made_up(tmp_path / "store", metrics=["irs", "jemmig", "mig", "sap"])
    train(store, models_of(study))
    for model in models_of(study):
        write_scores(store, model, dict.fromkeys(study.metrics.names, 0.5))
    compared(study, store)
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["rank", store.root, "--pool", "cell"]) == 0
    whole = capsys.readouterr().out
    assert whole.splitlines()[0].split()[-4:] == ["mig", "sap", "irs", "jemmig"]
    assert "more" not in whole
    monkeypatch.setenv("COLUMNS", str(whole.index("  irs")))
    assert main(["rank", store.root, "--pool", "cell"]) == 0
    head, *rest = capsys.readouterr().out.splitlines()
    assert head == whole[: whole.index("  irs")].rstrip()
    assert "and 2 more (--json): irs, jemmig" in rest
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["rank", store.root, "--pool", "cell"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[-1] == "comparisons"
