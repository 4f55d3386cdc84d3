"""`tolstoy data`: its options; list, fetch and check data sets."""

from __future__ import annotations

import json as jsonlib
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

import data
from data.base.pixels import is_whole
from data.official.published import origin
from data.own import copies
from flows.commands.text import bar, table
from flows.options import DATA_HELP, DataDir, Json, WholeNumber, use_folder
from infra.errors import WrongInput
from tasks.words import size_text

Name = Annotated[str | None, Parameter(help="a data set")]

data_app = App(
    name="data",
    help=DATA_HELP,
    default_parameter=Parameter(negative=""),
)


@data_app.command(name="list")
def list_(*, data_dir: DataDir = None, json: Json = False) -> int:
    """Name, factors, images, sources, size and files of every data set, and the copies of your own.

    Example: tolstoy data list
    """
    cache = use_folder(data_dir)
    rows = [_listed(name, cache) for name in data.DATA_SETS]
    own = [_listed_copy(copy) for copy in copies.find(cache)]
    if json:
        print(jsonlib.dumps([*rows, *own], indent=2))
        return 0
    head = ("name", "factors", "images", "source", "size", "where")
    cells = [
        (
            row["name"],
            _sizes_text(row),
            f"{row['images']:,}",
            ", ".join(source + ("" if ok else " (fetch)") for source, ok in row["sources"].items()),
            size_text(row["bytes"]) if row["bytes"] else "-",
            ", ".join(row["files"]) or "-",
        )
        for row in rows
    ]
    print(table(head, cells))
    print(
        f"\nFiles are in {cache}; pictures that need no file are drawn there on first use.\n"
        "A source marked (fetch) needs its file: tolstoy data fetch NAME [--from PATH]"
    )
    if own:
        print(f"\n{_copies_table(own)}\ntolstoy data clean removes copies that are not in use")
    return 0


def _copies_table(rows: list[dict[str, Any]]) -> str:
    cells = [
        (
            row["of"] or row["name"],
            _sizes_text(row) or "-",
            f"{row['images']:,}",
            size_text(row["bytes"]),
            copies.MEANINGS[row["state"]],
        )
        for row in rows
    ]
    return table(("copy of", "factors", "images", "size", ""), cells)


def _sizes_text(row: dict[str, Any]) -> str:
    return " × ".join(str(factor["size"] or "real") for factor in row["factors"])


def _listed_factors(
    names: Sequence[str], sizes: Sequence[int], continuous: Collection[int]
) -> list[dict[str, Any]]:
    """Names and numbers of values; none where values are real."""
    return [
        {"name": name, "size": None if place in continuous else size}
        for place, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]


def _listed_copy(copy: copies.Copy) -> dict[str, Any]:
    """A copy of the user's own pictures, like a data set; and of which files, and its state."""
    names, sizes = copy.facts.get("names", []), copy.facts.get("sizes", [])
    continuous = copy.facts.get("continuous", [])
    return {
        "name": copy.key,
        "factors": _listed_factors(names, sizes, continuous),
        "images": copy.facts.get("count", 0),
        "sources": {"user": copy.state == "current"},
        "bytes": copy.bytes,
        "files": [file.name for file in copy.files],
        "folder": str(copy.files[0].parent),
        "of": copy.place,
        "state": copy.state,
    }


def _listed(name: str, cache: Path) -> dict[str, Any]:
    description = data.describe(name)
    files = data.files_in(cache, name)
    return {
        "name": name,
        "factors": _listed_factors(
            description.factor_names, description.factor_sizes, description.continuous
        ),
        "images": description.pictures or math.prod(description.factor_sizes),
        "sources": {
            source: data.is_available(name, source, cache) for source in data.sources(name)
        },
        "bytes": sum((cache / file).stat().st_size for file in files),
        "files": files,
        "origins": {file: facts for file in files if (facts := origin(cache / file))},
        "folder": str(cache),
    }


@data_app.command
def fetch(
    name: Name = None,
    /,
    *,
    all_: Annotated[bool, Parameter(name="--all", help="every published data set")] = False,
    from_: Annotated[
        Path | None, Parameter(name="--from", help="a file or folder that you already have")
    ] = None,
    data_dir: DataDir = None,
) -> int:
    """Download, check and prepare published files. Run it again to continue a download.

    Example: tolstoy data fetch shapes3d --from ~/Downloads/3dshapes.h5
    """
    cache = use_folder(data_dir)
    if all_ and from_:
        raise WrongInput("--from", "--from with --all", "--from with the NAME of one data set")
    if not all_:
        name = _known(name)
        if name not in _fetchable():
            accepted = f"{', '.join(_fetchable())}; {name} needs no file"
            raise WrongInput("data fetch", name, accepted)
        _fetch(name, cache, from_)
        return 0
    if name:
        raise WrongInput("NAME", f"{name} with --all", "one data set, or --all")
    errors = 0
    for fetchable in _fetchable():
        if by_hand := _by_hand(fetchable, cache):
            print(f"{fetchable}: left out, as it is {by_hand}")
            continue
        try:
            _fetch(fetchable, cache, None)
        except WrongInput as error:  # the other data sets can still be fetched
            print(f"tolstoy: {error}", file=sys.stderr)
            errors += 1
    return 2 if errors else 0


