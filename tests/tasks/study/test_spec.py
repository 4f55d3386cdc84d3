"""Studies: presets, what they expand to, and what identifies a model."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import data
import models
from infra.errors import WrongInput
from tasks import data_sets
from tasks.study.data_choice import DataChoice
from tasks.study.model import Model
from tasks.study.reading import parse_study, preset_names, read_study
from tasks.study.sources import with_sources
from tasks.study.spec import Study
from tests.flows.conftest import TINY
from tests.tasks.made_models import changed

PAPER_STRENGTHS = {  # Locatello et al. 2019, Table 3
    "beta_vae": (1, 2, 4, 6, 8, 16),
    "annealed_vae": (5, 10, 25, 50, 75, 100),
    "factor_vae": (10, 20, 30, 40, 50, 100),
    "dip_vae_i": (1, 2, 5, 10, 20, 50),
    "dip_vae_ii": (1, 2, 5, 10, 20, 50),
    "beta_tcvae": (1, 2, 4, 6, 8, 10),
}


SEVEN = (  # Locatello et al. 2019, section 4
    *("dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites"),
    *("smallnorb", "cars3d", "shapes3d"),
)


def test_the_grids_of_papers_that_sweep_latents() -> None:
    """Holtz et al. 2022, section 4; Carbonneau et al. 2022, section 5.1."""
    holtz, carbonneau = read_study("holtz-2022"), read_study("carbonneau-2022")
    assert len(holtz.cells()) == 25 and len(holtz.seed_list) == 25 and holtz.traces
    assert holtz.metrics.label_noise == ("low", "medium", "high")
    assert len(carbonneau.cells()) == 72 and len(carbonneau.seed_list) == 1
    assert {choice.name for choice in carbonneau.data} == {"cars3d", "smallnorb"}


def test_the_comparison_on_teapots_and_a_small_one() -> None:
    """Eastwood & Williams 2018, section 4.2 and appendix A; the released code's epochs and Adam."""
    paper, small = read_study("eastwood-2018"), read_study("teapots-small")
    assert paper.methods == {"pca": (0.0,), "beta_vae": (1.0, 6.0), "infogan": (6.0,)}
    assert (paper.architecture, paper.latents, paper.seed_list) == ("resnet", 10, tuple(range(5)))
    training = paper.training
    assert (training.batch_size, training.learning_rate) == (64, 1e-4)
    assert (training.beta1, training.beta2) == (0, 0.9)
    assert training.steps == 50 * (142_927 // training.batch_size)
    assert paper.metrics.names == ("dci_lasso", "dci_forest")
    largest = {"points": 160_000, "test_points": 21_238}  # of the authors' splits and gap
    assert all(getattr(paper.metrics, name) >= count for name, count in largest.items())
    assert (paper.data[0].first_pictures, small.data[0].first_pictures) == (0, 20_000)
    assert small.metrics.points >= 20_000 <= small.metrics.test_points
    both = [study.model_dump() for study in (paper, small)]
    assert {key for key in both[0] if both[0][key] != both[1][key]} == {
        *("name", "about", "data", "architecture", "seeds", "training", "metrics")
    }
    recipes = [study.training.recipe.model_dump() for study in (paper, small)]
    changed = {key for key in recipes[0] if recipes[0][key] != recipes[1][key]}
    assert changed == {"steps", "batch_size", "learning_rate"}, "its `about` says what is changed"


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_a_study_with_distinct_models(name: str) -> None:
    study = read_study(name)
    ids = [model.id for cell in study.cells() for model in cell.models]
    strengths = sum(len(values) for values in study.methods.values())
    axes = len(study.values_of("architecture")) * len(study.values_of("latents"))
    assert len(ids) == len(study.data) * strengths * axes * len(study.seed_list)
    assert len(set(ids)) == len(ids)
    assert study.about


def test_the_paper_s_study_has_its_strengths_seeds_and_training() -> None:
    study = read_study("locatello-2019")
    assert study.methods == PAPER_STRENGTHS
    assert study.seed_list == tuple(range(50))
    assert tuple(choice.name for choice in study.data) == SEVEN
    assert set(SEVEN) <= set(data.DATA_SETS)
    assert "look-alike" not in study.sources
    assert (study.training.steps, study.training.batch_size, study.latents) == (300_000, 64, 10)
    assert (study.training.learning_rate, study.training.epsilon) == (1e-4, 1e-8)
    assert (study.training.beta1, study.training.beta2) == (0.9, 0.999)
    assert (study.metrics.points, study.metrics.test_points, study.metrics.group_size) == (
        10_000,
        5_000,
        64,
    )


@pytest.mark.parametrize("method", PAPER_STRENGTHS)
def test_a_method_knows_the_paper_s_strengths(method: str) -> None:
    assert models.METHODS[method].strengths == PAPER_STRENGTHS[method]


def test_the_smoke_study_has_the_paper_s_methods_and_needs_nothing_fetched() -> None:
    study = read_study("smoke")
    assert set(study.methods) == set(PAPER_STRENGTHS)
    assert "look-alike" in study.sources, "it must run where nothing can be fetched"
    assert sum(len(cell.models) for cell in study.cells()) == len(PAPER_STRENGTHS) + 1
    assert study.udr.pools == ("data",), "each model is compared with those of all methods"


def model(**changes: object) -> Model:
    (example,) = parse_study({**TINY, "methods": {"beta_vae": [4]}, "seeds": 1}).cells()[0].models
    return changed(example, **changes)


def test_the_id_is_the_hash_of_the_canonical_json() -> None:
    facts = model().identity
    assert "content" not in facts
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    assert model().id == hashlib.sha256(canonical.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "change", [{"fast": False}, {"gpus_per_model": 0.1}, {"gpus_per_model": 0}]
)
def test_where_and_how_it_runs_is_not_in_the_id(change: dict[str, object]) -> None:
    changed = parse_study({**TINY, "training": {**TINY["training"], **change}})
    assert ids(changed) == ids(parse_study(TINY))
    changed.must_extend(parse_study(TINY))


@given(
    st.sampled_from(["log_every", "checkpoint_seconds", "checkpoint_steps"]), st.integers(1, 1000)
)
def test_what_is_not_science_is_not_in_the_id(field: str, value: int) -> None:
    changed = parse_study({**TINY, "training": {**TINY["training"], field: value}})
    assert ids(changed) == ids(parse_study(TINY))


def ids(study: Study) -> list[str]:
    return [model.id for cell in study.cells() for model in cell.models]


def test_whole_and_decimal_strengths_are_the_same_model() -> None:
    whole = parse_study({**TINY, "methods": {"beta_vae": [4]}})
    decimal = parse_study({**TINY, "methods": {"beta_vae": [4.0]}})
    assert ids(whole) == ids(decimal)


def test_a_study_survives_its_own_json() -> None:
    study = parse_study(TINY)
    assert parse_study(study.model_dump(mode="json")) == study


def test_a_changed_preset_is_not_headed_by_what_the_preset_is_about(tmp_path: Path) -> None:
    preset = read_study("mini")
    assert read_study("mini", ["training.steps=100"]).about == ""
    assert read_study("mini", ["about=Photographs", "seeds=2"]).about == "Photographs"
    assert read_study("mini", ["name=photos", "running.tries=2"]).about == preset.about
    spec = tmp_path / "own.yaml"
    spec.write_text("name: own\nabout: Mine\ndata: [dsprites]\nmethods: {beta_vae: [1]}\n")
    assert read_study(str(spec), ["seeds=2"]).about == "Mine"


def test_name_and_about_are_in_no_identity() -> None:
    study = read_study("mini")
    other = read_study("mini", ["name=photos", "about=Photographs"])
    assert study.cells() == other.cells()
    assert not {"name", "about"} & study.cells()[0].models[0].identity.keys()
    other.must_extend(study)


def test_overrides_reach_nested_keys_and_lists(tmp_path: Path) -> None:
    spec = tmp_path / "own.yaml"
    spec.write_text("name: own\ndata: [dsprites]\nmethods: {beta_vae: [1]}\nmetrics: [mig]\n")
    study = read_study(str(spec), ["training.steps=7", "methods.factor_vae=[20]", "seeds=[3, 5]"])
    assert study.training.steps == 7
    assert study.methods == {"beta_vae": (1.0,), "factor_vae": (20.0,)}
    assert study.seed_list == (3, 5)
    assert study.metrics.names == ("mig",)
    assert read_study(str(spec), ["metrics.points=99"]).metrics.points == 99


GROWTH = [
    {"seeds": 3},
    {"methods": {**TINY["methods"], "beta_vae": [1, 2, 4]}},
    {"data": ["dsprites", "color_dsprites"]},
    {"udr": {"p": 1}},
    {"training": {**TINY["training"], "log_every": 10}},
]


@pytest.mark.parametrize("change", GROWTH)
def test_a_store_s_study_may_grow(change: dict[str, object]) -> None:
    parse_study({**TINY, **change}).must_extend(parse_study(TINY))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seeds": 1}, "seeds"),
        ({"methods": {"beta_vae": [1, 4]}}, "methods"),
        ({"methods": {**TINY["methods"], "beta_vae": [1]}}, "methods.beta_vae"),
        ({"data": ["color_dsprites"]}, "data"),
        ({"latents": 5}, "latents"),
        ({"architecture": "library"}, "architecture"),
        ({"probe": 128}, "probe"),
        ({"training": {**TINY["training"], "steps": 9}}, "training.steps"),
        ({"metrics": {**TINY["metrics"], "points": 9}}, "metrics.points"),
        ({"metrics": {**TINY["metrics"], "names": ["mig"]}}, "metrics.names"),
    ],
)
def test_a_change_of_what_was_trained_is_refused(change: dict[str, object], field: str) -> None:
    with pytest.raises(WrongInput) as caught:
        parse_study({**TINY, **change}).must_extend(parse_study(TINY))
    assert caught.value.field == field


