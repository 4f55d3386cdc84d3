"""What commands say of the user's own data sets in a study, and of known ones taken in part."""

from __future__ import annotations

from flows.commands.text import say, warn
from tasks.study.data_choice import DataChoice
from tasks.study.spec import Study
from tasks.what_was_read import doubts_about, doubts_about_metrics, pictures_text


def lines_of_own_data(study: Study) -> list[str]:
    """`photos: 208 pictures, 3 channels, of FOLDER`, a line for each of which something can be
    said."""
    return [f"{choice.name}: {text}" for choice in study.data if (text := pictures_text(choice))]


def say_what_was_read(study: Study) -> None:
    for choice in study.data:
        say_what_was_read_of(choice)
    _warn_of_metrics(study)


def say_what_was_read_of(choice: DataChoice) -> None:
    """Nothing of a known data set that is taken whole."""
    if text := pictures_text(choice):
        say(f"{choice.name}: {text}")
        _warn_of(choice)


def warn_of_own_data(study: Study) -> None:
    for choice in study.data:
        _warn_of(choice)
    _warn_of_metrics(study)


def _warn_of_metrics(study: Study) -> None:
    for doubt in doubts_about_metrics(study):
        warn(doubt)


def _warn_of(choice: DataChoice) -> None:
    for doubt in doubts_about(choice):
        warn(f"{choice.name}: {doubt}")
