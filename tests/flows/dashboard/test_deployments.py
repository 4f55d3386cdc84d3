"""Forms of the dashboard: what they offer, what they become, and what they may not use."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from flows.dashboard import deployments
from flows.dashboard.deployments import rank_deployment, report_deployment, study_deployment
from flows.dashboard.forms import OwnData, RankForm, ReportForm, StudyForm
from flows.dashboard.limits import VARIABLE, Limits
from infra.errors import WrongInput
from infra.store import Store
from metrics import METRICS
from tasks.study.reading import preset_names, read_study
from tests.flows.trained import compared, made_up, models_of, train


def refusal(flow: Any, parameters: dict[str, Any]) -> str:
    """The API's error, if parameters do not fit the form's schema; else empty."""
    schema = parameter_schema(flow.fn).model_dump_for_openapi()
    try:
        jsonschema.validate(parameters, schema)
    except jsonschema.ValidationError as error:
        return error.message
    return ""


@pytest.mark.parametrize("name", preset_names())
def test_an_empty_form_is_the_preset(name: str) -> None:
    form = StudyForm(preset=name)
    assert form.study(Limits()) == read_study(name)
    assert form.folder == name


def test_what_is_filled_in_changes_the_preset() -> None:
    form = StudyForm.model_validate(
        {
            "preset": "smoke",
            "store": "mine",
            "data": ["shapes3d", "cars3d"],
            "methods": [
                {"method": "beta_vae", "strengths": [2, 3.5]},
                {"method": "factor_vae", "strengths": [7]},
            ],
            "seeds": 3,
            "training_steps": 77,
            "metrics": ["mig", "sap"],
            "changes": ["probe=64", "training.batch_size=8", "udr.pools=[cell]"],
        }
    )
    study = form.study(Limits())
    assert [choice.name for choice in study.data] == ["shapes3d", "cars3d"]
    assert study.methods == {"beta_vae": (2.0, 3.5), "factor_vae": (7.0,)}
    assert (study.seeds, study.training.steps, study.probe) == (3, 77, 64)
    assert study.metrics.names == ("mig", "sap")
    assert (study.training.batch_size, study.udr.pools) == (8, ("cell",))
    assert study.metrics.points == read_study("smoke").metrics.points, "the rest is the preset's"
    assert form.folder == study.name == "mine"


def test_a_study_has_the_name_of_its_store_unless_the_changes_name_it() -> None:
    assert StudyForm(store="dash1").study(Limits()).name == "dash1"
    assert StudyForm(store="dash1", changes=["name=cars"]).study(Limits()).name == "cars"
    with pytest.raises(WrongInput, match="store: found"):
        StudyForm(store="../outside").study(Limits())


def test_the_api_refuses_what_the_form_does_not_offer() -> None:
    for wrong, message in (
        ({"preset": "nope"}, "is not one of"),
        ({"preset": "../../etc/passwd"}, "is not one of"),
        ({"metrics": ["migg"]}, "is not one of"),
        ({"data": ["/etc"]}, "is not one of"),
        ({"data": [{"folder": "/etc"}]}, "is not one of"),
        ({"methods": [{"method": "gan", "strengths": [1]}]}, "is not one of"),
        ({"methods": [{"method": "beta_vae", "strengths": [-1]}]}, "minimum"),
        ({"seeds": -1}, "minimum"),
        ({"seeds": "many"}, "is not of type"),
        ({"workers": -1}, "minimum"),
        ({"retry": ["trained"]}, "is not one of"),
        ({"ray": "10.0.0.1:6379"}, "Additional properties"),
        ({"store": "x" * 201}, "too long"),
    ):
        assert message in refusal(study_deployment, {"study": wrong}), wrong
    assert not refusal(study_deployment, {"study": {"preset": "mini", "metrics": list(METRICS)}})
    assert "is a required property" in refusal(rank_deployment, {"ranking": {}})
    assert "is not one of" in refusal(rank_deployment, {"ranking": {"store": "a", "pool": "b"}})
    assert "is a required property" in refusal(report_deployment, {"report": {}})


def test_every_field_says_what_it_is() -> None:
    for form in (StudyForm, RankForm, ReportForm):
        for name, field in form.model_fields.items():
            assert field.description, f"{form.__name__}.{name}"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"changes": ["seeds=none"]}, "seeds: found"),
        ({"changes": ["sedes=1"]}, "sedes: found"),
        ({"changes": ["seeds"]}, "--set: found"),
        ({"changes": ["training.steps=0"]}, "training.steps: found 0"),
        ({"methods": [{"method": "beta_vae", "strengths": []}]}, "methods.beta_vae: found"),
        (
            {
                "methods": [
                    {"method": "beta_vae", "strengths": [1]},
                    {"method": "beta_vae", "strengths": [4]},
                ]
            },
            "methods: found beta_vae twice; accepted: each method once",
        ),
        ({"own_data": [{"name": "mine"}]}, "own_data: found"),
        ({"preset": "nope"}, "preset: found"),
        ({"retry": ["trained"]}, "retry: found"),
    ],
)
def test_the_rest_is_refused_in_one_line(form: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongInput) as refused:
        StudyForm.model_validate(form).study(Limits())
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [(["mig"], "6 models: 6 trained, 6 scored"), ([], "6 models: 6 trained")],
)
def test_a_run_without_metrics_counts_no_scored_models(
    metrics: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = made_up(tmp_path / "smoke", metrics=metrics)
    train(store, models_of(study))
    compared(study, store)
    monkeypatch.setattr(StudyForm, "study", lambda *_: study)
    monkeypatch.setattr(deployments, "DashboardPage", lambda *_: None)
    monkeypatch.setattr(deployments, "kept_updated", lambda _: nullcontext())
    assert deployments._study(StudyForm(), Limits(studies=str(tmp_path))) == message


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"workers": 10_000}, "workers: found 10000; accepted: a number from 1 to "),
        ({"changes": ["training.precision=bfloat16"]}, "training.precision: found 'bfloat16'"),
    ],
)
def test_what_this_machine_lacks_is_refused_before_anything_is_written(
    form: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.study.precision.has_bfloat16", lambda: False)
    monkeypatch.setattr("tasks.study.precision.has_nvidia_gpu", lambda: False)

    def opened(*_: object) -> None:
        raise OpenedError

    monkeypatch.setattr(deployments, "open_study", opened)
    limits = Limits(studies=str(tmp_path))
    with pytest.raises(WrongInput) as refused:
        deployments._study(StudyForm.model_validate(form), limits)
    assert str(refused.value).startswith(message)
    with pytest.raises(OpenedError):  # a cluster's machines are others
        deployments._study(
            StudyForm.model_validate(form), limits.model_copy(update={"ray": "head:6379"})
        )


class OpenedError(Exception):
    """The study was opened in its store."""


def test_a_preset_is_a_name_and_never_a_file(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("name: mine\ndata: [dsprites]\nmethods: {beta_vae: [1]}\n")
    with pytest.raises(WrongInput, match="preset"):
        StudyForm(preset=str(spec)).study(Limits())


STORES_OUTSIDE = ["..", "a/../../x", "a/b", "/etc", "~root/x", "s3://bucket/x", "a\0b", "", "-x"]


@pytest.mark.parametrize("studies", ["here/studies", "s3://bucket/studies"])
def test_a_store_is_a_name_below_the_studies(studies: str) -> None:
    for name in STORES_OUTSIDE:
        with pytest.raises(WrongInput, match="store: found"):
            Limits(studies=studies).store(name)


def test_stores_lie_below_the_studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Limits().store("a.b_C-9") == str(tmp_path / "studies" / "a.b_C-9")
    assert Limits(studies="s3://bucket/all/").store("a") == "s3://bucket/all/a"


def test_a_link_out_of_the_studies_is_no_store(tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    studies.mkdir()
    (studies / "inside").mkdir()
    (studies / "out").symlink_to(tmp_path)
    (studies / "self").symlink_to(studies)
    (studies / "other").symlink_to(studies / "inside")
    limits = Limits(studies=str(studies))
    for name in ("out", "self"):
        with pytest.raises(WrongInput, match="a link out of the studies"):
            limits.store(name)
    assert limits.store("other") == str(studies / "other")


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A folder that the server allows, next to one that it does not, and a link to that."""
    folder = tmp_path / "allowed"
    (folder / "cats").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (folder / "way-out").symlink_to(tmp_path / "secret")
    return folder


