"""Studies over every kind of data: all seven data sets without a file, and the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from flows.cli import main
from infra.store import Store
from tasks.study.reading import read_study
from tests.flows.conftest import TINY, tolstoy, write_spec
from tests.tasks.report.parsed import Page

QUICK: dict[str, Any] = {
    "methods": {"beta_vae": [1]},
    "seeds": 2,
    "training": {**TINY["training"], "steps": 6, "batch_size": 4, "log_every": 3},
    "metrics": {"names": ["mig", "factor_vae"], "points": 40, "test_points": 8, "group_size": 3},
    "probe": 32,
}


def by_data(store: Path, table: str, column: str) -> dict[str, set[Any]]:
    values: dict[str, set[Any]] = {}
    for row in Store(store).read(table, ["data", column]).to_pylist():
        values.setdefault(row["data"], set()).add(row[column])
    return values


@pytest.mark.slow
def test_all_seven_data_sets_train_without_any_file(tmp_path: Path) -> None:
    seven = [choice.name for choice in read_study("locatello-2019").data]
    assert len(seven) == 7
    spec = write_spec(
        tmp_path / "seven.yaml",
        **{**QUICK, "seeds": 1},
        data=[
            name
            if name in ("dsprites", "color_dsprites", "noisy_dsprites")
            else {"name": name, "source": "look-alike"}
            for name in seven
        ],
    )
    done = tolstoy("run", spec, "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    sources = by_data(tmp_path / "store", "models", "source")
    assert sources == {name: {"redrawn" if name in seven[:3] else "look-alike"} for name in seven}
    assert by_data(tmp_path / "store", "models", "status") == {n: {"trained"} for n in seven}
    values = Store(tmp_path / "store").read("scores", ["part", "value"]).to_pylist()
    headlines = [row["value"] for row in values if row["part"] == "score"]
    assert len(headlines) == 7 * 2 and None not in headlines
    page = (tmp_path / "store" / "report" / "index.html").read_text(encoding="utf-8")
    assert "look-alike" in page and "drawn to resemble the original" in page


@pytest.mark.slow
def test_the_first_teapots_are_taken_on_ray_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only they are drawn; plan, run and report say so, and the store keeps to their number."""
    cache, store = tmp_path / "cache", tmp_path / "store"
    monkeypatch.setenv("TOLSTOY_DATA", str(cache))

    def spec(pictures: int | None) -> Path:
        teapots = {"name": "teapots", "source": "look-alike", "pictures": pictures}
        metrics = {**QUICK["metrics"], "names": ["dci_lasso"]}
        changed = {**QUICK, "metrics": metrics, "data": [teapots]}
        return write_spec(tmp_path / f"{pictures}.yaml", **changed)

    said = "teapots: the first 1,000 of 200,000 pictures"
    done = tolstoy("run", spec(1000), "--store", store)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr.splitlines()
    assert [file.name for file in cache.glob("teapots*")] == [
        "teapots-look-alike-first-1000-1.pixels"
    ]
    (row,) = Store(store).read_json("study.json")["data"]
    assert row == {"name": "teapots", "source": "look-alike", "pictures": 1000}
    assert by_data(store, "models", "status") == {"teapots": {"trained"}}
    for model in Store(store).names("models"):
        identity = Store(store).read_json("models", model, "model.json")
        assert identity["pictures"] == 1000
    for page in ("index.html", "data/teapots-look-alike.html"):
        html = (store / "report" / page).read_text(encoding="utf-8")
        assert "the first 1,000 of 200,000 pictures" in html, page
    for other, found in ((2000, "2000"), (None, "all pictures")):
        refused = tolstoy("run", spec(other), "--store", store)
        assert refused.returncode == 2
        assert f"data teapots, pictures: found {found}; accepted: 1000: " in refused.stderr
    assert len(list(cache.glob("teapots*"))) == 1, "nothing was drawn for what is refused"
    sheet = ["--sheet", tmp_path / "sheet.png"]
    done = tolstoy("data", "export", f"{spec(1000)}:teapots", *sheet)
    assert done.returncode == 0 and len(list(cache.glob("teapots*"))) == 1


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    draws = np.random.default_rng(0)
    for name in range(9):
        noise = draws.integers(0, 256, size=(40, 50, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"{name}.png")
    return folder


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    draws = np.random.default_rng(1)
    factors = draws.integers(0, (3, 2), size=(60, 2))  # not a grid: any table
    images = np.zeros((60, 64, 64, 1), np.uint8)
    for image, (row, bright) in zip(images, factors, strict=True):
        image[20 * row : 20 * row + 20] = 100 + 100 * bright
    np.savez(tmp_path / "bars.npz", images=images, factors=factors, factor_names=["row", "light"])
    return tmp_path / "bars.npz"


@pytest.mark.slow
def test_own_pictures_are_trained_ranked_and_scored_as_far_as_they_can_be(
    tmp_path: Path,
    pictures: Path,
    arrays: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "cache"))
    data = [{"folder": str(pictures)}, {"images": str(arrays), "name": "bars"}]
    names = [*QUICK["metrics"]["names"], "unsupervised"]
    metrics = {**QUICK["metrics"], "names": names}
    spec = write_spec(tmp_path / "own.yaml", **{**QUICK, "metrics": metrics}, data=data)
    store = tmp_path / "store"
    done = tolstoy("run", spec, "--store", store)
    assert done.returncode == 0, done.stderr
    assert by_data(store, "models", "source") == {"pictures": {"user"}, "bars": {"user"}}
    assert by_data(store, "scores", "reason") == {
        "pictures": {"the pictures have no factors", ""},
        "bars": {""},
    }
    rows = Store(store).read("scores", ["data", "metric", "part", "value", "reason"]).to_pylist()
    for data_set in ("pictures", "bars"):
        unsupervised = [r for r in rows if (r["data"], r["metric"]) == (data_set, "unsupervised")]
        assert {"score", "elbo", "kl latent 3"} <= {row["part"] for row in unsupervised}
        assert None not in [row["value"] for row in unsupervised] and {
            r["reason"] for r in unsupervised
        } == {""}
    assert {"row", "light"} <= by_data(store, "scores", "factor")["bars"]
    assert set(by_data(store, "ranks", "udr")) == {"pictures", "bars"}
    page = Page.at(str(store / "report" / "index.html")).html
    assert "the pictures have no factors" in page and "your own data" in page
    for text in ("2 ranked models", "Traversal of the best model on pictures with β-VAE"):
        assert text in page, "what has no labels is ranked and shown"

    before = Store(store).read("models").to_pylist()
    again = tolstoy("run", spec, "--store", store)
    assert again.returncode == 0 and "nothing to train" in again.stderr
    assert Store(store).read("models").to_pylist() == before
    capsys.readouterr()
    assert main(["status", str(store)]) == 0, "reads the store alone"
    assert "pictures-beta_vae-1" in capsys.readouterr().out

    (pictures / "new.png").write_bytes((pictures / "0.png").read_bytes())
    changed = tolstoy("run", spec, "--store", store)
    assert changed.returncode == 2 and "data pictures, content" in changed.stderr
    (pictures / "new.png").write_bytes(b"not a picture")
    broken = tolstoy("run", spec, "--store", tmp_path / "other")
    assert broken.returncode == 2 and "new.png" in broken.stderr
    assert broken.stderr.count("\n") == 1 and not (tmp_path / "other").exists()
