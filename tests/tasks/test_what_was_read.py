"""What was read of a user's own files, in a line, and doubts about it."""

import pytest

from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.study.spec import Study
from tasks.what_was_read import (
    Factor,
    doubts,
    doubts_about,
    doubts_about_metrics,
    factors_text,
    pictures_text,
)

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
            "208 pictures, 3 channels, of /x (1 file ignored; 2 broken pictures left out)",
        ),
        (
            DataChoice(
                name="photos",
                folder="/x",
                read=PHOTOS.model_copy(update={"ignored_endings": ((".heic", 3), (".txt", 1))}),
            ),
            "208 pictures, 3 channels, of /x (4 files ignored: .heic 3, .txt 1)",
        ),
        (
            DataChoice(name="bars", images="/bars.npz", read=LABELLED),
            "5 pictures, 1 channel, of /bars.npz, 2 factors of 3, real values (shape, angle)",
        ),
        (DataChoice(name="dsprites"), ""),
        (DataChoice(name="teapots"), ""),
        (DataChoice(name="teapots", pictures=200_000), ""),
        (
            DataChoice(name="teapots", pictures=20_000),
            "the first 20,000 of 200,000 pictures",
        ),
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
    logos = DataChoice(name="x", folder="/x", read=PHOTOS.model_copy(update={"transparent": 2}))
    (doubt,) = doubts_about(logos)
    assert doubt == "2 pictures with transparency: what is transparent becomes black"


def test_many_endings_are_not_all_named() -> None:
    endings = tuple((f".{letter}", 1) for letter in "abcdefgh")
    facts = PHOTOS.model_copy(update={"ignored": 8, "ignored_endings": endings})
    text = pictures_text(DataChoice(name="photos", folder="/x", read=facts))
    assert text.endswith("(8 files ignored: .a 1, .b 1, .c 1, .d 1, .e 1, .f 1, ...)")


def test_metrics_that_pictures_without_factors_cannot_have() -> None:
    def doubts_of(names: list[str], *choices: DataChoice) -> list[str]:
        study = Study(name="s", data=choices, methods={"beta_vae": (1,)}, metrics={"names": names})
        return doubts_about_metrics(study)

    photos = DataChoice(name="photos", folder="/x", read=PHOTOS)
    bars = DataChoice(name="bars", images="/bars.npz", read=LABELLED)
    only = "only unsupervised can be computed"
    advice = "; --set 'metrics=[unsupervised]'"
    both = ["mig", "unsupervised"]
    assert doubts_of(both, photos) == [f"photos has no factors: of the metrics {only}{advice}"]
    assert doubts_of(both, photos, bars) == [f"photos has no factors: of the metrics {only}"]
    two = [photos, photos.model_copy(update={"name": "others"})]
    none = "photos, others have no factors: of the metrics none can be computed"
    assert doubts_of(["mig"], *two) == [f"{none}{advice}"]
    assert (
        doubts_of(both, bars) == doubts_of(["unsupervised"], photos) == doubts_of([], photos) == []
    )
