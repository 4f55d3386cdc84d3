"""A database of Prefect has one `tolstoy serve`, and a dead one does not count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, temporary_settings

from infra.errors import WrongInput
from infra.server_lock import database_file, only_server

HOLDS = """
import sys
from pathlib import Path
from infra.server_lock import only_server
with only_server(Path(sys.argv[1]), "http://127.0.0.1:4200 of me@here pid 7"):
    print("has it", flush=True)
    input()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "prefect" / "prefect.db"


def test_a_second_server_reads_where_the_first_one_is(database: Path) -> None:
    with only_server(database, "http://127.0.0.1:4200 of me@here pid 7"):
        with pytest.raises(WrongInput) as refused, only_server(database, "the second"):
            pass
        message = str(refused.value)
        assert "found another server, http://127.0.0.1:4200 of me@here pid 7;" in message
        assert str(database) in message and "PREFECT_HOME" in message
        with only_server(database.with_name("other.db"), "with another database"):
            pass
    with only_server(database, "the next"):
        pass


def test_a_server_that_was_killed_does_not_count(database: Path) -> None:
    arguments = [sys.executable, "-c", HOLDS, str(database)]
    first = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout and first.stdout.readline() == b"has it\n"
    with pytest.raises(WrongInput, match="pid 7"), only_server(database, "the second"):
        pass
    first.kill()
    first.communicate()
    with only_server(database, "the second"):
        pass


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite+aiosqlite:////somewhere/p.db", "/somewhere/p.db"),
        ("sqlite+aiosqlite:////somewhere/p.db?timeout=60", "/somewhere/p.db"),
        ("sqlite+aiosqlite:///:memory:", None),
        ("sqlite+aiosqlite:///file::memory:?cache=shared&uri=true", None),
        ("postgresql+asyncpg://u:p@host/prefect", None),
    ],
)
def test_where_the_database_is(url: str, file: str | None) -> None:
    with temporary_settings({PREFECT_API_DATABASE_CONNECTION_URL: url}):
        assert database_file() == (Path(file) if file else None)
