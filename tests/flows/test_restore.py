"""The commands of "Backup and restore" in docs/running.md, run as they are written there.

The models are made up, so that this takes seconds: `tolstoy run` is what runs such a study.
"""

from __future__ import annotations

import pickletools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli import main
from infra.store import Store
from tasks.study.reading import parse_study
from tasks.study.stored import stored_study
from tests.flows.made_up_study import contents, made_up_models, run, study
from tests.infra.failing_storage import ALL, Ended, Kind, failing_storage
from tests.infra.s3_server import environment, s3_server
from tests.tree import ROOT

HALF = 200  # of about 400 calls to the storage
SECTION = re.compile(r"^## Backup and restore$(.*?)^## ", re.M | re.S)


def blocks() -> list[str]:
    (section,) = SECTION.findall((ROOT / "docs" / "running.md").read_text(encoding="utf-8"))
    return re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with s3_server() as address:
        for name, value in environment(address).items():
            monkeypatch.setenv(name, value)
        yield


def half_finished(folder: Path) -> dict[str, list[str]]:
    """Make `studies/mini`, whose run was killed; returns the tables of an undisturbed study."""
    with failing_storage(folder) as storage:
        whole, half = folder / "stores" / "whole", folder / "stores" / "mini"
        assert run(study(10), str(whole)) == []
        wanted = contents(whole)
        storage.arm(Kind(ALL, None), HALF)
        with pytest.raises(Ended):
            run(study(10), str(half))
        storage.arm()
        (folder / "studies").mkdir()
        half.rename(folder / "studies" / "mini")
    return wanted


def do(line: str) -> None:
    words = shlex.split(line)
    if words[:2] == ["tolstoy", "run"]:
        spec, option, store = words[2:]
        assert option == "--store" and spec == f"{store}/study.json"
        assert parse_study(Store(store).read_json("study.json")) == stored_study(Store(store))
        assert run(stored_study(Store(store)), store) == []
    elif words[0] == "tolstoy":
        assert main(words[1:]) == 0
    elif words[0] == ".venv/bin/python":
        subprocess.run([sys.executable, *words[1:]], check=True)
    else:
        subprocess.run(words, check=True)


@pytest.mark.parametrize("way", ["tar", "copy_files"])
def test_a_half_finished_study_is_restored_elsewhere(
    way: str,
    bucket: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (block,) = (text for text in blocks() if way in text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("infra.drivers.liveness.MISSED_HEARTBEATS", 0.01)  # or it takes 30 s
    with made_up_models() as trained:
        wanted = half_finished(tmp_path)
        before = {path: path.read_bytes() for path in files(Path("studies/mini"))}
        unfinished = len(Store("studies/mini").read("models")) < len(wanted["models"])
        assert before and unfinished, "else nothing is resumed"
        trained.clear()
        for line in block.splitlines():
            do(line)
    assert trained, "what was left was trained elsewhere"
    assert contents("restored/mini") == wanted
    assert {path: path.read_bytes() for path in files(Path("studies/mini"))} == before
    printed = capsys.readouterr().out
    assert "restored/mini/report/index.html" in printed
    assert (tmp_path / "restored" / "mini" / "report" / "index.html").exists()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def is_pickle(content: bytes) -> bool:
    try:
        return sum(1 for _ in pickletools.genops(content)) > 1
    except Exception:  # as many as there are ways to be no pickle
        return False


def test_nothing_in_a_store_is_bound_to_a_version_of_python(tmp_path: Path) -> None:
    with made_up_models():
        half_finished(tmp_path)
    kinds = {path.suffix or path.name for path in files(tmp_path / "stores")}
    assert {".parquet", ".safetensors", ".json", ".txt"} <= kinds
    assert not [path for path in files(tmp_path / "stores") if is_pickle(path.read_bytes())]
    rows = Store(tmp_path / "stores" / "whole").read("models", ["versions"]).to_pylist()
    assert all('"python"' in row["versions"] for row in rows)
