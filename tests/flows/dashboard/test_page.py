"""What a run sends to the dashboard, what it sends once only, and which errors do not fail it."""

from __future__ import annotations

import base64
import io
import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from PIL import Image

from flows.dashboard.page import Artifacts, DashboardPage, kept_updated, pause_after
from flows.dashboard.traversals import MAX_PICTURES, traversals
from flows.driver import StudyRun
from infra.store import Store
from infra.workers import Stopped
from tasks.model_row import write_row
from tasks.study.spec import Study
from tasks.study.survey import survey
from tasks.study.under_way import write_steps
from tests.flows.trained import compared, made_up, models_of, train

RUN = UUID(int=7)


class Api:
    """The part of Prefect's API that handles artifacts."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.stored: dict[str, dict[str, Any]] = {}
        self.away = False

    def request(self, method: str, path: str, json: Any, path_params: Any = None) -> Any:
        if self.away:
            raise ConnectionError("nobody listens")
        number = path_params["id"] if path_params else UUID(int=len(self.stored))
        self.stored.setdefault(str(number), {}).update(json)
        self.sent.append((method, self.stored[str(number)]["key"]))
        return type("Answer", (), {"json": lambda _: {"id": str(number)}})()

    def shown(self, key: str) -> Any:
        (artifact,) = [artifact for artifact in self.stored.values() if artifact["key"] == key]
        return artifact["data"]


@pytest.fixture
def api() -> Api:
    return Api()


def page_of(study: Study, store: Store, api: Api, report: str | None = None) -> DashboardPage:
    run = StudyRun(study, store, survey(study, store))
    return DashboardPage(run, report, Artifacts(RUN, api))


def test_an_artifact_is_created_once_and_then_updated(api: Api) -> None:
    page = Artifacts(RUN, api)
    page.show("markdown", "a", "about", "one")
    page.show("markdown", "a", "about", "one")
    page.show("markdown", "a", "about", "two")
    page.show("markdown", "a", "other", "two")
    assert api.sent == [("POST", "a"), ("PATCH", "a"), ("PATCH", "a")]
    ((_, artifact),) = api.stored.items()
    assert artifact == {
        "key": "a",
        "type": "markdown",
        "flow_run_id": str(RUN),
        "description": "other",
        "data": "two",
    }


def test_a_server_that_does_not_answer_is_tried_again(api: Api) -> None:
    page = Artifacts(RUN, api)
    api.away = True
    page.show("markdown", "a", "about", "one")
    api.away = False
    page.show("markdown", "a", "about", "one")
    assert api.shown("a") == "one"


def test_a_study_shows_how_far_it_is(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "Half Döne")
    models = models_of(study)
    train(store, models[:3])
    page_of(study, store, api).update()
    cells = {row["cell"]: row for row in json.loads(api.shown("half-d-ne-cells"))}
    assert list(cells) == ["dsprites-beta_vae-1", "dsprites-beta_vae-4", "dsprites-factor_vae-10"]
    name = "dsprites-beta_vae-4"
    half = {"models": 2, "trained": 1, "scored": 1, "diverged": 0, "failed": 0, "left": 1}
    assert cells[name] == {"cell": name, **half, "steps": "50%"}
    assert api.shown("half-d-ne-progress") == 50.0
    scores = json.loads(api.shown("half-d-ne-scores"))
    assert [row["mig"] for row in scores] == ["0.010", "0.040", ""]
    assert [row["models"] for row in scores] == [2, 1, 0]


def test_the_bar_moves_while_models_train(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s")
    model = models_of(study)[0]
    write_steps(store, model.id, model.recipe.steps // 2)
    page_of(study, store, api).update()
    assert api.shown("s-progress") == round(100 * 0.5 / 12, 1)
    assert [row["steps"] for row in json.loads(api.shown("s-cells"))] == ["25%", "0%", "0%"]


def test_the_bar_counts_models_where_they_have_no_steps(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s", methods={"pca": []}, metrics=[])
    page_of(study, store, api).update()
    assert api.shown("s-progress") == 0.0
    assert [row["steps"] for row in json.loads(api.shown("s-cells"))] == ["0%"]
    train(store, models_of(study)[:1])
    later = Api()
    page_of(study, store, later).update()
    assert later.shown("s-progress") == 50.0
    assert [row["steps"] for row in json.loads(later.shown("s-cells"))] == ["50%"]


def test_the_bar_counts_training_and_scoring(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s", metrics=["mig", "sap"])
    train(store, models_of(study))  # mig, but not sap
    page_of(study, store, api).update()
    assert api.shown("s-progress") == 50.0
    study, store = made_up(tmp_path / "without", metrics=[])
    train(store, models_of(study)[:3])
    page_of(study, store, api).update()
    assert api.shown("without-progress") == 50.0


def test_at_the_end_there_are_scores_report_and_pictures(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s")
    train(store, models_of(study))
    compared(study, store)
    with_pictures(store, study)
    page_of(study, store, api, "http://127.0.0.1:4201/s/report/index.html").finish()
    assert api.shown("s-progress") == 100
    assert all(row["udr (cell)"] for row in json.loads(api.shown("s-scores")))
    assert "](http://127.0.0.1:4201/s/report/index.html)" in api.shown("s-report")
    assert api.shown("s-traversals").count("](data:image/png;base64,") == 2


def test_without_a_server_the_report_is_named_by_its_place(api: Api, tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s")
    page_of(study, store, api).finish()
    assert api.shown("s-report") == f"`{tmp_path}/s/report/index.html`"
    assert not [key for _, key in api.sent if key == "s-traversals"], "there is none"


def test_the_page_is_updated_while_the_block_runs_and_at_its_end() -> None:
    page, durations = Calls(), list[float]()

    def pause(seconds: float) -> float:
        durations.append(seconds)
        return 0.0

    moments = itertools.count()
    with kept_updated(page, pause, lambda: 7.0 * next(moments)):  # type: ignore[arg-type]
        wait_for(lambda: page.calls.count("update") >= 3)
        assert "finish" not in page.calls
    assert page.calls[-1] == "finish"
    assert set(durations) == {7.0}


def test_an_update_takes_at_most_a_sixtieth_of_the_run() -> None:
    assert pause_after(0.001) == 20
    assert pause_after(2.0) == 120


def test_an_artifact_that_cannot_be_shown_fails_no_run() -> None:
    page = Calls(fails=True)
    with kept_updated(page):  # type: ignore[arg-type]
        wait_for(lambda: "update" in page.calls)
    assert page.calls[-1] == "finish"


@pytest.mark.parametrize("error", [ValueError(), Stopped(), SystemExit(), KeyboardInterrupt()])
def test_a_run_shows_how_far_it_came_however_it_ends(error: BaseException) -> None:
    page = Calls()
    with pytest.raises(type(error)), kept_updated(page):  # type: ignore[arg-type]
        wait_for(lambda: page.calls == ["update"])
        raise error
    assert page.calls == ["update", "update"]


def test_a_cancelled_run_does_not_wait_for_a_page_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flows.dashboard.page.LAST_SECONDS", 0.02)
    page, answered = Calls(), threading.Event()
    page.update = answered.wait  # type: ignore[assignment,method-assign]
    with pytest.raises(SystemExit), kept_updated(page):  # type: ignore[arg-type]
        raise SystemExit
    answered.set()


def test_an_interrupted_run_shows_what_was_trained_since_the_last_update(
    api: Api, tmp_path: Path
) -> None:
    study, store = made_up(tmp_path / "s")
    page = page_of(study, store, api)
    with pytest.raises(KeyboardInterrupt), kept_updated(page):
        wait_for(lambda: ("POST", "s-scores") in api.sent)
        assert sum(row["trained"] for row in json.loads(api.shown("s-cells"))) == 0
        models = models_of(study)[:2]
        train(store, models)
        for model in models:
            page.run.cells[model.cell].status[model.id] = "trained"
        raise KeyboardInterrupt
    assert sum(row["trained"] for row in json.loads(api.shown("s-cells"))) == 2
    assert api.shown("s-progress") > 0


def test_the_best_model_of_each_method_is_shown(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s", udr={"pools": ["method"]})
    models = models_of(study)
    train(store, models)
    with_pictures(store, study)
    for number, model in enumerate(models):
        write_row(model, store, "trained", kl_per_latent=[[1.0, 0.5, 0.0]], elbo=-1.0 - number)
    by_elbo = [picture.title for picture in traversals(store, survey(study, store))]
    assert [title.split(": ")[1] for title in by_elbo] == [
        f"ELBO -1.000 ({models[0].id[:6]})",
        f"ELBO -5.000 ({models[4].id[:6]})",
    ]
    compared(study, store)
    ranks = {row["model_id"]: row["udr"] for row in store.read("ranks").to_pylist()}
    best = [
        max((m for m in models if m.method == method), key=lambda m: ranks[m.id])
        for method in ("beta_vae", "factor_vae")
    ]
    pictures = traversals(store, survey(study, store))
    assert [picture.title[-8:-1].strip("()") for picture in pictures] == [m.id[:6] for m in best]
    assert len(pictures) <= MAX_PICTURES


def test_a_picture_is_small_and_shows_the_first_latents(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s")
    train(store, models_of(study))
    compared(study, store)
    with_pictures(store, study, latents=10)
    first, *_ = traversals(store, survey(study, store))
    picture = Image.open(io.BytesIO(base64.b64decode(first.uri.partition(",")[2])))
    assert picture.width <= 300
    assert picture.height == round(300 / 90 * 50), "five of ten rows"


def test_a_damaged_picture_is_left_out(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "s")
    train(store, models_of(study))
    compared(study, store)
    with_pictures(store, study, png=b"no picture")
    assert traversals(store, survey(study, store)) == []


class Calls:
    """Records which of its methods are called."""

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[str] = []
        self.fails = fails

    def update(self) -> None:
        self.calls.append("update")
        if self.fails:
            raise OSError("the store is gone")

    def finish(self) -> None:
        self.calls.append("finish")
        if self.fails:
            raise OSError("the store is gone")


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def with_pictures(store: Store, study: Study, latents: int = 3, png: bytes | None = None) -> None:
    """A traversal of every model, ten pixels a row."""
    file = io.BytesIO()
    Image.new("L", (900, 100 * latents)).save(file, "PNG")
    for model in models_of(study):
        picture = {"kind": ["reconstruction", "traversal"], "order": [[], list(range(latents))]}
        pngs = {"kl": [[], [1.0] * latents], "png": [b"", png or file.getvalue()]}
        store.write_part("pictures", model.id, {**model.keys, **picture, **pngs})