def _fetch(name: str, cache: Path, from_: Path | None) -> None:
    for source, published in data.published_files(name).items():
        if not published.check(cache):
            with bar(name) as progress:
                if from_:
                    published.take(from_, cache, progress)
                else:
                    published.fetch(cache, progress, name)
        print(f"{name}: {source} file is ready in {cache}")
        for line in _origin(cache / published.ready):
            print(f"{name}: {line}")
        if published.remark:
            print(f"{name}: {published.remark(published.pixels(cache, name))}")


def _origin(ready: Path) -> Iterator[str]:
    """A line per published file: from where it came, and whether it is the one first published."""
    for copy in origin(ready):
        brought = "" if "://" in copy["place"] else ", brought by hand"
        known = {
            True: "with the published checksum",
            False: f"another file than first published ({copy.get('checksum')}), content checked",
            None: "no checksum is published",
        }[copy.get("published")]
        yield f"{copy['file']}: from {copy['place']}{brought}, {known}"


def _by_hand(name: str, cache: Path) -> str:
    """What only people can fetch and is not there yet; otherwise empty."""
    for published in data.published_files(name).values():
        if published.by_hand and not published.is_ready(cache):
            file = published.files[0]
            return (
                f"in an archive: get it from {', '.join(file.urls)}, unpack it, then"
                f" tolstoy data fetch {name} --from {file.name}"
            )
    return ""


def _fetchable() -> list[str]:
    return [name for name in data.DATA_SETS if data.published_files(name)]


def _known(name: str | None) -> str:
    if name is None:
        raise WrongInput("NAME", "nothing", "one data set, or --all")
    data.module(name)
    return name


@data_app.command
def check(*, data_dir: DataDir = None, json: Json = False) -> int:
    """Verify the checksum of every prepared file, and say from where published ones came; exits
    with 1 if one is damaged.

    Example: tolstoy data check
    """
    cache = use_folder(data_dir)
    whole = {file: is_whole(cache / file) for file in data.prepared_files(cache)}
    if json:
        print(jsonlib.dumps(whole, indent=2))
    else:
        for file, file_is_whole in whole.items():
            print(f"{'whole  ' if file_is_whole else 'DAMAGED'}  {file}")
            for line in _origin(cache / file):
                print(f"         {line}")
        damaged = sum(not file_is_whole for file_is_whole in whole.values())
        print(f"{len(whole)} files in {cache}, {damaged} damaged")
        if damaged:
            print("Remove a damaged file and use or fetch its data set again.")
    return 0 if all(whole.values()) else 1


@data_app.command
def clean(
    *,
    all_: Annotated[
        bool,
        Parameter(name="--all", help="also what is drawn or read again when it is needed"),
    ] = False,
    fetched: Annotated[bool, Parameter(help="also published files and their downloads")] = False,
    dry_run: Annotated[bool, Parameter(help="only say what would be removed")] = False,
    yes: Annotated[bool, Parameter(help="do not ask")] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> int:
    """Remove prepared files that no study needs: copies of own pictures whose files have changed or
    are gone, look-alikes (drawn again in seconds, Teapots in minutes), files of other versions,
    what killed processes left. What a process uses stays.

    Example: tolstoy data clean --dry-run
    """
    from flows.commands.data_clean import clean as clean_cache

    cache = use_folder(data_dir)
    return clean_cache(cache, everything=all_, fetched=fetched, dry_run=dry_run, yes=yes, json=json)


@data_app.command
def export(
    name: Annotated[
        str, Parameter(help="a data set; your own FOLDER or FILE; or SPEC.yaml:NAME, one of a spec")
    ],
    /,
    *,
    rows: Annotated[
        Path | None,
        Parameter(help=".npy of whole numbers: factor values (n, factors), or places (n,)"),
    ] = None,
    all_: Annotated[
        bool, Parameter(name="--all", help="the whole grid, or all your pictures")
    ] = False,
    out: Annotated[Path | None, Parameter(help=".npz to write: images (uint8), factors")] = None,
    sheet: Annotated[Path | None, Parameter(help=".png contact sheet to write")] = None,
    source: Annotated[str | None, Parameter(help="redrawn, official or look-alike")] = None,
    factors: Annotated[str | None, Parameter(help="file of the factors of your own FILE")] = None,
    skip_broken: Annotated[
        bool, Parameter(help="leave out pictures of your FOLDER that cannot be read")
    ] = False,
    seed: Annotated[
        WholeNumber, Parameter(help="of what is random: noise, rows of a contact sheet")
    ] = 0,
    data_dir: DataDir = None,
) -> int:
    """Write images and factors to a file, or some images to a contact sheet. Of your own pictures,
    as they are cut and shrunk for models.

    Example: tolstoy data export cars3d --sheet cars.png; tolstoy data export FOLDER --sheet own.png
    """
    from flows.commands.data_export import ExportRequest
    from flows.commands.data_export import export as export_images

    request = ExportRequest(
        what=name,
        rows=rows,
        everything=all_,
        out=out,
        sheet=sheet,
        source=source,
        factors=factors,
        skip_broken=skip_broken,
        seed=seed,
    )
    return export_images(request, use_folder(data_dir))
