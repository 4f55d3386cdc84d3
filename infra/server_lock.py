"""One `tolstoy serve` per database of Prefect: a second would take runs of the first.

A server locks a file next to its database. The system drops the lock when the process ends, however
it ends. A server that others started (PREFECT_API_URL) is asked instead: flows/dashboard/runner.py.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import WrongInput


def database_file() -> Path | None:
    """The file of Prefect's database, if it has one."""
    from prefect.settings import get_current_settings
    from sqlalchemy import make_url

    url = get_current_settings().server.database.connection_url
    parts = make_url(url.get_secret_value()) if url else None
    if parts is None or not parts.drivername.startswith("sqlite"):
        return None
    name = parts.database or ""
    return None if name in ("", ":memory:") or name.startswith("file:") else Path(name)


@contextmanager
def only_server(database: Path, who: str) -> Iterator[None]:
    """Lock the database while the block runs; raise if another server has it."""
    place = database.with_name(f"{database.name}.tolstoy-serve")
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read() or "which starts at this moment"
            raise WrongInput(
                "serve",
                f"another server, {other}",
                f"one per database ({database}); PREFECT_HOME=DIR gives this one another database",
            ) from None
        except OSError:  # a network file system without locks
            pass
        file.truncate(0)
        file.write(who)
        file.flush()
        yield
