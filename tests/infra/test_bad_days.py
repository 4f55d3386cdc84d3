"""An object store on a bad day: an operation does its work, or says that the store is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from infra import object_store
from infra.files import out_of_reach
from infra.store import Store
from tests.campaign.bucket import HALF, LATE, REFUSED, SILENT, Bucket
from tests.infra.test_store import curve, losses

CONTENT = bytes(range(256)) * 400
OPERATIONS: dict[str, Callable[[Store], object]] = {
    "read": lambda store: store.read_bytes("whole") == CONTENT,
    "write": lambda store: store.write_bytes(CONTENT, "new") is None,
    "exists": lambda store: store.exists("whole") and not store.exists("nowhere"),
    "list": lambda store: "whole" in store.names(),
    "remove": lambda store: store.remove("old") is None,
    "move": lambda store: store.move(("other",), ("moved",)) is None,
    "rows": lambda store: losses(store.read("curves")) == {"a": [1, 2]},
    "part": lambda store: store.write_part("curves", "a", curve("a", [1, 2])) is None,
    "merge": lambda store: store.merge("curves", "cell", ["a"]) is None,
}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(object_store, "ANSWER_SECONDS", 1)
    monkeypatch.setattr(object_store, "ATTEMPTS", 2)
    bucket = Bucket("127.0.0.1", late_seconds=lambda: 0.3)
    yield bucket
    bucket.stop()


@pytest.mark.parametrize(
    "bad_day",
    [REFUSED, HALF, *(pytest.param(day, marks=pytest.mark.slow) for day in (LATE, SILENT))],
)
def test_nothing_wrong_is_read_and_everything_works_again(bucket: Bucket, bad_day: str) -> None:
    store, directly = Store(bucket.uri("x")), Store(bucket.uri("x", through_proxy=False))
    directly.write_part("curves", "a", curve("a", [1, 2]))
    for name, operation in OPERATIONS.items():
        _write(directly)
        bucket.bad_day = bad_day
        try:
            assert operation(store), name
            worked = True
        except OSError as error:
            assert out_of_reach(error) == "the object store does not answer", (name, error)
            worked = False
        bucket.bad_day = ""
        assert worked or bad_day != LATE, name
        _write(directly)
        assert operation(store), name
        assert losses(directly.read("curves")) == {"a": [1, 2]}, name
        assert not directly.exists("damaged"), name


def _write(store: Store) -> None:
    for file in ("whole", "old", "other"):
        store.write_bytes(CONTENT, file)


@pytest.mark.parametrize(
    "call",
    ["CreateMultipartUpload", pytest.param("CompleteMultipartUpload", marks=pytest.mark.slow)],
)
def test_a_write_of_which_one_answer_is_lost(
    call: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server finishes a write twice; the second time it does not know it any more."""
    lost: list[str] = []
    handler = bucket.proxy.RequestHandlerClass
    post = handler.do_POST

    def silent_once(self: object) -> None:
        creates = self.path.endswith("?uploads") or "uploads=" in self.path
        if creates == (call == "CreateMultipartUpload") and not lost:
            lost.append(self.path)
            bucket.bad_day = SILENT
            post(self)
            return
        bucket.bad_day = ""
        post(self)

    monkeypatch.setattr(handler, "do_POST", silent_once)
    store = Store(bucket.uri("x"))
    try:
        store.write_bytes(CONTENT, "new")
    except OSError as error:
        assert out_of_reach(error) == "the object store does not answer", error
        bucket.bad_day = ""
        store.write_bytes(CONTENT, "new")
    assert lost and store.read_bytes("new") == CONTENT
