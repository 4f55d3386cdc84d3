"""The ranking of groups of models by their training dynamics, from files of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from infra.errors import WrongInput, one_of
from infra.runtime import free_memory_bytes
from metrics.base.arrays import BadArray
from metrics.dynamics import Dynamics, Settings, check_shape, dynamics, memory_bytes
from metrics.dynamics.kernels import Array
from tasks.dynamics import named_stream
from tasks.own_traces import Group, OwnTraces
from tasks.rank_cells import SETTING, not_converged
from tasks.study.dynamics_settings import settings_from
from tasks.study.plain_yaml import parse_yaml
from tasks.what_was_read import doubts
from tasks.words import plural, size_text

Progress = Callable[[float], None]


@dataclass(frozen=True)
class DynamicsRanking:
    """The groups, the most stable first."""

    groups: list[dict[str, Any]]
    doubts: list[str]  # why the ranking may mean little

    def as_json(self) -> dict[str, Any]:
        return {"groups": self.groups}


def settings_of(changes: Sequence[str], older: Settings | None = None) -> Settings:
    """These settings, or the default ones, with these changes, each `name=value`."""
    older = older or Settings()
    names, values = [field.name for field in fields(Settings)], {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise WrongInput("--set", change, "name=value, such as t=20")
        if name not in names:
            raise WrongInput("--set", name, one_of(names, name))
        values[name] = parse_yaml(text, f"--set {name}", "a value as YAML has it")
    return settings_from({**asdict(older), **values}, SETTING)


def check_files(files: Sequence[OwnTraces], settings: Settings) -> None:
    """Raise unless the files can be ranked by these settings."""
    first, (_, snapshots, samples, _) = files[0].path.name, files[0].shape
    try:
        check_shape(snapshots, samples, settings)
    except BadArray as error:
        if error.field == "traces":
            raise WrongInput(f"{first}, traces", error.found, error.accepted) from None
        value = getattr(settings, error.field)
        raise WrongInput(f"--set {error.field}", value, error.accepted) from None
    models = [group for file in files for group in file.groups]
    largest = max(models.count(group) for group in set(models))
    for file in files:
        file.units(settings.layers)
        needed, free = memory_bytes(largest, file.shape[1:], settings), free_memory_bytes()
        if needed > free:
            found = f"{file.path.name}, of which a group takes {size_text(needed)} of memory"
            accepted = f"what fits into the {size_text(free)} that are free"
            raise WrongInput("FILE", found, f"{accepted}; --set snapshots=... takes fewer")


def traces_text(files: Sequence[OwnTraces]) -> str:
    """`6 models in 2 groups, 10 snapshots, 512 samples, 64 or 128 units`."""
    models = [group for file in files for group in file.groups]
    _, snapshots, samples, _ = files[0].shape
    units = sorted({file.shape[3] for file in files})
    return ", ".join(
        (
            f"{plural(len(models), 'model')} in {plural(len(set(models)), 'group')}",
            plural(snapshots, "snapshot"),
            plural(samples, "sample"),
            f"{' or '.join(f'{count:,}' for count in units)} unit{'s' * (units != [1])}",
        )
    )


def rank_traces(
    files: Sequence[OwnTraces], settings: Settings, progress: Progress
) -> DynamicsRanking:
    """Score each group, from a pass through the files for each."""
    groups = list(dict.fromkeys(group for file in files for group in file.groups))
    rows, why = [], _doubts(files)
    for number, group in enumerate(groups):

        def move(fraction: float, place: int = number) -> None:
            progress((place + fraction) / len(groups))

        result = _score(files, group, settings, move)
        low, high = result.interval or (None, None)
        rows.append(
            {
                "group": group,
                "dynamics": result.score,
                "low": low,
                "high": high,
                "models": len(result.pairs),
            }
        )
        if not result.converged:
            why.append(not_converged(group, result.residual))
    return DynamicsRanking(sorted(rows, key=lambda row: row["dynamics"]), why)


def _score(
    files: Sequence[OwnTraces], group: Group, settings: Settings, progress: Progress
) -> Dynamics:
    def models() -> Iterator[Array]:
        for file in files:
            yield from file.models(group, settings.layers)

    return dynamics(models(), settings, named_stream, progress)


def _doubts(files: Sequence[OwnTraces]) -> list[str]:
    several = len(files) > 1
    of_models = [
        f"{file.path.name}, {doubt}" if several else doubt
        for file in files
        for doubt in file.doubts
    ]
    return [*doubts(files[0].shape[2], "sample"), *of_models]
