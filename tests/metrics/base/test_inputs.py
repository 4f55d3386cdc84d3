import pickle

import numpy as np
import pytest

from metrics.base.arrays import BadArray, check
from metrics.base.inputs import Inputs

CODES = np.arange(12.0).reshape(6, 2)
FACTORS = np.arange(6).reshape(6, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_keep_their_type(dtype):
    codes, factors = check(CODES.astype(dtype), FACTORS.astype(np.uint8))
    assert codes.dtype == dtype
    assert factors.dtype == np.int64


def test_lists_and_whole_numbers_are_welcome():
    codes, factors = check([[1, 2], [3, 4]], [[True], [False]])
    assert codes.dtype == np.float64
    assert factors.tolist() == [[1], [0]]


def hole(value):
    codes = CODES.copy()
    codes[4, 1] = value
    return codes


def test_an_error_has_fields_and_travels_between_processes():
    with pytest.raises(BadArray) as caught:
        check(CODES, FACTORS[:3])
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.field, error.found, error.accepted) == ("factors", "3 rows", "6, as codes")
        assert str(error) == "factors: found 3 rows; accepted: 6, as codes"


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (CODES[0], FACTORS, r"codes: found shape \(2,\); accepted: \(rows, columns\)"),
        (CODES[:0], FACTORS[:0], r"codes: found shape \(0, 2\); accepted: .*none of them 0"),
        (CODES[:, :0], FACTORS, r"codes: found shape \(6, 0\)"),
        (CODES.astype(complex), FACTORS, "codes: found complex128; accepted: real numbers"),
        (CODES.astype(str), FACTORS, "codes: found <U32; accepted: real numbers"),
        (hole(np.nan), FACTORS, "codes: found nan in row 4, column 1; accepted: finite numbers"),
        (hole(-np.inf), FACTORS, "codes: found -inf in row 4, column 1"),
        (
            hole(1e200),
            FACTORS,
            r"codes: found 1e\+200 in row 4, column 1; .* below 1e\+150",
        ),
        (hole(np.nan).astype(np.float32), FACTORS, "codes: found nan in row 4, column 1"),
        (CODES, FACTORS[:, 0], r"factors: found shape \(6,\); accepted: \(rows, factors\)"),
        (CODES, FACTORS[:5], "factors: found 5 rows; accepted: 6, as codes"),
        (
            CODES,
            FACTORS * 1.0,
            r"factors: found float64; accepted: integers .* np.unique\(.*np.digitize",
        ),
    ],
)
def test_bad_arrays_are_named_in_one_line(codes, factors, message):
    with pytest.raises(ValueError, match=message) as caught:
        check(codes, factors)
    assert "\n" not in str(caught.value)


def test_missing_groups_and_test_rows_are_named():
    inputs = Inputs(CODES, FACTORS)
    with pytest.raises(ValueError, match="train_groups or test_groups is None"):
        inputs.groups()
    with pytest.raises(ValueError, match="test_codes or test_factors is None"):
        inputs.test_table()
    with pytest.raises(ValueError, match="interventions is None; an array per factor is accepted"):
        inputs.intervened()


def test_a_reason_why_inputs_cannot_be_is_told():
    with pytest.raises(ValueError, match=r"^why$"):
        Inputs(CODES, FACTORS, impossible={"pairs": "why"}).pairs()
    with pytest.raises(ValueError, match=r"^why not$"):
        Inputs(CODES, FACTORS, impossible={"interventions": "why not"}).intervened()
