"""A file is used only if its checksum is right, whatever goes wrong with the download."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from data.base import pixels
from data.official.published import OtherForm, Published, RemoteFile, origin
from data.official.unpack import npz_blocks
from infra.errors import WrongInput
from tests.data.official.publisher import Publisher, publisher

ROOT = Path(__file__).parents[3]
SHAPE = (40, 1, 64, 64)
PICTURES = np.random.default_rng(0).integers(256, size=SHAPE, dtype=np.uint8)

# the same in another process: address, path, checksum, cache
PROCESS = """if True:
    import sys
    from pathlib import Path
    from data.official.published import RemoteFile
    from tests.data.official.test_published import published, {tell}
    url, checksum, cache = sys.argv[1:]
    print("started", flush=True)
    published(RemoteFile("toys.npz", (url,), checksum)).fetch(Path(cache), {tell})
    """


def npz(array=PICTURES) -> bytes:
    file = io.BytesIO()
    np.savez(file, images=array)
    return file.getvalue()


CONTENT = npz()
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


def published(*files: RemoteFile, **others) -> Published:
    def read(paths):
        return npz_blocks(paths[files[0].name], "images", SHAPE, rows=8)

    return Published(files, "toys-1.pixels", SHAPE, read, **others)


def say(what: str, fraction: float) -> None:
    print(what, flush=True)


def die_while_converting(what: str, fraction: float) -> None:
    if what == "converting" and fraction > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with publisher() as own:
        own.files["/toys.npz"] = CONTENT
        yield own


@pytest.fixture
def toys(server: Publisher) -> Published:
    return published(server.remote("toys.npz", "/toys.npz"))


def process(server: Publisher, cache: Path, tell: str = "say", path: str = "/toys.npz"):
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS.format(tell=tell), server.address + path, MD5, str(cache)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def check_whole(toys: Published, cache: Path) -> None:
    """The pictures are there and nothing else is left but locks."""
    assert toys.is_ready(cache)
    assert toys.check(cache)
    assert np.array_equal(toys.pixels(cache, "toys"), PICTURES)
    files = {path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert files == {"toys-1.pixels", "toys-1.pixels.origin.json"}


def refused(act, *names: str) -> str:
    """`act` fails with one line that holds these names."""
    with pytest.raises(WrongInput) as error:
        act()
    line = str(error.value)
    assert "\n" not in line
    for name in names:
        assert name in line
    return line


def check_absent(toys: Published, cache: Path, but: tuple[str, ...] = ()) -> None:
    assert not toys.is_ready(cache)
    assert not toys.check(cache)
    aside = (".lock", ".place")  # beside a whole download: from where it came
    files = {path.name for path in cache.rglob("*") if path.is_file() and path.suffix not in aside}
    assert files == set(but)


def test_fetch_downloads_checks_converts_and_removes_the_download(server, toys, tmp_path):
    steps = []
    refused(lambda: toys.pixels(tmp_path, "toys"), "data toys", "tolstoy data fetch toys")
    assert toys.fetch(tmp_path, lambda *what: steps.append(what)) == tmp_path / "toys-1.pixels"
    check_whole(toys, tmp_path)
    whats = [what for what, _ in steps]
    assert list(dict.fromkeys(whats)) == [
        "downloading toys.npz",
        "checking toys.npz",
        "converting",
    ]
    assert all(0 <= fraction <= 1 for _, fraction in steps)
    assert toys.fetch(tmp_path) == tmp_path / "toys-1.pixels"
    assert server.asked == [("/toys.npz", None)]  # what is ready is not fetched again


def test_look_alikes_are_mentioned_where_there_are_some(toys, tmp_path):
    assert "look-alike" not in refused(lambda: toys.pixels(tmp_path, "toys"))
    other = published(*toys.files, has_look_alike=True)
    refused(lambda: other.pixels(tmp_path, "toys"), "'sources=[redrawn, official, look-alike]'")


@pytest.mark.parametrize("says_length", [True, False])
def test_a_broken_connection_is_resumed(server, toys, tmp_path, says_length):
    server.breaks_after = 70_000
    server.says_length = says_length
    if not says_length:  # then only the size can tell that something is missing
        toys = published(server.remote("toys.npz", "/toys.npz", size=len(CONTENT)))
    refused(lambda: toys.fetch(tmp_path), f"{server.address}/toys.npz", "70000 of", "--from PATH")
    check_absent(toys, tmp_path, but=("toys.npz.partial",))
    server.breaks_after = None
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert server.asked == [("/toys.npz", None), ("/toys.npz", "bytes=70000-")]


@pytest.mark.parametrize("fault", ["knows no ranges", "answers another range"])
def test_a_server_that_cannot_resume_starts_again(server, toys, tmp_path, fault):
    server.breaks_after = 70_000
    refused(lambda: toys.fetch(tmp_path))
    server.breaks_after = None
    server.knows_ranges = fault != "knows no ranges"
    server.wrong_ranges = fault == "answers another range"
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert server.asked[1] == ("/toys.npz", "bytes=70000-")


def test_a_wrong_partial_file_is_dropped_and_all_of_it_fetched(server, toys, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "toys.npz.partial").write_bytes(bytes(50_000))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert [asked for _, asked in server.asked] == ["bytes=50000-", None]


@pytest.mark.parametrize("knows_size", [True, False])
@pytest.mark.parametrize("content", [CONTENT, CONTENT + b"more"])
def test_a_complete_partial_file_is_judged_by_its_checksum(server, tmp_path, knows_size, content):
    """A process may die between the last byte and the new name."""
    size = len(CONTENT) if knows_size else None
    toys = published(server.remote("toys.npz", "/toys.npz", size=size))
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "toys.npz.partial").write_bytes(content)
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    first = [] if knows_size else [("/toys.npz", f"bytes={len(content)}-")]
    assert server.asked == first + [("/toys.npz", None)] * (content != CONTENT)


def test_a_damaged_download_is_fetched_again(server, toys, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "toys.npz").write_bytes(CONTENT[:-1] + b"x")
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_a_wrong_first_mirror_is_skipped(server, tmp_path):
    server.files["/wrong.npz"] = npz(255 - PICTURES)
    toys = published(server.remote("toys.npz", "/wrong.npz", "/toys.npz", checksum=MD5))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert server.asked == [("/wrong.npz", None), ("/toys.npz", None)]


def test_a_broken_first_mirror_is_skipped(server, tmp_path):
    toys = published(server.remote("toys.npz", "/nothing", "/toys.npz", checksum=MD5))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_wrong_mirrors_are_one_line_and_leave_nothing(server, tmp_path):
    server.files["/wrong.npz"] = npz(255 - PICTURES)
    toys = published(server.remote("toys.npz", "/wrong.npz", "/nothing", checksum=MD5))
    refused(lambda: toys.fetch(tmp_path), "/wrong.npz", "checksum", "/nothing", "404", "--from")
    check_absent(toys, tmp_path)
    server.files["/wrong.npz"] = CONTENT
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_a_file_of_another_size_is_not_downloaded(server, tmp_path):
    toys = published(server.remote("toys.npz", "/toys.npz", size=len(CONTENT) - 1))
    refused(lambda: toys.fetch(tmp_path), f"{len(CONTENT)} bytes")
    check_absent(toys, tmp_path)


def test_a_server_that_does_not_answer_is_reported_in_one_line(tmp_path):
    toys = published(RemoteFile("toys.npz", ("http://127.0.0.1:9/toys.npz",), MD5))
    refused(lambda: toys.fetch(tmp_path), "http://127.0.0.1:9/toys.npz", "refused", "--from PATH")
    check_absent(toys, tmp_path)


def test_a_download_that_stalls_times_out(server, toys, tmp_path, monkeypatch):
    monkeypatch.setattr("data.official.download.TIMEOUT_SECONDS", 0.2)
    server.breaks_after, server.stalls = 70_000, threading.Event()
    refused(lambda: toys.fetch(tmp_path), "/toys.npz", "timed out")
    check_absent(toys, tmp_path, but=("toys.npz.partial",))


def test_redirections_lead_to_the_web_only(server, tmp_path):
    server.redirects = {"/moved": "/toys.npz", "/file": (ROOT / "README.md").as_uri()}
    server.redirects["/ftp"] = "ftp://127.0.0.1/toys.npz"
    for path, why in (("/file", "not allowed"), ("/ftp", "unknown url type: ftp")):
        toys = published(server.remote("toys.npz", path, checksum=MD5))
        refused(lambda: toys.fetch(tmp_path), path, why)  # noqa: B023
        check_absent(toys, tmp_path)
    toys = published(RemoteFile("toys.npz", ((ROOT / "README.md").as_uri(),), MD5))
    refused(lambda: toys.fetch(tmp_path), "README.md", "unknown url type: file")
    toys = published(server.remote("toys.npz", "/moved", checksum=MD5))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_two_processes_at_once_download_once(server, toys, tmp_path):
    server.waits = threading.Event()
    processes = [process(server, tmp_path) for _ in range(2)]
    assert [each.stdout.readline() for each in processes] == ["started\n"] * 2
    time.sleep(0.2)  # the one that waits would ask now
    server.waits.set()
    outputs = [each.communicate(timeout=60)[0] for each in processes]
    assert [each.returncode for each in processes] == [0, 0]
    check_whole(toys, tmp_path)
    assert server.asked == [("/toys.npz", None)]
    assert sorted("converting" in each for each in outputs) == [False, True]


def test_a_process_killed_while_it_downloads_is_resumed(server, toys, tmp_path):
    server.breaks_after, server.stalls = 100_000, threading.Event()
    killed = process(server, tmp_path)
    partial_ = tmp_path / "downloads" / "toys.npz.partial"
    deadline = time.monotonic() + 30
    while not (partial_.exists() and partial_.stat().st_size == 100_000):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.kill()
    assert killed.wait(10) == -signal.SIGKILL
    server.stalls.set()
    check_absent(toys, tmp_path, but=("toys.npz.partial",))
    server.breaks_after = server.stalls = None
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert server.asked[1:] == [("/toys.npz", "bytes=100000-")]


def test_a_process_killed_while_it_converts_needs_no_second_download(server, toys, tmp_path):
    assert process(server, tmp_path, "die_while_converting").wait(60) == -signal.SIGKILL
    assert not toys.is_ready(tmp_path)
    assert list(tmp_path.glob("toys-1.pixels.*.partial"))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert len(server.asked) == 1


@pytest.mark.parametrize("size_checked_when_opened", [2**30, 0])
def test_a_damaged_ready_file_is_made_again(toys, tmp_path, monkeypatch, size_checked_when_opened):
    monkeypatch.setattr(pixels, "CHECKED_WHEN_OPENED", size_checked_when_opened)
    target = toys.fetch(tmp_path)
    with target.open("r+b") as opened:
        opened.write(bytes([255 - PICTURES.flat[0]]))
    assert toys.is_ready(tmp_path) == (size_checked_when_opened == 0)
    assert not toys.check(tmp_path)
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_without_a_checksum_the_reader_judges(server, tmp_path):
    server.files["/toys.npz"] = b"a page of somebody else"
    url = f"{server.address}/toys.npz"
    toys = published(RemoteFile("toys.npz", (url,), checksum=""))
    refused(lambda: toys.fetch(tmp_path), "toys.npz")
    check_absent(toys, tmp_path)
    server.files["/toys.npz"] = CONTENT
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)


def test_take_accepts_a_file_of_any_name_and_leaves_it(server, toys, tmp_path):
    mine = tmp_path / "renamed.bin"
    mine.write_bytes(CONTENT)
    toys.take(mine, tmp_path / "cache")
    check_whole(toys, tmp_path / "cache")
    assert mine.read_bytes() == CONTENT
    assert not server.asked


def test_take_finds_the_good_copy_in_a_folder(toys, tmp_path):
    deep, mine = tmp_path / "mine" / "b" / "c", tmp_path / "mine"
    deep.mkdir(parents=True)
    for link in ("a", "z"):
        (mine / link).symlink_to(mine)  # an endless tree for whoever follows it
    (mine / "toys.npz").symlink_to(tmp_path / "nowhere")
    refused(lambda: toys.take(mine, tmp_path / "cache"), str(mine), "toys.npz")
    (mine / "b" / "toys.npz").write_bytes(CONTENT[:-1])
    refused(lambda: toys.take(mine, tmp_path / "cache"), "b/toys.npz", "checksum", MD5)
    check_absent(toys, tmp_path / "cache")
    (deep / "toys.npz").write_bytes(CONTENT)
    toys.take(mine, tmp_path / "cache")
    check_whole(toys, tmp_path / "cache")


def test_a_path_that_is_not_there_is_one_line(toys, tmp_path):
    refused(lambda: toys.take(tmp_path / "no", tmp_path), str(tmp_path / "no"), "nothing there")


def test_take_accepts_other_forms(toys, tmp_path):
    def find(path):
        return path if path.suffix == ".npy" else None

    form = OtherForm("a .npy", find, lambda path: iter([np.load(path)]))
    other = published(*toys.files, other_forms=(form,))
    refused(lambda: other.take(tmp_path, tmp_path / "cache"), "toys.npz; or a .npy")
    np.save(tmp_path / "toys.npy", PICTURES)
    other.take(tmp_path / "toys.npy", tmp_path / "cache")
    check_whole(other, tmp_path / "cache")


def test_several_files_are_all_needed(server, tmp_path):
    server.files["/labels"] = b"labels"
    toys = published(
        server.remote("toys.npz", "/toys.npz"), server.remote("labels.txt", "/nothing")
    )
    refused(lambda: toys.fetch(tmp_path), "/nothing")
    check_absent(toys, tmp_path, but=("toys.npz",))  # kept for the next try
    toys = published(toys.files[0], server.remote("labels.txt", "/labels"))
    toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert [path for path, _ in server.asked] == ["/toys.npz", "/nothing", "/labels"]


FULL_DISK = """if True:
    import resource, sys
    from pathlib import Path
    from infra.errors import WrongInput
    from data.official.published import RemoteFile
    from tests.data.official.test_published import published
    url, checksum, cache, mine = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    toys = published(RemoteFile("toys.npz", (url,), checksum))
    for act in (lambda: toys.take(Path(mine), Path(cache)), lambda: toys.fetch(Path(cache))):
        try:
            act()
        except WrongInput as error:
            print(error)
    """


def test_a_full_disk_is_one_line_and_leaves_no_file_that_is_used(server, toys, tmp_path):
    mine, cache = tmp_path / "toys.npz", tmp_path / "cache"
    mine.write_bytes(CONTENT)
    arguments = [toys.files[0].urls[0], MD5, str(cache), str(mine)]
    lines = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(lines) == 2
    assert all("TOLSTOY_DATA" in line and "too large" in line for line in lines)
    check_absent(toys, cache, but=("toys.npz.partial",))
    toys.fetch(cache)
    check_whole(toys, cache)


def test_a_wrong_file_with_the_right_checksum_leaves_nothing(server, tmp_path):
    """The error of the reader names the file, and the next good file is read."""
    server.files["/bad.npz"] = npz(PICTURES.astype(np.int16))
    bad = published(server.remote("toys.npz", "/bad.npz"))
    refused(lambda: bad.fetch(tmp_path), "toys.npz", "int16")
    check_absent(bad, tmp_path, but=("toys.npz",))
    good = published(server.remote("toys.npz", "/toys.npz"))
    good.fetch(tmp_path)
    check_whole(good, tmp_path)


# several places -----------------------------------------------------------------------------


def origin_of(cache: Path) -> dict:
    (facts,) = origin(cache / "toys-1.pixels")
    return facts


@pytest.mark.parametrize("fault", ["dead", "404", "wrong checksum", "half a body", "silent"])
def test_after_any_fault_of_the_first_place_the_second_is_used(
    server, tmp_path, monkeypatch, fault
):
    monkeypatch.setattr("data.official.download.TIMEOUT_SECONDS", 0.3)
    with publisher() as first:
        first.files["/toys.npz"] = npz(255 - PICTURES) if fault == "wrong checksum" else CONTENT
        if fault == "404":
            first.files.clear()
        if fault in ("half a body", "silent"):
            first.breaks_after = 70_000
        if fault == "silent":
            first.stalls = threading.Event()
        place = "http://127.0.0.1:9" if fault == "dead" else first.address
        toys = published(
            RemoteFile("toys.npz", (f"{place}/toys.npz", f"{server.address}/toys.npz"), MD5)
        )
        toys.fetch(tmp_path)
    check_whole(toys, tmp_path)
    assert origin_of(tmp_path) == {
        "file": "toys.npz",
        "place": f"{server.address}/toys.npz",
        "checksum": MD5,
        "published": True,
    }
    resumed = "bytes=70000-" if fault in ("half a body", "silent") else None
    assert server.asked == [("/toys.npz", resumed)], "what the first place gave is kept"


def test_if_all_places_fail_each_reason_is_said_and_what_to_do(server, tmp_path):
    server.files["/wrong.npz"] = npz(255 - PICTURES)
    toys = published(server.remote("toys.npz", "/wrong.npz", "/gone", "/lost", checksum=MD5))
    line = refused(lambda: toys.fetch(tmp_path, name="toys"))
    assert f"{server.address}/wrong.npz: a wrong checksum (not {MD5}); " in line
    assert f"{server.address}/gone: HTTP Error 404" in line
    assert f"{server.address}/lost: HTTP Error 404" in line
    assert f"get toys.npz ({MD5}) from wherever you can" in line
    assert line.endswith("tolstoy data fetch toys --from PATH")


def zeros(path: Path) -> None:
    for block in npz_blocks(path, "images", SHAPE):
        if block.any():
            raise WrongInput(str(path), "pictures that are not black", "black ones")


def test_a_newer_file_is_taken_for_its_content_and_its_pictures_count_as_others(server, tmp_path):
    black = npz(np.zeros_like(PICTURES))
    server.files |= {"/bright.npz": npz(255 - PICTURES), "/cut.npz": black[:-900], "/b.npz": black}
    urls = tuple(f"{server.address}/{name}.npz" for name in ("bright", "cut", "b"))
    toys = published(RemoteFile("toys.npz", urls, MD5, check=zeros))
    toys.fetch(tmp_path)
    assert not toys.pixels(tmp_path, "toys").any()
    digest = f"md5:{hashlib.md5(black).hexdigest()}"
    assert origin_of(tmp_path) == {
        "file": "toys.npz",
        "place": urls[2],
        "checksum": digest,
        "published": False,
    }
    assert toys.content(tmp_path) == pixels.checksum(tmp_path / "toys-1.pixels")
    assert not list(tmp_path.rglob("toys.npz*")), "nothing of the downloads stays"
    (tmp_path / "mine.npz").write_bytes(CONTENT)
    toys.take(tmp_path / "mine.npz", tmp_path / "other")
    assert origin_of(tmp_path / "other")["place"] == str(tmp_path / "mine.npz")
    assert toys.content(tmp_path / "other") == "", "the file that was first published"
    refused(
        lambda: published(RemoteFile("toys.npz", urls[:2], MD5, check=zeros)).fetch(tmp_path / "n"),
        "/bright.npz: a wrong checksum",
        "other content (pictures that are not black)",
        "/cut.npz: ",
    )


def test_parts_of_copies_with_other_bytes_are_not_put_together(server, tmp_path):
    """Half of the file comes from one place, and then that place is gone."""
    black = npz(np.zeros_like(PICTURES))
    with publisher() as first:
        first.files["/a.npz"], first.breaks_after = CONTENT, 70_000
        server.files["/b.npz"] = black
        urls = (f"{first.address}/a.npz", f"{server.address}/b.npz")
        published(RemoteFile("toys.npz", urls, "md5:0", check=zeros)).fetch(tmp_path)
    assert server.asked == [("/b.npz", None)], "from its beginning"
    assert not list(tmp_path.rglob("*.partial*"))


def test_from_where_a_download_came_is_known_after_a_crash(server, toys, tmp_path):
    assert process(server, tmp_path, "die_while_converting").wait(60) == -signal.SIGKILL
    toys.fetch(tmp_path)
    assert origin_of(tmp_path)["place"] == f"{server.address}/toys.npz"
