"""The study as its store has it: study.json, and whether another spec may go into the store."""

from __future__ import annotations

from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS
from infra.errors import WrongInput
from infra.store import Store
from tasks.checkpoints import CHECKPOINTS
from tasks.study.reading import parse_study
from tasks.study.sources import ShowProgress, no_progress, with_sources
from tasks.study.spec import Study

STUDY_FILE = "study.json"


def stored_study(store: Store) -> Study:
    """The spec that a store was made by."""
    if not store.exists(STUDY_FILE):
        raise WrongInput("store", str(store), f"a folder with {STUDY_FILE} (tolstoy run makes one)")
    place = f"{store}/{STUDY_FILE}"
    try:
        return parse_study(store.read_json(STUDY_FILE))
    except WrongInput as error:
        field = f"{place}, {error.field}" if error.field else place
        raise WrongInput(field, error.found, f"{error.accepted}, as tolstoy run wrote it") from None
    except (ValueError, RecursionError):
        raise WrongInput(place, "no JSON", "what tolstoy run wrote") from None


def settled_study(study: Study, store: Store, show: ShowProgress = no_progress) -> Study:
    """The study with a source for each data set: the store's, where it has the data set."""
    return with_sources(study, _older(store), show=show)


def planned_study(
    study: Study, store: Store, show: ShowProgress = no_progress
) -> tuple[Study, list[str]]:
    """The same where data sets may be missing, and an error text for each that is."""
    missing: list[str] = []
    found = with_sources(study, _older(store), lambda error: missing.append(str(error)), show)
    return found, missing


def _older(store: Store) -> Study | None:
    """The study that the store holds to: none before anything was trained."""
    return stored_study(store) if store.exists(STUDY_FILE) and _has_work(store) else None


def _has_work(store: Store) -> bool:
    """Whether a model ended, or left a checkpoint that would be lost to another study."""
    if store.parts("models"):
        return True
    files = (name for model in store.names("models") for name in store.names("models", model))
    return any(name in CHECKPOINTS for name in files)


def check_store(study: Study, store: Store) -> bool:
    """Whether the study is new to the store; raise if another study lives there."""
    if older := _older(store):
        study.must_extend(older)
        return older != study
    if store.exists(STUDY_FILE):
        return stored_study(store) != study
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
