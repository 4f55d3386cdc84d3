"""What was read of a user's own files, in a line, and doubts about it."""

import pytest

from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.what_was_read import Factor, doubts, doubts_about, factors_text, pictures_text

PHOTOS = ReadFacts(pictures=208, channels=3, ignored=4)
LABELLED = ReadFacts(pictures=5, channels=1, factors=(("shape", 3), ("angle", None)))


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (
            DataChoice(name="photos", folder="/my photos", read=PHOTOS),
            "208 pictures, 3 channels, of /my photos (4 files ignored)",
        ),
        (
            DataChoice(
                name="photos",
                folder="/x",
                read=PHOTOS.model_copy(update={"ignored": 1, "skipped": 2}),
            ),
            "208 pictures, 3 channels, of /x (1 file ignored, 2 broken pictures left out)",
        ),
        (
            DataChoice(name="bars", images="/bars.npz", read=LABELLED),
            "5 pictures, 1 channel, of /bars.npz, 2 factors of 3, real values (shape, angle)",
        ),
        (DataChoice(name="dsprites"), ""),
    ],
)
def test_pictures_in_a_line(choice: DataChoice, text: str) -> None:
    assert pictures_text(choice) == text


def test_of_many_factors_the_first_are_named() -> None:
    assert factors_text([Factor("a", 1)]) == "1 factor of 1 value (a)"
    many = factors_text([Factor(f"f{place}", 1000 + place) for place in range(40)])
    assert many.startswith("40 factors of 1,000, 1,001, ") and many.endswith(", f11, ...)")


def test_doubts() -> None:
    good = [Factor("shape", 3), Factor("angle", None), Factor("object", 50)]
    assert doubts(100, "picture", good) == []
    few, one, own = doubts(99, "picture", [*good, Factor("floor", 1)])
    assert few.startswith("99 pictures: results of fewer than 100")
    assert one.endswith(": floor") and own.endswith(": object")
    assert doubts(1, "point", [Factor("floor", 1)])[1].endswith(": floor"), "not also its own value"
    assert len(doubts_about(DataChoice(name="bars", images="/bars.npz", read=LABELLED))) == 2
    assert doubts_about(DataChoice(name="dsprites")) == []
