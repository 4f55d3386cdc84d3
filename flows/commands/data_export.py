"""`tolstoy data export`: images of a data set, or the user's own pictures as models get them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import data
from data.base.protocol import DataSet, Source
from flows.commands.own_data import say_what_was_read_of
from flows.commands.text import bar, preparing
from infra.errors import WrongInput, one_of
from infra.new_file import absolute, can_exist, new_file, writing_new
from tasks.study.data_choice import DataChoice, check_choices, with_name

SPECS = (".yaml", ".yml")
PLACES = ", or your own FOLDER, FILE, SPEC.yaml or SPEC.yaml:NAME"


@dataclass(frozen=True)
class ExportRequest:
    """What to export, and where to."""

    what: str
    rows: Path | None
    everything: bool
    out: Path | None
    sheet: Path | None
    source: str | None
    factors: str | None
    skip_broken: bool
    seed: int


def export(request: ExportRequest, cache: Path) -> int:
    choice = _choice(request)
    if choice.own and request.source:
        raise WrongInput("--source", request.source, "nothing, as the files are your own")
    source = "user" if choice.own else _source(choice.name, request.source or choice.source, cache)
    if not request.out and not request.sheet:
        raise WrongInput("data export", "nothing to write", "--out FILE.npz or --sheet FILE.png")
    if request.out and request.everything == (request.rows is not None):
        options = "--rows and --all" if request.everything else "no rows"
        raise WrongInput("data export --out", options, "--rows ROWS.npy or --all")
    for option, target, ending in (
        ("--out", request.out, ".npz"),
        ("--sheet", request.sheet, ".png"),
    ):
        if target:
            new_file(target, option, [ending])
    from tasks.export import contact_sheet, read_rows, write_images
    from tasks.streams import stream

    data_set, name = _loaded(choice, source, cache), choice.name
    rows = read_rows(request.rows, data_set) if request.rows else None
    if out := request.out:
        draws = stream("export", name, request.seed)
        with bar(name) as progress:
            count = write_images(out, data_set, rows, draws, lambda part: progress("writing", part))
        print(f"{out}: {count:,} images of {name} ({source})")
    if sheet := request.sheet:
        png = contact_sheet(data_set, rows, stream("sheet", name, request.seed))
        with writing_new(sheet, "--sheet", [".png"]) as partial:
            partial.write_bytes(png)
        print(f"{sheet}: contact sheet of {name} ({source})")
    return 0


def _choice(request: ExportRequest) -> DataChoice:
    """The data set of that name, of a spec, or of the user's own folder or file."""
    what, own = request.what, {"factors": request.factors, "skip_broken": request.skip_broken}
    given = {field: value for field, value in own.items() if value}
    if not can_exist(Path(what)):
        raise WrongInput("data set", what, one_of(data.DATA_SETS, what) + PLACES)
    spec, _, name = what.partition(":") if not Path(what).exists() else (what, "", "")
    if what in data.DATA_SETS or spec.lower().endswith(SPECS):
        if given:
            raise WrongInput(f"data export {what}", " and ".join(given), "your own FOLDER or FILE")
        return _of_spec(spec, name) if spec.lower().endswith(SPECS) else DataChoice(name=what)
    place = absolute("data set", what)
    if not place.exists():
        raise WrongInput("data set", what, one_of(data.DATA_SETS, what) + PLACES)
    field = "folder" if place.is_dir() else "images"
    named = with_name({field: what, **given})
    if named["name"] in data.DATA_SETS:
        named["name"] = f"my-{named['name']}"
    choice = DataChoice.model_validate(named)
    check_choices([choice])
    return choice


def _of_spec(spec: str, name: str) -> DataChoice:
    from tasks.study.reading import read_study

    choices = {choice.name: choice for choice in read_study(spec).data}
    if not name and len(choices) == 1:
        return next(iter(choices.values()))
    if name not in choices:
        found = name or f"{len(choices)} data sets"
        raise WrongInput(spec, found, f"{spec}:NAME, where NAME is {one_of(choices, name)}")
    return choices[name]


def _source(name: str, source: str | None, cache: Path) -> Source:
    """The requested source, or the most faithful one that is available."""
    sources = data.sources(name)
    if source and source not in sources:
        raise WrongInput("--source", source, one_of(sources, source))
    for candidate in sources:
        if source in (None, candidate) and data.is_available(name, candidate, cache):
            return candidate
    raise WrongInput(f"data {name}", f"no file in {cache}", f"tolstoy data fetch {name} first")


def _loaded(choice: DataChoice, source: Source, cache: Path) -> DataSet:
    if choice.own:
        from tasks.data_sets import load
        from tasks.study.sources import with_source

        with preparing(choice.name) as progress:
            choice = with_source(choice, (), progress)
        say_what_was_read_of(choice)
        return load(choice)
    with bar(choice.name) as progress:
        first = choice.first_pictures
        return data.load(
            choice.name, source, cache, lambda part: progress("preparing", part), first
        )
