"""Where the pictures of a study's data sets come from: chosen once, when the study first runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import data
from data.base.cache import folder
from data.base.pixels import Progress
from infra.errors import WrongInput
from tasks.study.spec import DataChoice, Study

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

    A data set that this machine lacks raises, or is given to `missing` and left as it is. A known
    one that the older spec has is not looked for: the study may be finished.
    """
    chosen = {choice.name: choice for choice in older.data} if older else {}
    choices = []
    for choice in study.data:
        before = chosen.get(choice.name)
        if before and not choice.source:
            choice = choice.model_copy(update={"source": before.source, "content": before.content})
        if choice.own or not choice.source or choice != before:
            try:
                with show(choice.name) if choice.own else nullcontext() as progress:
                    choice = with_source(choice, study.sources, progress)
            except WrongInput as error:
                if missing is None or choice.own:
                    raise
                missing(error)
        choices.append(choice)
    return study.model_copy(update={"data": tuple(choices)})


def with_source(
    choice: DataChoice, accepted: Sequence[str], progress: Progress | None = None
) -> DataChoice:
    """The choice with its source and content, which from then on are part of the study.

    A known data set takes the first accepted source that this machine has. The user's own files
    are read and prepared here, so that an error in them comes before anything is trained.
    """
    if choice.own:
        places = {
            field: str(Path(place).expanduser().absolute())
            for field in ("images", "factors", "folder")
            if (place := getattr(choice, field))
        }
        choice = choice.model_copy(update=places)
        return _checked(choice, source="user", content=own_table(choice, progress).content)
    known = data.sources(choice.name)
    wanted = [choice.source] if choice.source else [one for one in accepted if one in known]
    for source in wanted:
        if data.is_available(choice.name, source, folder()):
            content = data.content(choice.name, source, folder())
            return _checked(choice, source=source, content=content)
    found = f"no {' or '.join(wanted)} pictures" if wanted else f"sources {', '.join(accepted)}"
    raise WrongInput(f"data {choice.name}", f"{found} in {folder()}", _ways_to_get(choice.name))


def own_table(choice: DataChoice, progress: Progress | None = None) -> Any:
    """The user's own data set, read into the cache if it is not there."""
    from data import own

    files = own.OwnFiles(choice.images, choice.factors, choice.folder)
    return own.load(choice.name, files, folder(), progress)


def _checked(choice: DataChoice, **facts: Any) -> DataChoice:
    """The choice with these facts; what it says already must still be true."""
    for field, value in facts.items():
        before = getattr(choice, field)
        if before and before != value:
            accepted = f"{before!r}, as when the study first ran"
            raise WrongInput(f"data {choice.name}, {field}", value, accepted)
    return choice.model_copy(update=facts)


def _ways_to_get(name: str) -> str:
    needed = data.published_files(name)
    ways = [f"'tolstoy data fetch {name}'"] if needed else []
    if free := [source for source in data.sources(name) if source not in needed]:
        ways.append(f"a spec that accepts {free[0]} (--set 'sources=[redrawn,official,{free[0]}]')")
    return ", or ".join(ways)
