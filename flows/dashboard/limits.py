"""What `tolstoy serve` allows: a spec from the dashboard is data, and this says where it may reach.

The server's own settings travel to its runs in the environment; nothing of them comes from a form.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel

from infra.errors import WrongInput
from infra.store import Store
from tasks.study.spec import Study, file_name

VARIABLE = "TOLSTOY_SERVED"


class Served(BaseModel):
    """Settings of one server."""

    studies: str = "studies"
    ray: str | None = None
    workers: int | None = None
    allow_data: str | None = None
    reports: str | None = None  # where the reports can be opened by a browser

    def publish(self) -> None:
        """For the runs that this process starts."""
        os.environ[VARIABLE] = self.model_dump_json()

    @classmethod
    def of_this_process(cls) -> Served:
        return cls.model_validate_json(os.environ.get(VARIABLE, "{}"))

    def store(self, name: str) -> str:
        """The place of a store, which is a name below the folder (or prefix) of studies."""
        file_name("store", name)
        if "://" in self.studies:
            return f"{self.studies.rstrip('/')}/{name}"
        place = Path(self.studies).absolute() / name
        if not _is_below(place, Path(self.studies)):
            raise WrongInput("store", f"{name}, a link out of the studies", "a folder of its own")
        return str(place)

    def report(self, store: Store) -> str | None:
        """The address of a study's report, where this server shows it."""
        folder = Path(self.studies).absolute()
        if self.reports is None or "://" in store.uri or Path(store.root).parent != folder:
            return None
        return f"{self.reports}/{Path(store.root).name}/report/index.html"

    def workers_for(self, asked: int) -> int | None:
        """As many as asked, but no more than the server was started with; 0 asks for all."""
        if self.workers is None:
            return asked or None
        return min(asked or self.workers, self.workers)

    def data_place(self, field: str, given: str) -> str:
        """The place of a user's own files: below the folder that the server shows, or refused."""
        if self.allow_data is None:
            accepted = "known data sets; tolstoy serve --allow-data DIR allows your own below DIR"
            raise WrongInput(field, given, accepted)
        place = Path(self.allow_data).absolute() / given
        if given.startswith("~") or "://" in given or not _is_below(place, Path(self.allow_data)):
            raise WrongInput(field, given, f"a place below {self.allow_data}")
        return str(place)

    def with_data_allowed(self, study: Study) -> Study:
        """The study with the places of its files below the folder that is shown, however they
        were spelt; raise if one reads others."""
        choices = []
        for one in study.data:
            places = {
                field: self.data_place(f"data {one.name}, {field}", place)
                for field in ("images", "factors", "folder")
                if (place := getattr(one, field))
            }
            choices.append(one.model_copy(update=places))
        return study.model_copy(update={"data": tuple(choices)})


def _is_below(place: Path, folder: Path) -> bool:
    """Really below it: `..` and links are followed first."""
    inside = place.resolve()
    return inside != folder.resolve() and inside.is_relative_to(folder.resolve())
