"""A data set as a spec names it: a known one, or the user's own pictures."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo, field_validator, model_serializer

import data
from data.base.protocol import Source
from infra.errors import WrongInput, one_of
from infra.new_file import absolute
from tasks.study.settings import LONGEST_NAME, Settings, file_name


class ReadFacts(Settings):
    """What was read of the user's own files."""

    pictures: int
    channels: int
    ignored: int = 0  # files in the folder that are no pictures
    ignored_endings: tuple[tuple[str, int], ...] = ()  # of those, and how many of each
    skipped: int = 0  # broken pictures
    transparent: int = 0  # pictures that are not opaque
    factors: tuple[tuple[str, int | None], ...] = ()  # names and numbers of values; none: real


class DataChoice(Settings):
    """One data set of a study: a known one, or the user's own files.

    `source`, `content` and `read` are chosen when a study first runs, and from then on part of it.
    """

    name: str
    source: Source | None = None
    pictures: int | None = None  # only the first so many, where the data set allows that
    images: str | None = None
    factors: str | None = None
    folder: str | None = None
    skip_broken: bool = False  # pictures in the folder
    content: str = ""
    read: ReadFacts | None = None

    @property
    def own(self) -> bool:
        return bool(self.images or self.folder)

    @property
    def place(self) -> str:
        """The user's own folder or file of pictures."""
        return self.folder or self.images or ""

    @property
    def first_pictures(self) -> int:
        """How many pictures the study takes, the first ones; 0 if it takes all."""
        if not self.pictures or self.pictures == data.describe(self.name).pictures:
            return 0
        return self.pictures

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Of the user's own data: none before they were read."""
        if self.own:
            return tuple(name for name, _ in self.read.factors) if self.read else ()
        return data.describe(self.name).factor_names

    @field_validator("pictures", mode="before")
    @classmethod
    def _pictures_are_a_number(cls, pictures: Any, info: ValidationInfo) -> Any:
        if pictures is not None and type(pictures) is not int:
            raise WrongInput(f"data {info.data.get('name')}, pictures", pictures, "a whole number")
        return pictures

    @model_serializer
    def _short(self) -> dict[str, Any]:
        """Only the fields that are set."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name))}


def with_name(raw: Any) -> Any:
    """A data set may be its name only; the user's own data are named after their file or folder."""
    if isinstance(raw, str):
        return {"name": raw}
    if not isinstance(raw, dict) or "name" in raw:
        return raw
    place = raw.get("folder") or raw.get("images")
    if not place:
        if raw.get("factors"):
            raise no_images(raw["factors"])
        raise WrongInput("data", f"no name in {raw}", "name, or images: FILE, or folder: PATH")
    if not isinstance(place, str):
        raise WrongInput("data", f"{place!r} as folder or images", "text: one path")
    return {**raw, "name": name_of(place)}


def no_images(factors: object) -> WrongInput:
    found = f"factors {factors} without images"
    return WrongInput("data, images", found, "images: FILE, the pictures that the factors are of")


def name_of(place: str) -> str:
    """A name for the pictures of a file or folder, made of what a name may have."""
    stem = Path(os.path.normpath(absolute("data", place))).stem
    letters = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", letters).strip("-._")
    return name[:LONGEST_NAME] or "pictures"


def check_choices(choices: Sequence[DataChoice]) -> None:
    """Raise unless each is a known data set or the user's own, under a name of its own."""
    if not choices:
        raise WrongInput("data", "[]", "at least one value")
    for choice in choices:
        _check_own(choice) if choice.own else _check_known(choice)
    name, count = Counter(choice.name for choice in choices).most_common(1)[0]
    if count > 1:
        accepted = "each name once (name: ... gives your own pictures another)"
        raise WrongInput("data", f"{count} data sets named {name}", accepted)


def _check_known(choice: DataChoice) -> None:
    known = choice.name in data.DATA_SETS
    if choice.factors and not known:
        raise no_images(choice.factors)
    if not known:
        accepted = one_of(data.DATA_SETS, choice.name)
        raise WrongInput("data", choice.name, f"{accepted}, {{images: FILE}} or {{folder: PATH}}")
    if choice.source and choice.source not in data.sources(choice.name):
        accepted = one_of(data.sources(choice.name), choice.source)
        raise WrongInput(f"data {choice.name}, source", choice.source, accepted)
    for field, value in (("factors", choice.factors), ("skip_broken", choice.skip_broken)):
        if value:
            accepted = "factors beside images" if field == "factors" else "skip_broken with folder"
            raise WrongInput(f"data {choice.name}, {field}", value, accepted)
    _check_pictures(choice)


def _check_pictures(choice: DataChoice) -> None:
    if choice.pictures is None:
        return
    fewest = None if choice.own else data.fewest_pictures(choice.name)
    if fewest is None:
        names = " and ".join(name for name in data.DATA_SETS if data.fewest_pictures(name))
        accepted = f"no such key here, as only {names} can be taken in part"
    else:
        most = data.describe(choice.name).pictures or 0
        if fewest <= choice.pictures <= most:
            return
        accepted = f"a whole number from {fewest} to {most}"
    raise WrongInput(f"data {choice.name}, pictures", choice.pictures, accepted)


def _check_own(choice: DataChoice) -> None:
    field = f"data {choice.name}"
    if choice.images and choice.folder:
        raise WrongInput(field, "images and folder", "one of them")
    if choice.folder and choice.factors:
        raise WrongInput(field, "folder and factors", "factors beside images")
    if choice.images and choice.skip_broken:
        raise WrongInput(field, "skip_broken with images", "skip_broken with folder")
    if choice.source not in (None, "user"):
        raise WrongInput(f"{field}, source", choice.source, "user, as the files are your own")
    if file_name("data name", choice.name) in data.DATA_SETS:
        accepted = "a name that no known data set has (name: ...)"
        raise WrongInput("data name", choice.name, accepted)
    _check_pictures(choice)