def choices(*entries: object) -> tuple[DataChoice, ...]:
    return parse_study({**TINY, "data": list(entries)}).data


def test_a_data_set_is_a_name_or_a_mapping() -> None:
    named, with_source, arrays, folder = choices(
        "dsprites",
        {"name": "shapes3d", "source": "look-alike"},
        {"images": "out/faces.npz", "factors": "labels.csv"},
        {"folder": "some/pictures", "name": "celeba"},
    )
    assert (named.name, named.source, named.own) == ("dsprites", None, False)
    assert with_source.source == "look-alike"
    assert (arrays.name, arrays.own, arrays.factors) == ("faces", True, "labels.csv")
    assert (folder.name, folder.own, folder.folder) == ("celeba", True, "some/pictures")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("dsprite", "did you mean dsprites"),
        ({"name": "dsprites", "source": "look-alike"}, "redrawn, official"),
        ({"name": "dsprites", "factors": "x.csv"}, "factors beside images"),
        ({"images": "a.npz", "folder": "b"}, "one of them"),
        ({"folder": "b", "factors": "x.csv"}, "factors beside images"),
        ({"folder": "cars3d"}, "a name that no known data set has"),
        ({"folder": "a", "name": "x y"}, "letters, digits"),
        ({"folder": "a", "source": "official"}, "user"),
        ({"foldr": "a"}, "name"),
        (7, "a mapping"),
    ],
)
def test_wrong_data_sets_are_refused(entry: object, message: str) -> None:
    with pytest.raises(WrongInput, match=message):
        choices(entry)