@pytest.mark.parametrize("field", ["folder", "images", "factors"])
def test_own_data_needs_allow_data(field: str, allowed: Path) -> None:
    entry = {"folder": "cats"} if field == "folder" else {"images": "a.npz", field: "a.npz"}
    form = StudyForm.model_validate({"own_data": [entry]})
    with pytest.raises(WrongInput, match="--allow-data"):
        form.study(Limits())
    (choice,) = form.study(Limits(allow_data=str(allowed))).data
    assert getattr(choice, field) == str(allowed / entry[field])


PLACES_OUTSIDE = ["..", "/etc", "cats/../../secret", "way-out", "way-out/x", "~/x", "s3://b/x"]


@pytest.mark.parametrize("field", ["own_data", "changes"])
def test_own_data_lies_below_the_allowed_folder(allowed: Path, field: str) -> None:
    for place in PLACES_OUTSIDE:
        form = (
            StudyForm.model_validate({"own_data": [{"name": "mine", "folder": place}]})
            if field == "own_data"
            else StudyForm(changes=[f"data=[{{name: mine, folder: '{place}'}}]"])
        )
        with pytest.raises(WrongInput, match="or a place below it"):
            form.study(Limits(allow_data=str(allowed)))


@pytest.mark.parametrize("place", [".", "cats/..", "{allowed}", "{allowed}/"])
def test_the_allowed_folder_itself_is_own_data(allowed: Path, place: str) -> None:
    (allowed / "way-out").unlink()  # with it no picture of this folder is read
    row = OwnData(name="mine", folder=place.format(allowed=allowed))
    (choice,) = StudyForm(own_data=[row]).study(Limits(allow_data=str(allowed))).data
    assert choice.folder and Path(choice.folder).resolve() == allowed.resolve()


