"""The error that a user can correct: it names the field, what was found and what is accepted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# Phrases that several messages share; tests refer to them, too.
RUN_AGAIN = "Run the same command again to continue."
PERMITTED = "a place that you may read and write"
RAY_CLUSTER = "a Ray cluster that runs"
LONGEST_FIELD = 400  # characters; a key of a spec is as long as its author wants
# Also those that end a line or turn the direction of writing, beyond ASCII.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class WrongInput(ValueError):
    """Wrong input; the command line prints it on one line and exits with 2."""

    def __init__(self, field: str, found: object, accepted: str) -> None:
        self.field, self.found, self.accepted = field, found, accepted
        place = field if len(field) <= LONGEST_FIELD else f"{field[: LONGEST_FIELD - 3]}..."
        message = f"{place}: found {_short(found)}; accepted: {accepted}".replace("\n", " ")
        super().__init__(escaped(message))

    def __reduce__(self) -> tuple[type[WrongInput], tuple[str, object, str]]:
        """Errors travel between processes as their fields, not as their message."""
        return type(self), (self.field, self.found, self.accepted)


def _short(found: object) -> str:
    """A value is cut sooner than a sentence, which may name several files."""
    is_sentence = isinstance(found, str) and " " in found.strip()
    try:
        text, longest = (str(found), 800) if is_sentence else (repr(found), 120)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= longest else text[: longest - 3] + "..."


def escaped(text: str) -> str:
    """The text with its control characters written as Python does: a name from a file or an
    argument must neither break a line nor change the terminal's colours."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_of(names: Iterable[str], found: object) -> str:
    """`a, b, c (did you mean b?)`: what is accepted, with the nearest valid name. The dashes of
    options make no two of them alike."""
    by_word = {name.lstrip("-"): name for name in names}
    typed = str(found).strip().lower().lstrip("-")
    near = difflib.get_close_matches(typed, by_word, n=1, cutoff=0.55)
    return ", ".join(by_word.values()) + (f" (did you mean {by_word[near[0]]}?)" if near else "")
