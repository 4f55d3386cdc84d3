"""A prepared file is whole or absent, whoever dies and however many prepare it."""

import errno
import gc
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from data import dsprites
from data.base import cache as data_cache
from data.base import pixels
from infra.errors import WrongInput

ROOT = Path(__file__).parents[3]


def python(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@pytest.fixture(scope="session")
def good(cache):
    return sha256(cache / dsprites.FILE)


def cut(file: Path) -> None:
    os.truncate(file, 200_000_000)


def cut_by_a_byte(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def flip_a_bit(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(123_456_789)
        byte = opened.read(1)[0]
        opened.seek(123_456_789)
        opened.write(bytes([byte ^ 4]))


def zero_a_page(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(512 * 1024 * 100)
        opened.write(bytes(4096 * 64))


def change_the_checksum(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(-8, os.SEEK_END)
        opened.write(bytes(8))


@pytest.mark.parametrize(
    "damage", [cut, cut_by_a_byte, flip_a_bit, zero_a_page, change_the_checksum]
)
def test_a_damaged_file_is_drawn_again(cache, empty_cache, good, damage):
    empty_cache.mkdir(parents=True)
    file = empty_cache / dsprites.FILE
    shutil.copyfile(cache / dsprites.FILE, file)
    damage(file)
    assert sha256(file) != good
    dsprites.load(empty_cache)
    assert sha256(file) == good


def test_a_whole_file_is_used_as_it_is(cache):
    """No lock file is written: the folder may be one that only its owner can write."""
    lock, before = cache / f"{dsprites.FILE}.lock", (cache / dsprites.FILE).stat()
    dsprites.load(cache, progress=lambda _: pytest.fail("it was drawn again"))
    assert (cache / dsprites.FILE).stat().st_mtime_ns == before.st_mtime_ns
    assert not lock.exists()


def test_a_killed_process_leaves_no_file_that_is_used(empty_cache, good):
    killed = python(
        """if True:
        import os, pathlib, signal, sys
        from data import dsprites
        def die(done):
            if done > 0.5:
                os.kill(os.getpid(), signal.SIGKILL)
        dsprites.load(pathlib.Path(sys.argv[1]), progress=die)
        """,
        empty_cache,
    )
    assert killed.wait(60) == -signal.SIGKILL
    (half,) = empty_cache.glob("*.partial")
    assert 100_000_000 < half.stat().st_size < 377_000_000
    assert not (empty_cache / dsprites.FILE).exists()

    dsprites.load(empty_cache)
    assert sha256(empty_cache / dsprites.FILE) == good
    assert not list(empty_cache.glob("*.partial"))


def test_two_processes_at_once_draw_once_and_see_the_same(empty_cache, packed):
    code = """if True:
        import hashlib, pathlib, sys
        from data import dsprites
        progress = []
        packed = dsprites.load(pathlib.Path(sys.argv[1]), progress=progress.append).packed
        print("drew" if progress else "waited", hashlib.sha256(packed).hexdigest())
        """
    processes = [python(code, empty_cache) for _ in range(2)]
    answers = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(did for did, _ in answers) == ["drew", "waited"]
    assert {seen for _, seen in answers} == {hashlib.sha256(packed).hexdigest()}
    assert not list(empty_cache.glob("*.partial"))


def test_a_failed_writer_leaves_nothing(tmp_path):
    def fail(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data_cache.prepare(tmp_path / "file", Path.exists, fail)
    assert [p.name for p in tmp_path.iterdir()] == []


def test_a_reader_of_the_old_file_keeps_it(tmp_path):
    """Writing into a file that another process has mapped would change or kill that process."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        data_cache.prepare(target, lambda file: False, lambda file: file.write(b"new"))
        assert reader.read() == b"old"
    assert target.read_bytes() == b"new"


def test_only_abandoned_files_of_other_hosts_are_removed(tmp_path):
    abandoned, fresh = tmp_path / "file.gone.partial", tmp_path / "file.busy.partial"
    for partial in (abandoned, fresh):
        partial.write_bytes(b"half")
    long_ago = time.time() - 2 * data_cache.ABANDONED_SECONDS
    os.utime(abandoned, (long_ago, long_ago))
    data_cache.prepare(tmp_path / "file", Path.exists, lambda file: file.write(b"whole"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "file.busy.partial"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "here"))
    assert data_cache.folder() == tmp_path / "here"
    monkeypatch.setenv("TOLSTOY_DATA", "~/there")
    assert data_cache.folder() == Path.home() / "there"
    monkeypatch.setenv("TOLSTOY_DATA", "~nobody-here/there")
    with pytest.raises(WrongInput, match="TOLSTOY_DATA: found '~nobody-here/there'; accepted: a p"):
        data_cache.folder()
    monkeypatch.delenv("TOLSTOY_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_cache.folder().name == "tolstoy"


def test_a_folder_that_cannot_be_created_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WrongInput) as error:
        dsprites.load(tmp_path / "file" / "cache")
    assert "\n" not in str(error.value)
    assert "TOLSTOY_DATA" in str(error.value)
    assert str(tmp_path / "file") in str(error.value)


def test_one_at_a_time_holds_a_lock_whose_file_does_not_stay(tmp_path):
    inside, most = [], []

    def work(_):
        for _ in range(40):
            with data_cache.locked(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0)
                inside.pop()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert most == [1] * 320
    assert not list(tmp_path.iterdir())


def test_what_is_mapped_is_not_removed(tmp_path):
    file = tmp_path / "file"
    block = np.arange(64, dtype=np.uint8).reshape(4, 16)
    array = pixels.prepared(file, (4, 16), lambda: [block])
    part = array[1:]
    del array
    gc.collect()
    assert not data_cache.remove_unused(file) and file.exists()
    assert part.tolist() == block[1:].tolist()
    del part
    gc.collect()
    assert data_cache.remove_unused(file) and not file.exists()
    assert data_cache.remove_unused(file), "it is gone already"


def test_a_file_that_another_process_maps_is_not_removed(tmp_path):
    pixels.prepared(tmp_path / "file", (1, 16), lambda: [np.zeros((1, 16), np.uint8)])
    other = python(
        """if True:
        import pathlib, sys, time
        from data.base import pixels
        array = pixels.mapped(pathlib.Path(sys.argv[1]), (1, 16))
        print("mapped", flush=True)
        time.sleep(60)
        """,
        tmp_path / "file",
    )
    gc.collect()
    assert other.stdout.readline() == "mapped\n"
    assert not data_cache.remove_unused(tmp_path / "file")
    other.kill()
    other.wait()
    assert data_cache.remove_unused(tmp_path / "file")


def test_leftovers_are_of_processes_that_have_ended(tmp_path):
    host = socket.gethostname()
    for name in ("a.lock", f"a.{host}.partial", "b.other.partial", "c.other.partial", "d"):
        (tmp_path / name).touch()
    long_ago = time.time() - 2 * data_cache.ABANDONED_SECONDS
    os.utime(tmp_path / "c.other.partial", (long_ago, long_ago))
    with data_cache.locked(tmp_path / "e.lock"):
        (tmp_path / f"e.{host}.partial").touch()
        names = [path.name for path in data_cache.leftovers(tmp_path)]
    assert names == ["a.lock", f"a.{host}.partial", "c.other.partial"]
    assert f"e.{host}.partial" in {path.name for path in data_cache.leftovers(tmp_path)}


def test_where_locks_do_not_work_nothing_counts_as_left_over(tmp_path, monkeypatch):
    def no_locks(file, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    for name in ("a.lock", f"a.{socket.gethostname()}.partial"):
        (tmp_path / name).touch()
    monkeypatch.setattr(data_cache.fcntl, "flock", no_locks)
    assert data_cache.leftovers(tmp_path) == []
