"""`tolstoy score FILE` as people and programs meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.ensemble import RandomForestRegressor
from sklearn.svm import LinearSVC

import metrics.compiled.lasso
from flows.cli import main
from flows.commands.score_output import ScoreOutput
from metrics import METRICS, OF_ALL_DATA
from metrics.base.dci_scores import disentanglement
from metrics.base.inputs import Score
from metrics.compiled.boosting import Boosting
from metrics.mig import mig
from tasks.own import OwnCodes, read_codes
from tasks.plots import matrices
from tasks.score_codes import drawn_points, score_of, split_inputs

ROWS = 600


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Factors in the first latents, noise in the others."""
    draws = np.random.default_rng(0)
    factors = draws.integers(0, (3, 6, 4), size=(ROWS, 3))
    codes = np.concatenate([factors, draws.normal(size=(ROWS, 2))], axis=1)
    codes += 0.05 * draws.normal(size=codes.shape)
    path = tmp_path_factory.mktemp("own") / "own.npz"
    np.savez(path, codes=codes, factors=factors, factor_names=["shape", "scale", "hue"])
    return path


def scored(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main(["score", *map(str, arguments), "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def test_names_of_metrics_may_have_blanks_around_them(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = scored(capsys, file, "--metrics", "mig, modularity")
    assert {row["metric"] for row in rows} == {"mig", "modularity"}


def test_every_metric_has_a_headline(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = scored(capsys, file)
    headlines = {
        r["metric"]: r["value"] for r in rows if (r["part"], r["factor"]) == ("score", None)
    }
    assert tuple(headlines) == OF_ALL_DATA
    assert all(isinstance(value, float) for value in headlines.values())
    assert all(set(row) == {"metric", "part", "factor", "value"} for row in rows)
    assert {row["factor"] for row in rows} == {None, "shape", "scale", "hue"}


def test_continuous_factors_that_are_latents_are_predicted_without_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = np.random.default_rng(0)
    factors = np.column_stack([draws.random(ROWS), 100 * draws.random(ROWS), np.arange(ROWS) % 3])
    path = tmp_path / "own.npz"
    np.savez(path, codes=factors, factors=factors, factor_names=["x", "hue", "shape"])
    names = ("dci_lasso", "dci_forest", "sap", "mig", "factor_vae")
    assert main(["score", str(path), "--metrics", ",".join(names), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[0] == (
        "Continuous (guessed; an array factor_kinds in the file decides): x, hue. Metrics that "
        "need classes read 10 bins of equal width (--bins)."
    )
    rows = {(row["metric"], row["part"], row["factor"]): row["value"] for row in json.loads(out)}
    for metric, error in (("dci_lasso", 0.002), ("dci_forest", 0.02)):
        for factor in (None, "x", "hue", "shape"):
            assert rows[metric, "nrmse_test", factor] == pytest.approx(0, abs=error)
            assert rows[metric, "informativeness_test", factor] == pytest.approx(1, abs=error)
    assert rows["sap", "gap", "x"] == pytest.approx(1, abs=0.03)
    bins = {key: value for key, value in rows.items() if key[1] == "bins"}
    assert bins == {(m, "bins", f): 10 for m in ("mig", "factor_vae") for f in ("x", "hue")}
    few = scored(capsys, path, "--metrics", "mig", "--bins", 4)
    cut = np.column_stack(
        [np.digitize(f, np.linspace(f.min(), f.max(), 5)[1:-1]) for f in factors.T[:2]]
    )
    expected = mig(factors[:400], np.column_stack([cut, np.arange(ROWS) % 3])[:400])
    assert few[0]["value"] == pytest.approx(expected[0].value)
    np.savez(path, codes=factors, factors=factors, factor_kinds=["continuous"] * 2 + ["discrete"])
    assert main(["score", str(path), "--metrics", "mig"]) == 0
    assert capsys.readouterr().err.startswith("Continuous: factor 0, factor 1. ")


def test_further_rows_choose_the_penalty_and_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code is the factor, and the validation rows ask for half of it. In the zero-shot rows,
    two deviations from the mean, half of it is one deviation too few."""
    draws = np.random.default_rng(0)
    factors, path = draws.normal(size=(ROWS, 1)), tmp_path / "own.npz"
    arrays = {"codes": factors, "factors": factors}
    validation = {"validation_codes": factors, "validation_factors": factors / 2}
    beyond = np.full((50, 1), factors[:400].mean() + 2 * factors[:400].std())
    np.savez(path, **arrays, **validation, zero_shot_codes=beyond, zero_shot_factors=beyond)
    assert main(["score", str(path), "--metrics", "dci_lasso", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "own.npz: 600 validation rows, 50 zero-shot rows, read by dci_lasso and dci_for" in err
    rows = {(row["part"], row["factor"]): row["value"] for row in json.loads(out)}
    assert rows["importance latent 0", 0] == pytest.approx(0.5, abs=0.03)
    assert rows["nrmse_zero_shot", 0] == pytest.approx(2 * 0.5, abs=0.06)
    assert rows["nrmse_zero_shot_own", 0] == 1, "the rows do not vary"
    np.savez(path, **arrays)
    parts = {row["part"] for row in scored(capsys, path, "--metrics", "dci_lasso")}
    assert "importance latent 0" in parts and "nrmse_zero_shot" not in parts


def test_two_thirds_of_the_rows_train(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(file) as own:
        expected = mig(own["codes"][:400], own["factors"][:400])
    rows = scored(capsys, file, "--metrics", "mig")
    assert [row["value"] for row in rows] == [score.value for score in expected]
    assert [row["factor"] for row in rows] == [None, "shape", "scale", "hue"]


def test_the_seed_decides_and_repeats_are_summed_up(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def accuracies(*arguments: object) -> dict[str, float]:
        rows = scored(capsys, file, "--metrics", "factor_vae", *arguments)
        return {f"{row['part']} {row['factor']}": row["value"] for row in rows}

    assert accuracies("--seed", 3) == accuracies("--seed", 3)
    rows = scored(capsys, file, "--metrics", "factor_vae,mig", "--seed", 3, "--repeat", 2)
    both = [accuracies("--seed", seed) for seed in (3, 4)]
    for row in rows:
        if row["metric"] == "factor_vae":
            values = [one[f"{row['part']} {row['factor']}"] for one in both]
            assert row["value"] == pytest.approx(np.mean(values))
            assert row["std"] == pytest.approx(np.std(values, ddof=1))
        else:
            assert row["std"] == 0
    assert main(["score", str(file), "--metrics", "mig", "--out", str(tmp_path / "s.parquet")]) == 0
    assert "gap" not in capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "s.parquet")
    assert table["value"].tolist() == [row["value"] for row in rows if row["metric"] == "mig"]


def test_parts_are_printed_where_they_are_asked_for(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(file), "--metrics", "mig,dci_lasso"]) == 0
    head, mig_row, dci_row, more = capsys.readouterr().out.splitlines()
    assert head.split() == ["metric", "part", "factor", "value"]
    assert mig_row.split()[:2] == ["mig", "score"] and dci_row.split()[:2] == ["dci_lasso", "score"]
    assert main(["score", str(file), "--metrics", "mig,dci_lasso", "--parts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert more.split()[0] == str(len(lines) - 3)
    assert ["mig", "gap", "hue"] in [line.split()[:3] for line in lines]


def test_the_table_marks_where_more_is_not_better(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(file), "--metrics", "mig,jemmig,unsupervised", "--parts"]) == 0
    _, *lines = (line.split() for line in capsys.readouterr().out.splitlines())
    remarks = {(name, part): words for name, part, value, *words in lines if part == "score"}
    assert remarks == {
        ("mig", "score"): [],
        ("jemmig", "score"): ["less", "is", "better"],
        ("unsupervised", "score"): ["neither", "more", "nor", "less", "is", "better"],
    }
    assert all("better" not in line for line in lines if line[1] != "score")


def test_metrics_are_explained_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    for names in (["sap", "jemmig"], ["sap,jemmig"]):
        assert main(["score", "--explain", *names]) == 0
        out = capsys.readouterr().out
        assert out.startswith("## sap\n") and out.index("## jemmig\n") > 0
        assert "from 0 upwards; less is better" in out and "`gap_tree`" in out
    assert main(["score", "--explain"]) == 0
    out = capsys.readouterr().out
    assert [line[3:] for line in out.splitlines() if line.startswith("## ")] == list(METRICS)
    assert main(["score", "--explain", "jemmig", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert (facts["name"], facts["better"], facts["bounds"]) == ("jemmig", "less", [0, None])
    assert set(facts["parts"]) == {"jemmig", "normalised"}


def test_points_are_drawn_by_the_seed_and_keep_the_files_order() -> None:
    order = np.arange(900)
    own = OwnCodes(order[:, None] * 1.0, order[:, None], None, targets=order[:, None] / 2)
    drawn, again, other = (drawn_points(own, 300, seed) for seed in (1, 1, 2))
    rows = drawn.factors[:, 0]
    assert len(rows) == 300 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(drawn.codes[:, 0], rows)
    assert drawn.targets is not None
    np.testing.assert_array_equal(drawn.targets[:, 0], rows / 2)
    np.testing.assert_array_equal(rows, again.factors[:, 0])
    assert 50 < len(set(rows) & set(other.factors[:, 0])) < 200
    assert drawn_points(own, 900, 1) is own and drawn_points(own, None, 1) is own


def test_a_score_may_be_of_some_points(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = read_codes(file)
    rows = scored(capsys, file, "--metrics", "mig", "--points", 90, "--seed", 3)
    some = drawn_points(own, 90, 3)
    assert rows[0]["value"] == mig(some.codes[:60], some.factors[:60])[0].value
    assert main(["score", str(file), "--metrics", "mig", "--points", "90"]) == 0
    err = capsys.readouterr().err
    assert "600 points" in err
    assert "90 of 600 points are scored, drawn at random (--points, --seed)" in err
    assert "fewer than 100 are mostly chance" in err
    assert (
        scored(capsys, file, "--metrics", "mig", "--points", 900)[0]["value"]
        == (scored(capsys, file, "--metrics", "mig")[0]["value"])
    )
    repeated = scored(capsys, file, "--metrics", "mig", "--points", 90, "--repeat", 2)
    assert repeated[0]["std"] > 0, "each repeat draws points of its own"


def test_many_points_come_with_a_warning_that_names_what_is_slow(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.score_codes.MANY_POINTS", 500)
    scored(capsys, file, "--metrics", "mig")
    assert "warning" not in capsys.readouterr().err
    assert main(["score", str(file), "--metrics", "mig,sap,dci_lasso"]) == 0
    err = capsys.readouterr().err
    assert "sap, dci_lasso may take minutes to hours for 600 points" in err
    assert "a study scores 15,000 (--points 15000)" in err
    assert main(["score", str(file), "--metrics", "sap", "--points", "400"]) == 0
    assert "minutes to hours" not in capsys.readouterr().err


def test_the_picture_has_a_panel_per_matrix(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "matrices.png"
    assert main(["score", str(file), "--metrics", "mig", "--plot", str(plot)]) == 0
    assert f"Wrote {plot}" in capsys.readouterr().err
    picture = np.asarray(Image.open(plot).convert("RGB")).astype(int)
    dark = (picture.sum(axis=2) < 330).sum() / picture[..., 0].size
    assert 0.02 < dark < 0.3, "three cells of fifteen are dark"


def test_matrices_are_those_that_the_scores_come_from(file: Path) -> None:
    names = ("sap", "dci_lasso", "dci_forest", "mig")
    inputs = split_inputs(read_codes(file), names, 5)
    by_name = {name: score_of(inputs, name, 5).scores for name in names}
    by_title = matrices(inputs)
    assert list(by_title) == ["mutual information / entropy", "sap", "dci_lasso", "dci_forest"]
    assert all(matrix.shape == (5, 3) for matrix in by_title.values())
    for title, matrix in by_title.items():
        assert matrix.argmax(axis=0).tolist() == [0, 1, 2], title
    ordered = np.sort(by_title["sap"], axis=0)
    assert by_name["sap"][0].value == pytest.approx((ordered[-1] - ordered[-2]).mean())
    for name in ("dci_lasso", "dci_forest"):
        assert by_name[name][0].value == disentanglement(by_title[name])[0]


def test_a_picture_fits_nothing_again(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[str] = []

    def count(owner: object, name: str) -> None:
        fit, key = getattr(owner, name), f"{getattr(owner, '__name__', '')}.{name}"

        def counted(*arguments: Any, **options: Any) -> Any:
            fits.append(key)
            return fit(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    count(Boosting, "fit")
    count(LinearSVC, "fit")
    count(RandomForestRegressor, "fit")
    count(metrics.compiled.lasso, "lasso")
    arguments = (file, "--metrics", "dci,dci_lasso,dci_forest,sap")
    scored(capsys, *arguments)
    without_picture = fits.copy()
    assert set(without_picture) == {
        "Boosting.fit",
        "LinearSVC.fit",
        "RandomForestRegressor.fit",
        "metrics.compiled.lasso.lasso",
    }
    scored(capsys, *arguments, "--plot", tmp_path / "matrices.png")
    assert fits == without_picture * 2


def test_interventions_are_of_rows_that_were_not_learned_if_those_suffice() -> None:
    rows = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2)
    grid = np.tile(rows, (15, 1))
    one_value = grid[np.argsort(grid[:, 0], kind="stable")]  # in the last third
    diagonal = np.tile([[0, 0], [1, 1], [2, 2], [0, 3]], (15, 1))
    no_two_differ_in_one = np.concatenate([grid[:120], diagonal])
    codes = np.arange(180.0)[:, None]  # tell which row was drawn
    for factors, first in ((grid, 120), (one_value, 0), (no_two_differ_in_one, 0)):
        inputs = split_inputs(OwnCodes(codes, factors, None), ("fairness",), 5)
        drawn = np.concatenate([points.ravel() for points in inputs.intervened()])
        assert [len(points) for points in inputs.intervened()] == [3, 4]
        assert first <= drawn.min() < first + 10 and drawn.max() > 170
    inputs = split_inputs(OwnCodes(codes[:60], diagonal, None), ("fairness",), 5)
    with pytest.raises(ValueError, match="no row has, for each of the 3 values of factor 0"):
        inputs.intervened()


def test_what_cannot_be_computed_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "own.npz", codes=np.ones((9, 2)), factors=np.ones((9, 1), int))

    def fails(*_: object) -> None:
        raise ValueError("factors:\none value")

    monkeypatch.setattr("tasks.score_codes.evaluate", fails)
    (row,) = scored(capsys, tmp_path / "own.npz", "--metrics", "mig")
    assert row["value"] is None and row["reason"] == "factors: one value"


def test_what_was_read_is_said(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(file), "--metrics", "mig"]) == 0
    said = "own.npz: 600 points, 5 latents, 3 factors of 3, 6, 4 values (shape, scale, hue)\n"
    assert capsys.readouterr().err == said
    rows = np.arange(99)
    columns = {"z0": rows, "factor_one": 7, "factor_row": rows, "factor_x": rows % 2, "id": rows}
    columns |= {"z2": rows, "Z1": rows, "split": rows % 3}
    pd.DataFrame(columns).to_csv(tmp_path / "few.csv", index=False)
    asked = ["score", str(tmp_path / "few.csv"), "--metrics", "mig", "--points", "9999"]
    assert main(asked) == 0
    assert capsys.readouterr().err.splitlines() == [
        "few.csv: 99 points, 2 latents, 3 factors of 1, 99, 2 values (one, row, x)",
        "few.csv: all 99 points are scored, as there are no 9,999",
        "few.csv: left out: id (an index)",
        "tolstoy: warning: few.csv: left out: Z1 (names of codes and factors are in lower case)",
        "few.csv: left out: split (columns named factor_NAME are factors)",
        "tolstoy: warning: few.csv: no z1 between z0 and z2",
        "tolstoy: warning: few.csv: 99 points: results of fewer than 100 are mostly chance",
        "tolstoy: warning: few.csv: only one value, about which no code can say anything: one",
        "tolstoy: warning: few.csv: most rows have a value of their own, as if it were the row's "
        "name: row",
    ]


def test_a_metric_without_enough_memory_does_not_stop_the_others(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(name: str, *_: object) -> list[Score]:
        if name == "sap":
            raise MemoryError("Unable to allocate 9 TiB")
        return [Score("score", 0.25)]

    monkeypatch.setattr("tasks.score_codes.evaluate", no_room)
    assert main(["score", str(file), "--metrics", "sap,mig", "--json"]) == 1
    sap, mig_row = json.loads(capsys.readouterr().out)
    reason = "not enough memory (Unable to allocate 9 TiB); --points N scores fewer"
    assert sap["value"] is None and sap["reason"] == reason
    assert mig_row["value"] == 0.25


def test_each_metric_is_printed_and_written_as_it_ends(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "scores.parquet"
    so_far: list[tuple[list[str], list[str]]] = []

    def looks(*_: object) -> list[Score]:
        written = pd.read_parquet(out)["metric"].tolist() if out.exists() else []
        so_far.append((capsys.readouterr().out.split(), written))
        return [Score("score", 0.25), Score("gap", 0.5, 0)]

    monkeypatch.setattr("tasks.score_codes.evaluate", looks)
    assert main(["score", str(file), "--metrics", "mig,sap,dci_lasso", "--out", str(out)]) == 0
    headings = ["metric", "part", "factor", "value"]
    assert so_far == [
        ([], []),
        ([*headings, "mig", "score", "0.2500"], ["mig"] * 2),
        (["sap", "score", "0.2500"], ["mig"] * 2 + ["sap"] * 2),
    ]
    last, hint = capsys.readouterr().out.splitlines()
    assert last.split() == ["dci_lasso", "score", "0.2500"]
    assert hint.startswith("3 parts of these scores")
    assert pd.read_parquet(out)["metric"].tolist() == ["mig"] * 2 + ["sap"] * 2 + ["dci_lasso"] * 2
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_another_program_wrote_meanwhile_is_not_replaced(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "scores.parquet"

    def writes(*_: object) -> list[Score]:
        out.write_text("another program's")
        return [Score("score", 0.25)]

    monkeypatch.setattr("tasks.score_codes.evaluate", writes)
    assert main(["score", str(file), "--metrics", "mig", "--out", str(out)]) == 2
    printed = capsys.readouterr()
    assert "0.2500" in printed.out and "a file that does not exist yet" in printed.err
    assert out.read_text() == "another program's"


def test_after_an_interrupt_what_was_computed_is_printed_and_written(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(name: str, *_: object) -> list[Score]:
        if name == "dci":
            raise KeyboardInterrupt
        return [Score("score", 0.25)]

    monkeypatch.setattr("tasks.score_codes.evaluate", interrupted)
    out = tmp_path / "scores.parquet"
    asked = ["score", str(file), "--metrics", "mig,sap,dci,irs", "--out", str(out), "--json"]
    assert main(asked) == 130
    stdout, stderr = capsys.readouterr()
    assert [row["metric"] for row in json.loads(stdout)] == ["mig", "sap"]
    assert "Interrupted after 2 of 4 scores." in stderr
    assert pd.read_parquet(out)["metric"].tolist() == ["mig", "sap"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["nowhere.npz"], ["FILE", "nowhere.npz, which is no file", "there is no nowhere.npz in"]),
        (["FILE", "--metrics", "MIG"], ["--metrics", "did you mean mig?"]),
        (["FILE", "--metrics", "mgi"], ["--metrics", "did you mean mig?"]),
        ([], ["FILE", "a file with codes and factors; or --explain"]),
        (["FILE", "--explain"], ["FILE", "own.npz", "--explain needs no file"]),
        (["--explain", "mig", "mgi"], ["--explain", "did you mean mig?"]),
        (["FILE", "--metrics", ""], ["--metrics", "found ''"]),
        (["FILE", "--points", "2"], ["--points", "from 3"]),
        (["FILE", "--repeat", "0"], ["--repeat", "from 1"]),
        (["FILE", "--out", "FILE"], ["--out", "ends in .parquet"]),
        (["FILE", "--out", "nowhere/x.parquet"], ["--out", "whose folder does not exist"]),
        (["FILE", "--plot", "x"], ["--plot", "ends in .png"]),
        (["FILE", "--metrics", "mig", "--plot", "x.doc"], ["--plot", "x.doc"]),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str],
    names: list[str],
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["score", *(str(file) if a == "FILE" else a for a in arguments)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and all(name in err for name in names), err
    assert list(tmp_path.iterdir()) == []


def test_names_in_a_file_cannot_change_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "own\x1b[31m\n.npz"
    factors = np.stack([np.arange(120) % 3, rng.integers(2, size=120)], axis=1)
    names = ["a\x1b[31m", "b\nc"]
    np.savez(file, codes=rng.normal(size=(120, 2)), factors=factors, factor_names=names)
    assert main(["score", str(file), "--metrics", "mig,mig", "--parts"]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert r"own\x1b[31m\n.npz: 120 points" in err and r"(a\x1b[31m, b\nc)" in err
    assert r"b\nc" in out
    assert sum(line.split()[:2] == ["mig", "score"] for line in out.splitlines()) == 1


def test_one_part_is_not_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ScoreOutput(["mig"], None, None, parts=False, json=False)
    output.rows = [{"metric": "mig", "part": "gap", "factor": 0, "value": 1.0}]
    output.end()
    assert capsys.readouterr().out.startswith("1 part of these scores")
