import numpy as np

from tasks.own import OwnCodes
from tasks.score_codes import split_inputs

DRAWS = np.random.default_rng(0)
FACTORS = DRAWS.integers(3, size=(90, 2))
OWN = OwnCodes(FACTORS + DRAWS.normal(size=(90, 2)), FACTORS, None)


def test_the_first_two_thirds_train_and_the_rest_test():
    inputs = split_inputs(OWN, ["mig", "sap"], 0)
    np.testing.assert_array_equal(inputs.codes, OWN.codes[:60])
    np.testing.assert_array_equal(inputs.factors, FACTORS[:60])
    np.testing.assert_array_equal(inputs.test_codes, OWN.codes[60:])
    np.testing.assert_array_equal(inputs.test_factors, FACTORS[60:])


def test_trees_are_seeded_by_the_seed():
    seeds = [split_inputs(OWN, ["dci"], seed).tree_seed for seed in (0, 0, 1)]
    assert seeds[0] == seeds[1] != seeds[2]
