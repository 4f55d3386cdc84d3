"""Forms of the dashboard with hostile values, and what a server allows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from pydantic import ValidationError

from flows.dashboard.deployments import rank_deployment, study_deployment
from flows.dashboard.forms import RankForm, ReportForm, StudyForm
from flows.dashboard.limits import Limits
from flows.dashboard.runner import _name
from infra.errors import WrongInput
from tests.fuzz.cases import IN_TWO_SIZES, accepted, only_in, run
from tests.fuzz.mutations import names

SETS = [
    "probe=1000",
    "data=[{folder: /etc}]",
    "data=[{folder: ..}]",
    "name=../x",
    "seeds=0x" + "f" * 150,
]
SETS += [
    "data=[{images: s3://bucket/x}]",
    "data=[{folder: ~}]",
    "about=&a [*a]",
    "training.steps=1e9",
]
SETS += [
    "data=[{images: link/secret.npz}]",
    "=",
    "a",
    "data.0.folder=/etc",
    "running={order: cells}",
]
PATHS = [
    ".",
    "..",
    "/etc",
    "in",
    "in/../..",
    "link",
    "~",
    "~root",
    "s3://bucket/x",
    "\0",
    "in\n",
    "file:///",
]


def forms() -> st.SearchStrategy[dict[str, Any]]:
    """Mostly of the right types: the API checks those."""
    lines = st.one_of(names(), st.sampled_from(["", "", "mine"]))
    numbers = st.one_of(st.integers(0, 9), st.sampled_from([-1, 2**31, 2**63, 10**400, 1.5, True]))
    places = st.one_of(st.sampled_from(PATHS), names())
    own = st.fixed_dictionaries(
        {}, optional={"folder": places, "images": places, "factors": places, "name": lines}
    )
    rows = st.fixed_dictionaries(
        {"method": st.sampled_from(["beta_vae", "pca", "no"])},
        optional={"strengths": st.lists(st.one_of(st.floats(), numbers), max_size=3)},
    )
    fields = {
        "preset": st.sampled_from(["smoke", "mini", "smoke", "../x", "/etc/passwd", ""]),
        "store": lines,
        "data": st.lists(st.sampled_from(["dsprites", "cars3d", "/etc"]), max_size=2),
        "methods": st.lists(rows, max_size=2),
        "seeds": numbers,
        "training_steps": numbers,
        "metrics": st.lists(st.sampled_from(["mig", "sap", "x"]), max_size=2),
        "own_data": st.lists(own, max_size=2),
        "changes": st.lists(st.one_of(st.sampled_from(SETS), names()), max_size=2),
        "workers": numbers,
        "retry": st.lists(st.sampled_from(["failed", "trained"]), max_size=1),
        "ray": st.just("10.0.0.1:6379"),
    }
    optional = st.fixed_dictionaries({}, optional=fields)
    return st.one_of(optional, optional, st.dictionaries(st.sampled_from(sorted(fields)), lines))


@pytest.fixture
def limits(tmp_path: Path) -> Limits:
    """A server that allows pictures in a folder, which has a link out of it."""
    allowed = tmp_path / "allowed"
    (allowed / "in").mkdir(parents=True)
    (allowed / "link").symlink_to("/etc")
    return Limits(studies=str(tmp_path / "studies"), allow_data=str(allowed), workers=2)


def check(form: dict[str, Any], limits: Limits, base: Path) -> None:
    """A form names no store outside the studies, and no file outside the allowed folder."""
    try:
        parsed = StudyForm.model_validate(form)
    except ValidationError:
        return
    with only_in(base):
        study = accepted(lambda: parsed.study(limits))
        store = accepted(lambda: limits.store(parsed.folder))
    if store is not None:
        assert Path(store).resolve().parent == (base / "studies").resolve()
    for choice in study.data if study else ():
        for place in filter(None, (choice.folder, choice.images, choice.factors)):
            assert Path(place).resolve().is_relative_to((base / "allowed").resolve()), place
    assert (limits.workers_for(parsed.workers) or 1) <= 2


@IN_TWO_SIZES
def test_hostile_forms(cases: int, limits: Limits, tmp_path: Path) -> None:
    run(cases, lambda form: check(form, limits, tmp_path), form=forms())


@IN_TWO_SIZES
def test_hostile_names_of_stores(cases: int, limits: Limits, tmp_path: Path) -> None:
    """In the forms of rank and report, and in the names that runs have on the dashboard."""

    def one(store: str, p: int, top: int) -> None:
        for form, fields in ((RankForm, {"p": p, "top": top}), (ReportForm, {})):
            try:
                parsed: Any = form.model_validate({"store": store, **fields})
            except ValidationError:
                continue
            place = accepted(lambda name=parsed.store: limits.store(name))
            assert place is None or Path(place).parent == tmp_path / "studies"
        assert isinstance(_name(rank_deployment, {"ranking": {"store": store}}), str)
        assert isinstance(_name(study_deployment, {"study": {"store": store}}), str)

    run(cases, one, store=names(), p=st.integers(), top=st.integers())


def test_a_form_is_no_way_to_the_servers_files(limits: Limits) -> None:
    with pytest.raises(WrongInput, match="own_data, folder: found 'link'"):
        StudyForm(own_data=[{"folder": "link"}]).study(limits)
