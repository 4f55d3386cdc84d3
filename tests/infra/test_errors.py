import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import WrongInput, one_of

words = st.text("ab \n", max_size=9)


@given(field=words, found=st.one_of(words, st.integers(), st.none()), accepted=words)
def test_the_message_is_one_line_that_holds_field_and_what_is_accepted(field, found, accepted):
    message = str(WrongInput(field, found, accepted))
    assert "\n" not in message
    assert message.startswith(field.replace("\n", " "))
    assert message.endswith(accepted.replace("\n", " "))


def test_messages_name_what_was_found_and_accepted():
    assert str(WrongInput("seeds", 0, "a number from 1")) == (
        "seeds: found 0; accepted: a number from 1"
    )
    assert str(WrongInput("data", "dsprite", "x")) == "data: found 'dsprite'; accepted: x"
    assert str(WrongInput("store", "s (no room)", "y")) == "store: found s (no room); accepted: y"


def test_long_findings_are_cut():
    message = str(WrongInput("codes", "x" * 5000, "y"))
    assert len(message) < 160 and "..." in message
    files = "; ".join(f"photographs/summer/{number:04}.jpg" for number in range(10))
    assert files in str(WrongInput("data", files, "y"))
    assert len(str(WrongInput("data", "x y" * 5000, "y"))) < 850


def test_an_error_survives_the_way_between_processes():
    error = WrongInput("seeds", [1, 1], "each value once")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is WrongInput and str(copy) == str(error)
    assert (copy.field, copy.found, copy.accepted) == ("seeds", [1, 1], "each value once")


@pytest.mark.parametrize(
    ("wrong_name", "near"),
    [("beta_vea", "beta_vae"), ("factorvae", "factor_vae"), ("MIG", "mig"), (3, None)],
)
def test_the_nearest_name_is_suggested(wrong_name, near):
    accepted = one_of(("beta_vae", "factor_vae", "mig"), wrong_name)
    assert accepted.startswith("beta_vae, factor_vae, mig")
    assert accepted.endswith(f" (did you mean {near}?)") is (near is not None)
    assert ("did you mean" in accepted) is (near is not None)


def test_dashes_make_no_two_options_alike():
    options = ("--out", "--store", "--bins")
    assert one_of(options, "--bogus") == "--out, --store, --bins"
    assert one_of(options, "--stor").endswith("(did you mean --store?)")


def test_names_may_be_a_generator():
    assert one_of((name for name in ("alpha", "beta")), "bet") == (
        "alpha, beta (did you mean beta?)"
    )
