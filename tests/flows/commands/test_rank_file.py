"""`tolstoy rank FILE`: models of a user's own file, ranked as by hand."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from flows.cli import main
from tests.flows.commands.test_rank import Codes, as_json, drawn, matrix, printed, strength


@pytest.fixture
def arrays() -> dict[str, Codes]:
    """Five models of three signals: permuted, noisy, mixed, one of them collapsed."""
    draws = np.random.default_rng(3)
    signals = draws.normal(size=(70, 3))
    codes = np.empty((5, 70, 4))
    for model in range(5):
        codes[model] = 0.1 * draws.normal(size=(70, 4))
        mixing = np.eye(3) if model < 3 else draws.normal(size=(3, 3))
        codes[model][:, draws.permutation(4)[:3]] += signals @ mixing
    kl = np.where(codes.std(axis=1) > 0.5, 1.0, 0.01)  # at the threshold is not above it
    kl[4] = 0.0
    return {"codes": codes, "kl": kl}


@pytest.mark.parametrize("similarity", ["lasso", "spearman"])
@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_a_file_is_ranked_as_by_hand(
    similarity: str,
    ending: str,
    arrays: dict[str, Codes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / f"own.{ending}"
    if ending == "npz":
        np.savez(file, **arrays)
    else:
        with h5py.File(file, "w") as opened:
            for name, array in arrays.items():
                opened[name] = array
    result = as_json(capsys, file, "--similarity", similarity)
    assert list(result) == ["similarity", "models", "pairs"] and result["similarity"] == similarity
    codes, informative = arrays["codes"], arrays["kl"] > 0.01
    expected = np.full((5, 5), np.nan)
    for i in range(5):
        for j in range(5):
            if i != j and informative[i].any() and informative[j].any():
                mine = matrix(codes[i][:, informative[i]], codes[j][:, informative[j]], similarity)
                expected[i, j] = strength(mine)
            elif i != j:
                expected[i, j] = 0.0
    for i in range(5):
        for j in range(5):
            value = result["pairs"][i][j]
            assert (value is None) == (i == j)
            assert i == j or value == pytest.approx(expected[i, j], abs=1e-4)
    for j, row in enumerate(result["models"]):
        udr = np.median([expected[i, j] for i in range(4) if i != j]) if j < 4 else 0.0
        assert row == {
            "model": j,
            "udr": pytest.approx(udr, abs=1e-4),
            "informative": int(informative[j].sum()),
            "comparisons": 3 if j < 4 else 0,
            "collapsed": j == 4,
        }


def test_a_file_is_ranked_by_centrality(
    arrays: dict[str, Codes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In groups by halves of a latent, as 70 points make two of them."""
    np.savez(tmp_path / "own.npz", **arrays)
    result = as_json(capsys, tmp_path / "own.npz", "--similarity", "centrality")
    pairs, scores = np.array(result["pairs"], float), [row["udr"] for row in result["models"]]
    codes, informative = arrays["codes"], arrays["kl"] > 0.01
    for i in range(4):
        for j in range(4):
            if i != j:
                voters, factors = (codes[m][:, informative[m]] for m in (i, j))
                relative = []
                for values in factors.T:
                    upper = values >= np.sort(values)[35]
                    halves = voters[~upper].var(axis=0), voters[upper].var(axis=0)
                    relative += [half / voters.var(axis=0) for half in halves]
                votes = np.zeros((voters.shape[1], factors.shape[1]))
                for group, values in enumerate(relative):
                    votes[values.argmin(), group // 2] += 1
                assert pairs[i, j] == pytest.approx(votes.max(axis=1).sum() / votes.sum())
    both = (pairs + pairs.T) / 2
    expected = [*(np.nanmean(np.delete(both[:4, model], model)) for model in range(4)), 0]
    assert scores == pytest.approx(expected)
    assert len(set(scores)) > 3
    text = printed(capsys, tmp_path / "own.npz", "--similarity", "centrality")
    assert "5 models compared by centrality" in text


@pytest.mark.parametrize("similarity", ["cka", "cca"])
def test_a_file_is_ranked_by_whole_codes(
    similarity: str,
    arrays: dict[str, Codes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "own.npz", **arrays)
    result = as_json(capsys, tmp_path / "own.npz", "--similarity", similarity)
    pairs, scores = np.array(result["pairs"], float), [row["udr"] for row in result["models"]]
    sides = [arrays["codes"][model][:, arrays["kl"][model] > 0.01] for model in range(4)]
    sides = [side - side.mean(axis=0) for side in sides]
    if similarity == "cca":
        sides = [np.linalg.qr(side)[0] for side in sides]
    for i in range(4):
        for j in range(4):
            if i != j:
                sizes = [np.linalg.norm(sides[m].T @ sides[m]) for m in (i, j)]
                most = sizes[0] * sizes[1] if similarity == "cka" else 3
                expected = np.linalg.norm(sides[i].T @ sides[j]) ** 2 / most
                assert pairs[i, j] == pytest.approx(expected, abs=1e-5)
    means = [np.mean(np.delete(pairs[:4, model], model)) for model in range(4)]
    assert scores == pytest.approx([*means, 0]) and min(scores[:4]) > 0.5
    plot = tmp_path / "ranking.png"
    text = printed(capsys, tmp_path / "own.npz", "--similarity", similarity, "--plot", plot)
    assert f"5 models compared by {similarity}" in text and plot.stat().st_size > 10_000


def test_without_kl_all_that_varies_is_informative_and_models_may_have_names(
    arrays: dict[str, Codes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = arrays["codes"].copy()
    codes[1, :, 2] = 5.0
    names = ["a", "b", "c", "d", "e"]
    np.savez(tmp_path / "own.npz", codes=codes, names=names)
    result = as_json(capsys, tmp_path / "own.npz", "--p", 2)
    assert [row["model"] for row in result["models"]] == names
    assert [row["informative"] for row in result["models"]] == [4, 3, 4, 4, 4]
    assert {row["comparisons"] for row in result["models"]} == {2}
    out = printed(capsys, tmp_path / "own.npz", "--top", 4)
    order = sorted(as_json(capsys, tmp_path / "own.npz")["models"], key=lambda row: -row["udr"])
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "model", "udr", "informative", "comparisons"]
    assert [line.split()[:3] for line in lines[1:5]] == [
        [str(rank), row["model"], f"{row['udr']:.4f}"] for rank, row in enumerate(order[:4], 1)
    ]
    assert lines[5] == "" and "5 models compared by lasso" in out


def test_what_was_read_of_a_file_is_said(
    arrays: dict[str, Codes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", **arrays)
    assert main(["rank", str(tmp_path / "own.npz"), "--similarity", "spearman"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "own.npz: 5 models, 70 points, 4 latents, with their KL",
        "tolstoy: warning: own.npz: 70 points: results of fewer than 100 are mostly chance",
    ]


@pytest.mark.parametrize(
    ("kl", "words"),
    [
        (None, ["without kl (models, latents)", "also noise", "0.01 nats"]),
        (np.full((5, 4), -1.0), ["20 of 20 values are below 0"]),
        (np.full((5, 4), 0.009), ["no value is above 0.01 nats", "all models count as collapsed"]),
        (np.ones((5, 4)), []),
    ],
)
def test_a_doubtful_kl_is_warned_of(
    kl: Codes | None,
    words: list[str],
    arrays: dict[str, Codes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"codes": np.tile(arrays["codes"], (1, 2, 1))} | ({} if kl is None else {"kl": kl})
    np.savez(tmp_path / "own.npz", **given)
    assert main(["rank", str(tmp_path / "own.npz"), "--p", "2"]) == 0
    out, err = capsys.readouterr()
    warnings = [line for line in err.splitlines() if line.startswith("tolstoy: warning: own.npz")]
    assert len(warnings) == bool(words) and all(word in err for word in words), err
    collapsed = kl is not None and (kl <= 0.01).all()
    assert ("no comparisons" if collapsed else "2 comparisons each") in out


def test_the_picture_of_a_file(
    arrays: dict[str, Codes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", **arrays)
    assert main(["rank", str(tmp_path / "own.npz"), "--plot", str(tmp_path / "own.png")]) == 0
    assert f"Wrote {tmp_path / 'own.png'}" in capsys.readouterr().err
    picture = drawn(tmp_path / "own.png")
    lower = picture[len(picture) // 2 :]
    left, right = lower[:, : lower.shape[1] // 2], lower[:, lower.shape[1] // 2 :]
    dark = [(half[..., 0] < 60).mean() + 0.0 for half in (left, right)]
    assert dark[0] > 0.02, "the best pair agrees: a dark diagonal"


CODES = np.random.default_rng(0).normal(size=(3, 20, 4))


def spoilt(place: tuple[int, int, int], value: float) -> Codes:
    codes = CODES.copy()
    codes[place] = value
    return codes


@pytest.mark.parametrize(
    ("arrays_", "words"),
    [
        ({"codes": spoilt((2, 7, 1), np.nan)}, ["model 2", "row 7", "latent 1", "nan"]),
        ({"codes": spoilt((0, 3, 3), np.inf)}, ["model 0", "row 3", "latent 3", "inf"]),
        ({"codes": CODES[0]}, ["codes", "(20, 4)", "(models, rows, latents)"]),
        ({"codes": CODES[:1]}, ["1 model", "2 or more"]),
        ({"codes": CODES[:, :1]}, ["1 row", "2 or more"]),
        ({"codes": CODES[:0]}, ["codes", "(0, 20, 4)"]),
        ({"codes": CODES.astype(str)}, ["codes", "real numbers"]),
        ({"codes": CODES, "kl": np.ones((3, 5))}, ["kl", "(3, 5)", "(3, 4)"]),
        ({"codes": CODES, "kl": np.ones(3)}, ["kl", "(3,)", "(models, latents)"]),
        ({"codes": CODES, "kl": CODES[:, 0] * np.nan}, ["kl", "model 0", "latent 0", "nan"]),
        ({"codes": CODES, "names": ["a", "b"]}, ["names", "2 names", "3, one for each"]),
        ({"codes": CODES, "names": ["a", "b", "a"]}, ["names", "a, b, a", "once"]),
        ({"codes": CODES, "names": ["a"]}, ["names: found 1 name; accepted"]),
        ({"kl": np.ones((3, 4))}, ["no codes", "(models, points, latents)"]),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(
    arrays_: dict[str, Codes], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", **arrays_)
    assert main(["rank", str(tmp_path / "own.npz")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert all(word in err for word in ["own.npz", *words]), err


def test_the_best_model_of_each_number_of_informative_latents(
    arrays: dict[str, Codes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays["kl"][0] = (1.0, 1.0, 0.0, 0.0)
    np.savez(tmp_path / "own.npz", **arrays, names=["a", "b", "c", "d", "e"])
    result = as_json(capsys, tmp_path / "own.npz", "--per-informative")
    assert list(result) == ["similarity", "models", "pairs", "per_informative"]
    two, three = result["per_informative"]
    assert two == {"informative": 2, "models": 1, "best": result["models"][0]}
    assert (three["informative"], three["models"]) == (3, 3)
    assert three["best"] == max(result["models"][1:4], key=lambda row: row["udr"])
    out = printed(capsys, tmp_path / "own.npz", "--per-informative")
    lines = out.split("The best model for each number of informative latents:\n")[1].splitlines()
    assert lines[0].split() == ["informative", "models", "model", "udr"]
    assert lines[1].split()[:3] == ["2", "1", "a"] and lines[3] == ""
    np.savez(tmp_path / "none.npz", codes=arrays["codes"], kl=np.zeros((5, 4)))
    out = printed(capsys, tmp_path / "none.npz", "--per-informative")
    assert "none, as no model has an informative latent and a UDR." in out
