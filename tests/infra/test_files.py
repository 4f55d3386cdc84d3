"""Files of a store are whole and flushed, a name is given once, and wrong places are refused."""

import errno
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pyarrow as pa
import pytest

from infra.drivers.claims import LOCK
from infra.errors import WrongInput
from infra.files import out_of_reach, refusal
from infra.store import Store
from tests.infra.test_store import ROOT, curve, file_of, losses


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


def link(store: Store, claim: tuple[str, str], number: int) -> bool:
    return store.link_exclusively(("claims", f"by-{number}"), claim, LOCK)


@pytest.mark.parametrize("links", [True, False])
def test_of_many_writers_of_a_name_one_succeeds(store, monkeypatch, links):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    for i in range(8):
        store.write_bytes(b"%d" % i, "claims", f"by-{i}")
    with ThreadPoolExecutor(8) as pool:
        for name in map(str, range(20)):
            claim = ("claims", name)
            got_it = list(pool.map(partial(link, store, claim), range(8)))
            assert sum(got_it) == 1
            assert store.read_bytes(*claim) == b"%d" % got_it.index(True)
    assert len(store.names("claims")) == 28
    assert not list(Path(store.root).rglob("*.tmp"))


def test_a_name_that_could_not_be_written_is_free_again(store, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    store.write_bytes(b"me", "claims", "by-me")
    monkeypatch.setattr(os, "link", no_links)
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            store.link_exclusively(("claims", "by-me"), ("claims", "x"), LOCK)
    assert store.link_exclusively(("claims", "by-me"), ("claims", "x"), LOCK)


def test_a_file_that_is_not_there_gets_no_more_names(store):
    with pytest.raises(FileNotFoundError):
        store.link_exclusively(("claims", "by-nobody"), ("claims", "x"), LOCK)


@pytest.mark.parametrize("lasting", [True, False])
def test_a_lasting_file_is_on_the_disk_before_it_has_its_name(store, monkeypatch, lasting):
    flushed = []

    def fsync(number):
        flushed.append(str(Path(f"/proc/self/fd/{number}").readlink()))

    monkeypatch.setattr(os, "fsync", fsync)
    store.write_bytes(b"x", "models", "m", "weights", lasting=lasting)
    assert [file.endswith(".tmp") for file in flushed] == [True] * lasting


def test_files_and_listing(store):
    store.write_bytes(b"\0weights", "models", "m1", "weights")
    store.write_json({"seed": 3, "name": "β"}, "models", "m1", "model.json")
    assert store.read_bytes("models", "m1", "weights") == b"\0weights"
    assert store.read_json("models", "m1", "model.json") == {"seed": 3, "name": "β"}
    assert json.loads((Path(store.root) / "models/m1/model.json").read_bytes())["seed"] == 3
    assert store.names("models", "m1") == ["model.json", "weights"]
    assert store.names("models") == ["m1"] and store.names("nowhere") == []
    assert store.exists("models", "m1") and not store.exists("models", "m2")
    (name, changed), _ = store.listing("models", "m1")
    assert name == "model.json" and abs(changed / 1e9 - time.time()) < 60
    store.remove("models", "m1", "weights")
    store.remove("models", "m1", "weights")  # twice is as good as once
    assert store.names("models", "m1") == ["model.json"]


def test_hidden_files_are_not_listed(store):
    store.write_part("curves", "a", curve("a", [1]))
    file_of(store, "curves", ".b.parquet.123.tmp").write_bytes(b"half")
    assert store.parts("curves") == ["a"]
    assert losses(store.read("curves")) == {"a": [1]}


FULL = """
import resource, signal, sys
from infra.store import Store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that what is too large is an error, as if full
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    Store(sys.argv[1]).write_bytes(bytes(5000), "models", "m1", "weights")
except OSError:
    print("full")
"""


def test_a_write_to_a_full_disk_leaves_no_partial_file(store, tmp_path):
    command = [sys.executable, "-c", FULL, store.root]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "full\n"
    file_of(store, "curves", "a").mkdir(parents=True)  # where no file can be put
    with pytest.raises(OSError):
        store.write_part("curves", "a", curve("a", [1]))
    assert not [path for path in Path(store.root).rglob("*") if path.is_file()]


def test_a_file_uri_works_as_its_path_does(tmp_path):
    place = tmp_path / "a study"
    by_uri, by_path = Store(f"file://{place}".replace(" ", "%20")), Store(place)
    by_uri.prepare()
    by_uri.write_part("curves", "a", curve("a", [1]))
    by_path.write_part("curves", "b", curve("b", [2]))
    for store in (by_uri, by_path):
        assert losses(store.read("curves")) == {"a": [1], "b": [2]}
    assert [p.name for p in tmp_path.iterdir()] == ["a study"]


def test_a_relative_store_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store("here")
    store.write_json(1, "one.json")
    assert str(store) == "here"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.read_json("one.json") == 1
    assert str(store) == str(tmp_path / "here")


@pytest.mark.parametrize("uri", ["nonsense://x", "file://relative"])
def test_a_wrong_uri_is_wrong_input(uri):
    with pytest.raises(WrongInput, match="store") as raised:
        Store(uri)
    assert "\n" not in str(raised.value) and uri in str(raised.value)


def test_preparing_creates_the_folder_and_leaves_it_empty(tmp_path):
    store = Store(tmp_path / "a" / "b")
    store.prepare()
    store.prepare()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WrongInput) as raised:
        Store(tmp_path / "file" / "store").prepare()
    message = str(raised.value)
    assert "\n" not in message and message.startswith("store: ")
    assert str(tmp_path / "file" / "store") in message and "Not a directory" in message