@pytest.mark.parametrize("place", ["cats", "./cats", "{allowed}/cats"])
def test_own_data_is_read_where_it_was_allowed(
    allowed: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the same name in the server's current folder is not read."""
    (allowed.parent / "cats").mkdir()
    monkeypatch.chdir(allowed.parent)
    spelt = place.format(allowed=allowed)
    form = StudyForm(changes=[f"data=[{{name: mine, folder: '{spelt}'}}]"])
    (choice,) = form.study(Limits(allow_data=str(allowed))).data
    assert choice.folder and Path(choice.folder).resolve() == (allowed / "cats").resolve()


def test_own_data_is_added_to_the_chosen_data_sets(allowed: Path) -> None:
    own = [{"folder": "cats"}, {"folder": "cats", "name": "felines", "skip_broken": True}]
    form = StudyForm.model_validate({"data": ["dsprites"], "own_data": own})
    study = form.study(Limits(allow_data=str(allowed)))
    assert [choice.name for choice in study.data] == ["dsprites", "cats", "felines"]
    assert [choice.skip_broken for choice in study.data] == [False, False, True]


def test_a_form_has_no_more_workers_than_the_server() -> None:
    assert Limits().workers_for(0) is None
    assert Limits().workers_for(3) == 3
    assert Limits(workers=2).workers_for(0) == 2
    assert Limits(workers=2).workers_for(3) == 2
    assert Limits(workers=2).workers_for(1) == 1


def test_a_form_cannot_name_a_cluster_or_anything_unknown() -> None:
    for name in ("ray", "ray_address", "studies", "allow_data"):
        with pytest.raises(ValidationError):
            StudyForm.model_validate({name: "x"})


def test_the_servers_settings_reach_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "{}")
    limits = Limits(studies="s", ray="a:1", workers=2, allow_data="d", reports="http://h:1")
    limits.publish()
    assert Limits.of_this_process() == limits
    monkeypatch.delenv(VARIABLE)
    assert Limits.of_this_process() == Limits(), "a plain tolstoy run"


def test_the_report_has_an_address_only_where_it_is_served(tmp_path: Path) -> None:
    limits = Limits(studies=str(tmp_path), reports="http://127.0.0.1:4201")
    address = "http://127.0.0.1:4201/mine/report/index.html"
    assert limits.report_address(Store(tmp_path / "mine")) == address
    assert limits.report_address(Store(tmp_path / "deep" / "mine")) is None
    assert Limits(studies=str(tmp_path)).report_address(Store(tmp_path / "mine")) is None


def test_a_ranking_asks_for_what_is_filled_in() -> None:
    form = RankForm(store="s", pool="cell", similarity="spearman", p=3, data="dsprites", top=5)
    request = form.request()
    assert (request.pool, request.similarity, request.p) == ("cell", "spearman", 3)
    assert request.data == "dsprites"
    assert RankForm(store="s").request().data is None


@pytest.fixture(autouse=True)
def _no_settings_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name == VARIABLE]:
        monkeypatch.delenv(name)
