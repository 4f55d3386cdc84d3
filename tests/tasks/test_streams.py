import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.streams import entropy, stream

plain = st.text(st.characters(exclude_characters="\x1f", codec="utf-8"), max_size=6)


def test_a_stream_is_numpys_seeded_with_the_names_sha256():
    seed = int(hashlib.sha256(b"m1\x1fbatches\x1f7").hexdigest(), 16)
    expected = np.random.default_rng(seed).random(5)
    np.testing.assert_array_equal(stream("m1", "batches", 7).random(5), expected)


@given(one=st.lists(plain, min_size=1, max_size=3), other=st.lists(plain, min_size=1, max_size=3))
def test_other_names_are_another_stream(one, other):
    assert (entropy(*one) == entropy(*other)) is (one == other)


def test_names_that_join_to_the_same_text_are_different_streams():
    assert entropy("a", "bc") != entropy("ab", "c")
    assert entropy("a", 1, 2) != entropy("a", 12)


def test_streams_do_not_share_state():
    alone = stream("a").random(3)
    first, second = stream("a"), stream("b")
    second.random(1000)
    np.random.seed(0)
    np.testing.assert_array_equal(first.random(3), alone)
    assert not np.array_equal(stream("b").random(3), alone)