def test_workers_elsewhere_find_a_store_that_was_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Store("studies/mine")
    assert place.uri == str(tmp_path / "studies/mine")
    assert str(place) == "studies/mine", "people see what they typed"


def test_a_full_disk_is_found_before_anything_begins(store, monkeypatch):
    """Such a disk accepts an empty file, and none with content."""

    def write(data):
        if data:
            raise OSError(errno.ENOSPC, "No space left on device")

    @contextmanager
    def full(_):
        yield SimpleNamespace(write=write)

    fs = Mock(wraps=store.fs, open_output_stream=full, delete_file=lambda _: None)
    monkeypatch.setattr(store, "fs", fs)
    with pytest.raises(WrongInput, match="No space left on device"):
        store.prepare()


def test_a_store_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(WrongInput, match=r"store: found .*notes.txt, a file; accepted: a folder"):
        Store(tmp_path / "notes.txt")


def test_a_store_may_be_in_somebodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store("~/x").root == str(tmp_path / "x")
    assert Store("./~").root == str(Path.cwd() / "~")
    with pytest.raises(WrongInput, match="store: found '~nobody-here/x'; accepted: a path; ~NAME"):
        Store("~nobody-here/x")


def test_a_folder_that_somebody_removes_while_a_file_is_written_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    named, removed = Store._temporary, []

    def then_removed(self: Store, final: str) -> str:
        temporary = named(self, final)
        if not removed:
            removed.append(Path(final).parent)
            Path(final).parent.rmdir()
        return temporary

    monkeypatch.setattr(Store, "_temporary", then_removed)
    store.write_bytes(b"1", "models", "a", "log.txt")
    assert removed and store.read_bytes("models", "a", "log.txt") == b"1"


@pytest.mark.parametrize("number", [errno.EIO, errno.ETIMEDOUT, errno.ENOTCONN, errno.ESTALE])
def test_a_drive_that_does_not_answer_is_a_line_and_no_traceback(number: int) -> None:
    message = str(refusal(OSError(number, os.strerror(number), "/studies/a")))
    assert message.startswith(f"store: found /studies/a: {os.strerror(number)}; accepted: ")
    assert refusal(OSError(errno.ENOENT, "no such file")) is None
    assert refusal(ValueError("a mistake of ours")) is None


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "/studies/a"),
        PermissionError(errno.EACCES, "Failed stat()ing '/studies/a'. Detail: denied"),  # pyarrow
    ],
)
def test_a_file_without_permission_is_a_line_that_names_it(error: PermissionError) -> None:
    line = (
        "place: found /studies/a: Permission denied; accepted: a place that you may read and write"
    )
    assert str(refusal(error)) == line
    not_permitted = PermissionError(errno.EPERM, "", "/studies/a")
    assert "/studies/a: Operation not permitted" in str(refusal(not_permitted))
    assert not out_of_reach(error), "it is not waited for"


def test_the_reason_of_a_uri_that_cannot_be_used_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(uri: str) -> None:
        raise pa.ArrowException("no library\n" + 1000 * "looked there\n" + uri)

    monkeypatch.setattr("infra.files.pafs.FileSystem", SimpleNamespace(from_uri=refused))
    with pytest.raises(WrongInput, match=r"a folder or a URI \(no library\)$"):
        Store("hdfs://h/p")
    message = str(refusal(pa.ArrowException(500 * "a" + "\nmore")))
    assert message.startswith("store: found 'aaa") and len(message) < 300


def test_files_of_killed_writers_are_removed_when_nobody_can_be_writing_them(store):
    store.prepare()
    for folder in ("", "drivers", "claims", "tables/models"):
        place = Path(store.root) / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, age in (("old", 2 * 3600), ("new", 60)):
            file = place / f".{name}.tmp"
            file.touch()
            os.utime(file, (time.time() - age,) * 2)
    store.prepare()
    left = sorted(str(file.relative_to(store.root)) for file in Path(store.root).rglob("*.tmp"))
    assert left == [".new.tmp", "claims/.new.tmp", "drivers/.new.tmp", "tables/models/.new.tmp"]