def of_teapots(**more: object) -> Study:
    return parse_study({**TINY, "data": [{"name": "teapots", "source": "look-alike", **more}]})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"name": "teapots", "pictures": 999},
            "data teapots, pictures: found 999; accepted: a whole number from 1000 to 200000",
        ),
        (
            {"name": "teapots", "pictures": 200_001},
            "data teapots, pictures: found 200001; accepted: a whole number from 1000 to 200000",
        ),
        ({"name": "teapots", "pictures": 0}, "data teapots, pictures: found 0; accepted: a whole"),
        ({"name": "teapots", "pictures": -5}, "data teapots, pictures: found -5; accepted: a wh"),
        ({"name": "teapots", "pictures": True}, "data teapots, pictures: found True; accepted: a"),
        ({"name": "teapots", "pictures": 2e4}, "data teapots, pictures: found 20000.0; accepted"),
        ({"name": "teapots", "pictures": "20,000"}, "data teapots, pictures: found '20,000'; acc"),
        ({"pictures": [1000], "name": "teapots"}, "data teapots, pictures: found [1000]; accepted"),
        (
            {"name": "shapes3d", "pictures": 1000},
            "data shapes3d, pictures: found 1000; accepted: no such key here, as only teapots and "
            "scene can be taken in part",
        ),
        ({"images": "a.npz", "pictures": 1000}, "data a, pictures: found 1000; accepted: no such"),
        ({"name": "teapot", "pictures": 1000}, "data: found 'teapot'; accepted: "),
    ],
)
def test_a_wrong_number_of_first_pictures_is_refused_in_one_line(
    entry: object, message: str
) -> None:
    with pytest.raises(WrongInput) as error:
        choices(entry)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize("count", [1000, 200_000])
