"""The store on a real S3 server: what it does in a folder, and what can go wrong there."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from flows.cli import main
from infra.drivers import claims
from infra.drivers.liveness import DRIVERS
from infra.drivers.lock import driver_lock
from infra.errors import WrongInput
from infra.files import out_of_reach
from infra.object_store import ACCEPTED
from infra.store import Store
from tasks.checkpoints import Checkpoints
from tasks.log import Log
from tests.infra.s3_server import BUCKET, ask, environment, s3_server
from tests.infra.test_store import curve, losses

numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture(autouse=True)
def _endpoint(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def store() -> Store:
    return Store(f"s3://{BUCKET}/{next(numbers)}")


def objects(server: str, store: Store) -> list[str]:
    """What the server has below the store, as another client sees it."""
    answer = ask(f"{server}/{BUCKET}?list-type=2&prefix={store.root.partition('/')[2]}/", "GET")
    return [key.partition("</Key>")[0] for key in answer.decode().split("<Key>")[1:]]


def test_files_and_listing(store):
    store.prepare()
    assert store.names() == [] and store.names("nowhere") == []
    store.write_bytes(b"\0weights", "models", "m1", "weights")
    store.write_json({"seed": 3, "name": "β"}, "models", "m1", "model.json")
    assert store.read_bytes("models", "m1", "weights") == b"\0weights"
    assert store.read_json("models", "m1", "model.json") == {"seed": 3, "name": "β"}
    assert store.names("models", "m1") == ["model.json", "weights"]
    assert store.names("models") == ["m1"] and store.names() == ["models"]
    assert store.exists("models", "m1") and not store.exists("models", "m2")
    (name, changed), _ = store.listing("models", "m1")
    assert name == "model.json" and abs(changed / 1e9 - time.time()) < 60
    store.move(("models", "m1", "weights"), ("models", "m1", "older"))
    assert store.names("models", "m1") == ["model.json", "older"]
    for _ in range(2):  # twice is as good as once
        store.remove("models", "m1", "older")
    assert store.names("models", "m1") == ["model.json"]
    with pytest.raises(FileNotFoundError):
        store.read_bytes("models", "m1", "older")
    store.remove_temporary("models", "m1")


def test_nothing_but_whole_objects_is_written(store, server):
    store.prepare()
    store.write_part("curves", "a", curve("a", [1, 2]))
    store.write_json(1, "one.json")
    whole = [name for name in objects(server, store) if not name.endswith("/")]
    assert [name.rpartition("/")[2] for name in whole] == ["one.json", "a.parquet"]


def test_parts_merging_and_dropping(store):
    store.prepare()
    for name in "abc":
        store.write_part("curves", name, curve(name, [1]), made_from=name)
    assert store.part_made_from("curves", "b") == "b"
    store.merge("curves", "cell", "ab")
    assert store.parts("curves") == ["c", "cell-cell"]
    store.write_part("curves", "a", curve("a", [5, 6]))
    assert losses(store.read("curves")) == {"a": [5, 6], "b": [1], "c": [1]}
    assert losses(store.rows_of("curves", "b", "cell")) == {"b": [1]}
    store.drop("curves", "cell", {"a"})
    assert losses(store.read("curves")) == {"b": [1], "c": [1]}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table at all" * 50])
def test_a_damaged_part_counts_as_absent(store, content):
    store.write_part("curves", "a", curve("a", [1]))
    store.write_part("curves", "b", curve("b", [2]))
    store.write_bytes(content, "tables", "curves", "a.parquet")
    assert losses(store.read("curves")) == {"b": [2]}


def test_two_writers_of_one_part_leave_one_of_the_two(store):
    def write(value: int) -> None:
        for _ in range(5):
            store.write_part("curves", "a", curve("a", [value] * 5000))

    both = [threading.Thread(target=write, args=(value,)) for value in (1, 2)]
    for thread in both:
        thread.start()
    while any(thread.is_alive() for thread in both):
        by_model = losses(store.read("curves"))
        assert by_model in ({}, {"a": [1.0] * 5000}, {"a": [2.0] * 5000})
    assert losses(store.read("curves")) in ({"a": [1.0] * 5000}, {"a": [2.0] * 5000})


def test_checkpoints_and_logs(store):
    checkpoints = Checkpoints(store, "m")
    for content in (b"1", b"2", b"3"):
        checkpoints.save(content)
    assert list(Checkpoints(store, "m").whole()) == [b"3", b"2"]
    checkpoints.remove()
    assert list(checkpoints.whole()) == []
    log = Log(store, "models", "m")
    log.add("one")
    log.add("two")
    assert len(store.read_bytes("models", "m", "log.txt").splitlines()) == 2


def test_one_driver_works_on_it_and_others_join(store):
    store.prepare()
    with driver_lock(store, say=pytest.fail, beat_seconds=0.5) as first:
        with pytest.raises(WrongInput, match="held by"), driver_lock(store, say=pytest.fail):
            pass
        with driver_lock(store, join=True, beat_seconds=0.5, say=lambda text: None) as second:
            assert first.claim("models-a") and not second.claim("models-a")
            first.release("models-a")
            assert second.claim("models-a") and not first.claim("models-a")
        assert first.claim("models-a")
    assert store.names(DRIVERS) == store.names(claims.CLAIMS) == []


def test_the_endpoint_may_be_part_of_the_uri(server, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    place = server.removeprefix("http://")
    store = Store(f"s3://{BUCKET}/by-uri?scheme=http&endpoint_override={place}")
    store.write_json(1, "one.json")
    assert store.read_json("one.json") == 1
    assert store.address("report", "index.html") == f"s3://{BUCKET}/by-uri/report/index.html"


def test_a_key_in_a_uri_is_not_shown():
    store = Store(f"s3://an-id:very-secret@{BUCKET}/x")
    assert str(store) == f"s3://{BUCKET}/x" and "secret" not in store.address("report")
    with pytest.raises(WrongInput) as raised:
        Store(f"s3://an-id:very-secret@{BUCKET}/x?nonsense=1")
    assert "secret" not in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(WrongInput) as raised:
        Store(f"s3://an-id:very/secret@{BUCKET}/x?nonsense=1")
    assert "secret" not in str(raised.value)
    assert str(Store(f"s3://{BUCKET}/a@b:c")) == f"s3://{BUCKET}/a@b:c"


# what can go wrong ---------------------------------------------------------------------------


def refused(store: Store) -> str:
    with pytest.raises(WrongInput) as raised:
        store.prepare()
    message = str(raised.value)
    assert (
        "\n" not in message and message.startswith("store: ") and f"accepted: {ACCEPTED}" in message
    )
    return message


@pytest.mark.parametrize("command", ["run smoke --store", "status", "plan smoke --store", "rank"])
def test_commands_say_in_a_line_that_a_store_is_out_of_reach(monkeypatch, capsys, command):
    monkeypatch.setattr("infra.object_store.ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert main([*command.split(), "s3://studies/x"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("tolstoy: store: ") and "Could not connect" in message
    assert len(message.splitlines()) == 1


def test_a_uri_without_a_bucket_is_refused():
    with pytest.raises(WrongInput, match="no bucket"):
        Store("s3://")


def test_a_missing_bucket_is_one_line():
    store = Store("s3://nowhere/x")
    assert "bucket" in refused(store).lower()
    assert store.names() == [] and not store.exists("study.json")


@pytest.mark.timeout(60)  # pyarrow alone would try for minutes
def test_an_endpoint_without_a_server_is_given_up_soon(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert "NETWORK_CONNECTION" in refused(Store("s3://studies/x"))


def test_an_unknown_key_is_one_line(store, server):
    ask(f"{server}/moto-api/reset-auth", "POST", b"0")  # from now on keys are checked
    try:
        assert "ACCESS_DENIED" in refused(store)
    finally:
        ask(f"{server}/moto-api/reset-auth", "POST", b"1000000000")


def test_a_store_that_is_out_of_reach_for_now_is_waited_for(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(OSError) as raised:
        Store("s3://studies/x").write_json(1, "one.json")
    assert out_of_reach(raised.value) == "the object store does not answer"
    assert out_of_reach(OSError("AWS Error ACCESS_DENIED during PutObject")) == ""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_endpoint_that_never_answers_is_given_up_within_two_minutes(monkeypatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        port: Any = silent.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        refused(Store("s3://studies/x"))
