"""What runs of `tolstoy serve` may use. A form is data; its limits come from the command line.

The server passes them to its runs in the environment; no form can change them.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel

from infra.errors import WrongInput
from infra.store import Store
from tasks.study.settings import file_name
from tasks.study.spec import Study

VARIABLE = "TOLSTOY_SERVED"


class Limits(BaseModel):
    """What one server allows, and where it shows reports."""

    studies: str = "studies"
    ray: str | None = None
    workers: int | None = None
    allow_data: str | None = None
    reports: str | None = None  # the address at which a browser opens reports

    def publish(self) -> None:
        """Pass the limits to the runs that this process starts."""
        os.environ[VARIABLE] = self.model_dump_json()

    @classmethod
    def of_this_process(cls) -> Limits:
        return cls.model_validate_json(os.environ.get(VARIABLE, "{}"))

    def store(self, name: str) -> str:
        """The path of a store: its name below the folder (or prefix) of studies."""
        file_name("store", name)
        if "://" in self.studies:
            return f"{self.studies.rstrip('/')}/{name}"
        place = Path(self.studies).absolute() / name
        if not _is_below(place, Path(self.studies)):
            raise WrongInput("store", f"{name}, a link out of the studies", "a folder in there")
        return str(place)

    def report_address(self, store: Store) -> str | None:
        """The address of a study's report, if this server shows it."""
        folder = Path(self.studies).absolute()
        if self.reports is None or "://" in store.uri or Path(store.root).parent != folder:
            return None
        return f"{self.reports}/{Path(store.root).name}/report/index.html"

    def workers_for(self, wanted: int) -> int | None:
        """As many as wanted, at most as many as the server was started with; 0 means all."""
        if self.workers is None:
            return wanted or None
        return min(wanted or self.workers, self.workers)

    def data_path(self, field: str, path: str) -> str:
        """The absolute path of a user's own files; raises unless they are in --allow-data's folder.

        A relative path begins in that folder; the folder itself is allowed, too.
        """
        if self.allow_data is None:
            accepted = "known data sets; tolstoy serve --allow-data DIR allows your own in DIR"
            raise WrongInput(field, path, accepted)
        place = Path(self.allow_data).absolute() / path
        try:
            inside = place.resolve().is_relative_to(Path(self.allow_data).resolve())
        except (OSError, ValueError, RuntimeError):  # a zero byte, or links in a circle
            inside = False
        if path.startswith("~") or "://" in path or not inside:
            raise WrongInput(field, path, f"{self.allow_data}, or a place below it")
        return str(place)

    def check_data(self, study: Study) -> Study:
        """The study with absolute paths of its files; raises if --allow-data does not allow one."""
        choices = []
        for choice in study.data:
            paths = {
                field: self.data_path(f"data {choice.name}, {field}", path)
                for field in ("images", "factors", "folder")
                if (path := getattr(choice, field))
            }
            if "folder" in paths:
                self._check_links(f"data {choice.name}, folder", paths["folder"])
            choices.append(choice.model_copy(update=paths))
        return study.model_copy(update={"data": tuple(choices)})

    def _check_links(self, field: str, folder: str) -> None:
        """Raise if the folder has a link out of --allow-data's folder. Reading pictures follows
        links, so that whoever may write there could show files of whoever runs the server."""
        allowed = Path(self.allow_data or "").resolve()
        for below, folders, files in os.walk(folder):
            for name in (*folders, *files):
                place = Path(below, name)
                if place.is_symlink() and not place.resolve().is_relative_to(allowed):
                    found = f"{place}, a link out of {self.allow_data}"
                    raise WrongInput(field, found, f"a folder with links within {self.allow_data}")


def _is_below(place: Path, folder: Path) -> bool:
    """Whether it is still below the folder after `..` and links are resolved."""
    resolved = place.resolve()
    return resolved != folder.resolve() and resolved.is_relative_to(folder.resolve())