def test_the_fewest_and_the_most_first_pictures_are_accepted(count: int) -> None:
    assert of_teapots(pictures=count).data[0].pictures == count


def test_first_pictures_are_part_of_a_model_s_identity(empty_data: Path) -> None:
    whole, few, more = of_teapots(), of_teapots(pictures=1000), of_teapots(pictures=1001)
    assert not set(ids(whole)) & set(ids(few)) and not set(ids(few)) & set(ids(more))
    assert ids(of_teapots(pictures=200_000)) == ids(of_teapots(pictures=None)) == ids(whole)
    assert ids(with_sources(few)) == ids(few), "also before the source is chosen"
    facts = few.cells()[0].models[0].identity
    assert facts == whole.cells()[0].models[0].identity | {"pictures": 1000}
    stored = json.loads(json.dumps(with_sources(few).model_dump(mode="json")))
    assert stored["data"] == [{"name": "teapots", "source": "look-alike", "pictures": 1000}]
    assert ids(parse_study(stored)) == ids(few)


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (1000, 2000, "data teapots, pictures: found 2000; accepted: 1000: the spec"),
        (None, 2000, "data teapots, pictures: found 2000; accepted: 'all pictures': the spec"),
        (2000, None, "data teapots, pictures: found all pictures; accepted: 2000: the spec"),
        (2000, 200_000, "data teapots, pictures: found all pictures; accepted: 2000: the spec"),
    ],
)
def test_other_first_pictures_do_not_go_into_a_store(
    before: int | None, now: int | None, message: str, empty_data: Path
) -> None:
    older = with_sources(of_teapots(pictures=before))
    with pytest.raises(WrongInput) as error:
        with_sources(of_teapots(pictures=now), older).must_extend(older)
    assert str(error.value).startswith(message)


