"""What of a study is done and what is left, read from its store alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flows.bar import bar
from flows.spec import Study, parse_study
from infra.claims import CLAIMS
from infra.drivers import DRIVERS
from infra.errors import WrongInput
from infra.store import Store
from tasks.data_sets import prepare_own
from tasks.settings import Cell, Model

STUDY_FILE = "study.json"


@dataclass
class CellSurvey:
    """The state of one cell's models."""

    cell: Cell
    status: dict[str, str] = field(default_factory=dict)  # model id -> trained, diverged, failed
    scored: set[str] = field(default_factory=set)  # ids of models with every metric
    reasons: dict[str, str] = field(default_factory=dict)  # of those that are not trained

    @property
    def left(self) -> list[Model]:
        return [model for model in self.cell.models if model.id not in self.status]

    @property
    def unscored(self) -> list[Model]:
        return [
            model
            for model in self.cell.models
            if self.status.get(model.id) == "trained" and model.id not in self.scored
        ]

    @property
    def trained(self) -> list[Model]:
        return [model for model in self.cell.models if self.status.get(model.id) == "trained"]

    def count(self, status: str) -> int:
        return sum(1 for found in self.status.values() if found == status)

    def as_json(self) -> dict[str, Any]:
        one = self.cell.models[0]
        return {
            "cell": self.cell.name,
            "data": one.data,
            "source": one.source,
            "method": one.method,
            "strength": one.strength,
            "models": len(self.cell.models),
            "trained": self.count("trained"),
            "diverged": self.count("diverged"),
            "failed": self.count("failed"),
            "left": len(self.left),
            "scored": self.count("trained") - len(self.unscored),
        }


def survey(study: Study, store: Store) -> list[CellSurvey]:
    """Every cell's state. Rows in the tables are the only record of progress."""
    rows = store.read("models", ["model_id", "status", "reason"])
    ended = {row["model_id"]: row for row in rows.to_pylist()}
    wanted = set(study.metrics.names)
    have: dict[str, set[str]] = {}
    if ended and wanted:
        scores = store.read("scores", ["model_id", "metric"])
        columns = (scores[name].to_pylist() for name in scores.column_names)
        for model_id, metric in set(zip(*columns, strict=True)):
            have.setdefault(model_id, set()).add(metric)
    found = []
    for cell in study.cells():
        known = {model.id: ended[model.id] for model in cell.models if model.id in ended}
        scored = {model_id for model_id in known if wanted <= have.get(model_id, set())}
        status = {model_id: row["status"] for model_id, row in known.items()}
        reasons = {model_id: row["reason"] for model_id, row in known.items() if row["reason"]}
        found.append(CellSurvey(cell, status, scored, reasons))
    return found


def stored_study(store: Store) -> Study:
    """The spec that a store was made by."""
    if not store.exists(STUDY_FILE):
        raise WrongInput("store", str(store), f"a folder with {STUDY_FILE} (tolstoy run makes one)")
    try:
        return parse_study(store.read_json(STUDY_FILE))
    except ValueError as error:
        raise WrongInput(f"{store}/{STUDY_FILE}", str(error), "what tolstoy run wrote") from None


def settled_study(study: Study, store: Store) -> Study:
    """The study with a source for each data set: the store's, where it has the data set."""
    _prepare_own(study)
    return study.settled(stored_study(store) if store.exists(STUDY_FILE) else None)


def _prepare_own(study: Study) -> None:
    """Read the user's own pictures, which can be many, where one sees how far it is."""
    for choice in study.data:
        if choice.own:
            with bar(choice.name) as tell:
                prepare_own(choice, lambda done, tell=tell: tell("preparing", done))  # type: ignore[misc]


def planned_study(study: Study, store: Store) -> tuple[Study, list[str]]:
    """The same where data sets may be missing, and what is said of these."""
    _prepare_own(study)
    missing: list[str] = []
    older = stored_study(store) if store.exists(STUDY_FILE) else None
    return study.settled(older, lambda error: missing.append(str(error))), missing


def check_store(study: Study, store: Store) -> bool:
    """Whether the study is new to the store; raise if another study lives there."""
    if store.exists(STUDY_FILE):
        older = stored_study(store)
        study.must_extend(older)
        return older != study
    if set(store.names()) - {DRIVERS, CLAIMS}:  # these come first
        raise WrongInput("store", str(store), "an empty folder, or one that tolstoy run made")
    return True


def forget(study: Study, store: Store, statuses: set[str]) -> int:
    """Drop the rows of models that ended so, so that the next run tries them again."""
    models = {model.id: model for cell in study.cells() for model in cell.models}
    rows = store.read("models", ["model_id", "status"]).to_pylist()
    dropped = {row["model_id"] for row in rows if row["status"] in statuses} & models.keys()
    by_cell: dict[str, set[str]] = {}
    for model_id in dropped:
        by_cell.setdefault(models[model_id].cell, set()).add(model_id)
    for cell, ids in by_cell.items():
        store.drop("models", cell, ids)
    return len(dropped)
