"""Where the pictures of a study's data sets come from: chosen once, when the study first runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import data
from data.base.cache import check_can_write, folder
from data.base.pixels import Progress
from infra.errors import WrongInput
from infra.new_file import absolute
from tasks.streams import stream
from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.study.spec import Study
from tasks.study.traces import check_vary, grid
from tasks.words import plural

if TYPE_CHECKING:
    from data.own import OwnDataSet

ShowProgress = Callable[[str], AbstractContextManager[Progress]]  # of a data set, by its name


def no_progress(name: str) -> AbstractContextManager[Progress]:
    return nullcontext(lambda fraction: None)


def with_sources(
    study: Study,
    older: Study | None = None,
    missing: Callable[[WrongInput], None] | None = None,
    show: ShowProgress = no_progress,
) -> Study:
    """The study with a source for each data set; what an older spec chose stays.

    Data sets that this machine lacks raise, all at once; or each is given to `missing` and left as
    it is. A known one that the older spec has is not looked for: the study may be finished.
    """
    lacking: dict[str, WrongInput] = {}
    chosen = {choice.name: choice for choice in older.data} if older else {}
    choices = []
    for choice in study.data:
        before = chosen.get(choice.name)
        if before and choice.source in (None, before.source):
            settled = ("source", "content", "read")
            choice = choice.model_copy(update={name: getattr(before, name) for name in settled})
        if choice.own or not choice.source or choice != before:
            try:
                with show(choice.name) if choice.own else nullcontext() as progress:
                    choice = with_source(choice, study.sources, progress)
            except WrongInput as error:
                if choice.own:
                    raise
                lacking[choice.name] = error
        choices.append(choice)
    if missing:
        for reason in lacking.values():
            missing(reason)
    elif lacking:
        raise _all_of(lacking)
    found = study.model_copy(update={"data": tuple(choices)})
    _check_traces(found)
    found.check_label_noise()
    return found


def _check_traces(study: Study) -> None:
    """Raise unless every data set has the samples that the traces are of."""
    if not study.traces or not study.traces.vary:
        return
    for choice in study.data:
        table = own_table(choice) if choice.own else None
        facts = table or data.describe(choice.name)
        check_vary(study.traces, choice.name, facts.factor_names)
        if table:  # it may lack combinations
            points = grid(study.traces, table.factor_names, table.factor_sizes)
            table.places(points, stream("traces", choice.name))


def _all_of(lacking: Mapping[str, WrongInput]) -> WrongInput:
    """One error for all data sets that are missing; what is accepted is said once where it is the
    same."""
    first = next(iter(lacking.values()))
    if {str(error) for error in lacking.values()} == {str(first)}:
        return first
    names_by_way: dict[str, list[str]] = {}
    for name, error in lacking.items():
        names_by_way.setdefault(error.accepted.replace(name, "NAME"), []).append(name)
    ways = [f"for {', '.join(names)}: {way}" for way, names in names_by_way.items()]
    return WrongInput("data", f"no pictures of {', '.join(lacking)} in {folder()}", "; ".join(ways))


def with_source(
    choice: DataChoice, accepted: Sequence[str], progress: Progress | None = None
) -> DataChoice:
    """The choice with its source and content, which from then on are part of the study.

    A known data set takes the first accepted source that this machine has. The user's own files
    are read and prepared here, so that an error in them comes before anything is trained.
    """
    if choice.own:
        return _with_own_files(choice, progress)
    known = data.sources(choice.name)
    wanted = [choice.source] if choice.source else [one for one in accepted if one in known]
    for source in wanted:
        if data.is_available(choice.name, source, folder()):
            if not data.is_prepared(choice.name, source, folder(), choice.first_pictures):
                check_can_write(folder())
            content = data.content(choice.name, source, folder())
            return _checked(choice, source=source, content=content)
    found = f"no {' or '.join(wanted)} pictures" if wanted else f"sources {', '.join(accepted)}"
    ways = ", or ".join(_ways_to_get(choice, accepted, wanted))
    raise WrongInput(f"data {choice.name}", f"{found} in {folder()}", ways)


def _with_own_files(choice: DataChoice, progress: Progress | None) -> DataChoice:
    """The choice with absolute paths, and what was read there."""
    places = {
        field: str(absolute(f"data {choice.name}, {field}", place))
        for field in ("images", "factors", "folder")
        if (place := getattr(choice, field))
    }
    table = own_table(choice.model_copy(update=places), progress)
    read = facts_of(table)
    if choice.content and choice.content != table.content:
        accepted = "the files as they were, or another --store for a study of these"
        raise WrongInput(f"data {choice.name}, content", _change(choice.read, read), accepted)
    if choice.content and choice.read and choice.read.factors not in ((), read.factors):
        accepted = "factor_kinds as they were, or another --store for a study of these"
        raise WrongInput(f"data {choice.name}, factor_kinds", _change(choice.read, read), accepted)
    facts = {"source": "user", "content": table.content, "read": read}
    return choice.model_copy(update={**places, **facts})


def facts_of(table: OwnDataSet) -> ReadFacts:
    return ReadFacts(
        pictures=len(table.pixels),
        channels=table.channels,
        ignored=sum(table.ignored.values()),
        ignored_endings=tuple(table.ignored.items()),
        skipped=table.skipped,
        transparent=table.transparent,
        factors=tuple(
            (name, None if place in table.continuous else size)
            for place, (name, size) in enumerate(
                zip(table.factor_names, table.factor_sizes, strict=True)
            )
        ),
    )


def _change(before: ReadFacts | None, now: ReadFacts) -> str:
    """How a user's files differ from what the study first read."""
    if before and before.pictures != now.pictures:
        return (
            f"{plural(before.pictures, 'picture')} when the study first ran, {now.pictures:,} now"
        )
    if before and before.factors != now.factors:
        return "other factors than when the study first ran"
    what = "pictures or factors" if now.factors else "pictures"
    return f"{what} of which some have changed since the study first ran"


def own_table(choice: DataChoice, progress: Progress | None = None) -> OwnDataSet:
    """The user's own data set, read into the cache if it is not there."""
    from data import own

    files = own.OwnFiles(choice.images, choice.factors, choice.folder, choice.skip_broken)
    return own.load(choice.name, files, folder(), progress)


def _checked(choice: DataChoice, **facts: Any) -> DataChoice:
    """The choice with these facts; what it says already must still be true."""
    for field, value in facts.items():
        before = getattr(choice, field)
        if before and before != value:
            accepted = f"{before!r}, as when the study first ran"
            raise WrongInput(f"data {choice.name}, {field}", value, accepted)
    return choice.model_copy(update=facts)


def _ways_to_get(choice: DataChoice, accepted: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Commands and changes of the spec, each of which gives the data set a source."""
    name, needed = choice.name, data.published_files(choice.name)
    ways = [f"'tolstoy data fetch {name}'"] if set(wanted) & set(needed) else []
    others = [source for source in data.sources(name) if source not in wanted]
    free = [source for source in others if source not in needed]
    for source in (free or ([] if ways else others))[:1]:
        if choice.source:
            ways.append(f"'source: {source}' in place of 'source: {choice.source}'")
        else:
            sources = ",".join((*accepted, source))
            ways.append(f"a spec that accepts {source} (--set 'sources=[{sources}]')")
    return ways