def test_the_same_first_pictures_go_into_a_store(empty_data: Path) -> None:
    for before, now in ((1000, 1000), (None, 200_000), (200_000, None)):
        older = with_sources(of_teapots(pictures=before))
        with_sources(of_teapots(pictures=now), older).must_extend(older)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("about=2001-99-99", "--set about: found '2001-99-99'"),
        ("data=[{folder: x, colour: y}]", "data.0.colour: found unknown key colour"),
        ("data=[{name: dsprites, x: y}]", "data.0.x: found unknown key x"),
        ("training.stepz=3", "did you mean steps"),
        ("training.memory_per_model=.inf", "training.memory_per_model: found inf"),
    ],
)
def test_a_wrong_override_is_refused_in_one_line(
    override: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(WrongInput, match=re.escape(message)):
        read_study("smoke", [override])
    key, _, value = override.partition("=")
    if "." not in key:
        (tmp_path / "spec.yaml").write_text(
            f"name: n\nmethods: {{beta_vae: [1]}}\n{key}: {value}\n"
        )
        with pytest.raises(WrongInput):
            read_study(str(tmp_path / "spec.yaml"))


def test_a_data_set_cannot_be_listed_twice() -> None:
    with pytest.raises(WrongInput, match="once"):
        choices("dsprites", {"name": "dsprites", "source": "redrawn"})


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("My Photos", "My-Photos"),
        ("celeba", "celeba"),
        ("Köln, 2024 (raw)/", "Koln-2024-raw"),
        ("写真", "pictures"),
        ("sub/..", "{here}"),
        ("v1.2_final-", "v1"),
    ],
)
def test_pictures_are_named_after_their_folder(
    folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (choice,) = choices({"folder": folder})
    assert choice.name == name.format(here="here")
    assert choices({"images": f"{folder.rstrip('/')}.npz"})[0].folder is None


@pytest.mark.parametrize(
    ("data_sets", "message"),
    [
        (
            [{"folder": "a/photos"}, {"folder": "b/photos"}],
            "data: found 2 data sets named photos; accepted: each name once (name: ... gives",
        ),
        ([{"factors": "lab.csv"}], "data, images: found factors lab.csv without images; accepted"),
        (
            [{"name": "mine", "factors": "lab.csv"}],
            "data, images: found factors lab.csv without images; accepted: images: FILE",
        ),
        ([{"source": "official"}], "data: found no name in {'source': 'official'}; accepted: name"),
        ([], "data: found '[]'; accepted: at least one value"),
        (
            [{"images": "a.npz", "skip_broken": True}],
            "data a: found skip_broken with images; accepted: skip_broken with folder",
        ),
        (
            [{"name": "dsprites", "skip_broken": True}],
            "data dsprites, skip_broken: found True; accepted: skip_broken with folder",
        ),
    ],
)
def test_what_is_missing_in_a_data_set_is_named(data_sets: list[object], message: str) -> None:
    with pytest.raises(WrongInput) as error:
        choices(*data_sets)
    assert str(error.value).startswith(message), str(error.value)


@pytest.mark.parametrize(("sources", "message"), [(["offical"], "offical"), ([], "at least one")])
def test_wrong_sources_are_refused(sources: list[str], message: str) -> None:
    with pytest.raises(WrongInput, match=message):
        parse_study({**TINY, "sources": sources})


def test_a_study_takes_the_first_accepted_source_that_is_available(empty_data: Path) -> None:
    spec = {**TINY, "data": ["dsprites", "shapes3d"]}
    with pytest.raises(WrongInput, match=r"shapes3d.*fetch shapes3d.*look-alike"):
        with_sources(parse_study(spec))
    study = with_sources(parse_study({**spec, "sources": ["official", "redrawn", "look-alike"]}))
    assert [choice.source for choice in study.data] == ["redrawn", "look-alike"]
    assert {model.source for model in study.cells()[-1].models} == {"look-alike"}


@pytest.mark.parametrize(
    ("choice", "sources", "ways"),
    [
        (
            {"name": "dsprites", "source": "official"},
            ["redrawn", "official"],
            "'tolstoy data fetch dsprites', or 'source: redrawn' in place of 'source: official'",
        ),
        (
            "cars3d",
            ["official"],
            "'tolstoy data fetch cars3d', or a spec that accepts look-alike "
            "(--set 'sources=[official,look-alike]')",
        ),
        (
            "dsprites",
            ["look-alike"],
            "a spec that accepts redrawn (--set 'sources=[look-alike,redrawn]')",
        ),
        ("mpi3d_toy", ["redrawn", "official"], "'tolstoy data fetch mpi3d_toy'"),
        (
            "mpi3d_toy",
            ["redrawn"],
            "a spec that accepts official (--set 'sources=[redrawn,official]')",
        ),
    ],
)
def test_only_what_would_help_is_offered(
    choice: object, sources: list[str], ways: str, empty_data: Path
) -> None:
    with pytest.raises(WrongInput) as error:
        with_sources(parse_study({**TINY, "data": [choice], "sources": sources}))
    assert error.value.accepted == ways


def test_the_sources_of_the_stored_spec_are_kept(empty_data: Path) -> None:
    older = with_sources(
        parse_study({**TINY, "data": [{"name": "shapes3d", "source": "look-alike"}]})
    )
    newer = parse_study({**TINY, "data": ["shapes3d"]})
    assert with_sources(newer, older).data == older.data
    forced = parse_study({**TINY, "data": [{"name": "dsprites", "source": "redrawn"}]})
    with_sources(forced).must_extend(parse_study(TINY))
    other = older.model_copy(update={"data": (DataChoice(name="shapes3d", source="official"),)})
    with pytest.raises(WrongInput, match=r"shapes3d, source.*official.*look-alike"):
        other.must_extend(older)


def test_the_file_of_a_stored_source_is_looked_for_when_it_is_needed(empty_data: Path) -> None:
    fetched = (DataChoice(name="cars3d", source="official"),)
    older = parse_study(TINY).model_copy(update={"data": fetched})
    assert with_sources(parse_study({**TINY, "data": ["cars3d"]}), older).data == fetched
    with pytest.raises(WrongInput, match="no official pictures"):
        data_sets.load(fetched[0])


def test_a_run_names_all_that_is_missing(empty_data: Path) -> None:
    names = ["cars3d", "dsprites", "smallnorb", "mpi3d_toy"]
    with pytest.raises(WrongInput) as error:
        with_sources(parse_study({**TINY, "data": names}))
    message = str(error.value)
    assert message.startswith("data: found no pictures of cars3d, smallnorb, mpi3d_toy in ")
    look_alike = "'tolstoy data fetch NAME', or a spec that accepts look-alike"
    assert f"for cars3d, smallnorb: {look_alike}" in message
    assert message.endswith("; for mpi3d_toy: 'tolstoy data fetch NAME'")


def test_a_cache_in_which_nothing_can_be_drawn_is_refused_before_a_run(empty_data: Path) -> None:
    study = parse_study({**TINY, "data": ["dsprites"]})
    empty_data.touch()
    with pytest.raises(WrongInput, match=r"TOLSTOY_DATA .*: found .*/data: Not a directory; acc"):
        with_sources(study)
    empty_data.unlink()
    with_sources(study)
    assert not empty_data.exists(), "asking writes nothing"


def test_a_plan_names_what_is_missing(empty_data: Path) -> None:
    missing: list[WrongInput] = []
    study = with_sources(
        parse_study({**TINY, "data": ["dsprites", "cars3d"]}), missing=missing.append
    )
    assert [choice.source for choice in study.data] == ["redrawn", None]
    (error,) = missing
    assert error.field == "data cars3d"
    assert {model.source for model in study.cells()[-1].models} == {"official"}


@pytest.fixture
def empty_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": True}, "seeds: found 'true'; accepted: a number from 1"),
        ({"seeds": [1, True]}, "seeds: found 'true'"),
        ({"seeds": 10**8}, "seeds: found 100000000; accepted: at most 200,000 models"),
        ({"latents": 10**8}, "latents: found 100000000; accepted: a whole number from 1 to 4096"),
        ({"training": {"steps": 10**20}}, "training.steps: found 1"),
        ({"training": {"batch_size": 10**9}}, "training.batch_size: found 1000000000"),
        ({"training": {"learning_rate": float("inf")}}, "training.learning_rate: found inf"),
    ],
)
def test_what_no_machine_could_run_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(WrongInput) as error:
        parse_study({**TINY, **change})
    assert str(error.value).startswith(message), str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: a\ndata: [dsprites]\nname: b\nmethods: {beta_vae: [1]}\n", 3),
        ("name: a\ndata: [dsprites]\nmethods:\n  beta_vae: [1]\n  beta_vae: [2]\n", 5),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, line: int) -> None:
    spec = tmp_path / "own.yaml"
    spec.write_text(text)
    with pytest.raises(WrongInput, match=rf"own.yaml, line {line}: found the key \w+ twice"):
        read_study(str(spec))
