"""What a spec may say of label noise, and which factors of a data set it reaches."""

import pytest

import data
from data.base.protocol import Grid
from infra.errors import WrongInput
from metrics.base.label_noise import Noise
from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.study.label_noise import REGIMES, check_factors, noise_by_regime, noise_of
from tasks.study.reading import parse_study
from tasks.study.spec import images_per_model

SPEC = {"name": "test", "data": ["dsprites"], "methods": {"beta_vae": [1]}, "seeds": 2}
MINE = {"shape": 0.05, "position": 0.5}


def study(noise, **others):
    return parse_study({**SPEC, **others, "metrics": {"names": ["mig"], "label_noise": noise}})


@pytest.mark.parametrize(
    ("written", "regimes"),
    [
        (None, ()),
        ([], ()),
        ("high", ("high",)),
        (["high", "low"], ("low", "high")),
        (MINE, (MINE,)),
        ([MINE, "medium"], ("medium", MINE)),
    ],
)
def test_names_mappings_and_lists_of_both(written, regimes):
    settings = study(written).metrics
    assert settings.label_noise == regimes
    stored = study(written).model_dump(mode="json")
    assert parse_study(stored).metrics.label_noise == regimes


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("hihg", "did you mean high|high"),
        (3, "names of regimes"),
        ({"shape": 1.5}, "label_noise.shape: found 1.5; accepted: a number from 0 to 1"),
        ({"shape": True}, "a number from 0 to 1"),
        ({"shape": float("nan")}, "a number from 0 to 1"),
        ({}, "at least one factor"),
        ([MINE, MINE], "at most one"),
        (["low", "low"], "each value once"),
        ({"shap": 0.1, "scale": 0.1}, "found 'shap'; accepted: .*scale"),
        ({"pos": 0.1}, "found 'pos'; accepted: .*position_x"),
    ],
)
def test_what_is_refused(written, words):
    with pytest.raises(WrongInput, match=words):
        study(written)


def test_a_factor_of_one_data_set_is_enough():
    study({"lighting": 0.1}, data=["dsprites", "smallnorb"])
    with pytest.raises(WrongInput, match="lighting"):
        study({"lighting": 0.1})
    study("low", data=["shapes3d"])  # it has shape, scale and orientation
    with pytest.raises(WrongInput, match="shape, scale, orientation, position"):
        study("low", data=["cars3d"])
    study("low", data=["cars3d", "dsprites"])


def test_factors_of_own_data_are_checked_once_they_were_read():
    own = study({"shape": 0.1}, data=[{"images": "mine.npz"}])
    read = ReadFacts(pictures=3, channels=1, factors=(("size", 3),))
    choice = DataChoice(name="mine", images="mine.npz", read=read)
    with pytest.raises(WrongInput, match="factors of the study's data: size"):
        own.model_copy(update={"data": (choice,)}).check_label_noise()
    with pytest.raises(WrongInput, match="data sets with factors"):
        check_factors(("low",), [()])


def test_a_name_reaches_its_factor_or_all_that_begin_with_it():
    noise = noise_of(data.describe("dsprites"), REGIMES["high"] | {"position_y": 0.5})
    assert noise == {
        0: Noise(3, "categorical", 0.3),
        1: Noise(6, "ordered", 0.3),
        2: Noise(40, "periodic", 0.3),
        3: Noise(32, "ordered", 0.3),
        4: Noise(32, "ordered", 0.5),
    }
    assert list(noise_of(data.describe("shapes3d"), REGIMES["low"])) == [3, 4, 5]
    grid = Grid("g", "user", 1, ("posit", "position", "positions"), (2, 2, 2))
    assert list(noise_of(grid, {"position": 0.1})) == [1]


def test_regimes_without_a_factor_of_the_data_set_are_left_out():
    regimes = ("low", {"azimuth": 0.1})
    assert list(noise_by_regime(regimes, data.describe("cars3d"))) == ["own"]
    assert list(noise_by_regime(regimes, data.describe("dsprites"))) == ["low"]
    assert not noise_by_regime(regimes, Grid("none", "user", 1, (), ()))


def test_the_regimes_are_those_of_table_2():
    """Columns p_shape, p_scale, p_orient., p_pos."""
    rows = [tuple(of_factor.values()) for of_factor in REGIMES.values()]
    assert rows == [(0.05, 0.1, 0.05, 0.05), (0.1, 0.2, 0.1, 0.1), (0.3, 0.3, 0.3, 0.3)]
    assert {tuple(of) for of in REGIMES.values()} == {("shape", "scale", "orientation", "position")}


def test_label_noise_is_fixed_for_a_store_and_older_stores_have_none():
    older = study(None)
    stored = older.model_dump(mode="json")
    del stored["metrics"]["label_noise"]
    study(None, seeds=3).must_extend(parse_study(stored))
    with pytest.raises(WrongInput, match=r"metrics\.label_noise"):
        study("low").must_extend(parse_study(stored))
    study("low", seeds=3).must_extend(study("low"))


def test_pictures_of_groups_are_read_once_more_in_each_regime():
    settings, sizes = study(None).metrics, (3, 4)
    tables = settings.model_copy(update={"names": ("mig", "dci")})
    every = settings.model_copy(update={"names": ("mig", "dci", "factor_vae", "fairness")})
    assert images_per_model(tables, sizes, 3) == images_per_model(tables, sizes) == 15_000
    groups = images_per_model(every, sizes) - 15_000
    assert groups == 15_000 * 64 + 100 * 7
    assert images_per_model(every, sizes, 3) == 15_000 + 4 * groups
