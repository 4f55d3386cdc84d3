"""Tables, durations and bars as text."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from flows.commands.text import bar, duration, fitting, in_ascii, say, table, warn

HEAD = ("name", "count", "note")
ROWS = [("beta", 5, "x"), ("b", 1200, "")]


def test_columns_are_aligned_and_numbers_are_to_the_right() -> None:
    assert table(HEAD, ROWS).splitlines() == [
        "name  count  note",
        "beta      5  x",
        "b      1200",
    ]


@pytest.mark.parametrize(("width", "count"), [(1, 2), (11, 2), (16, 2), (17, 3)])
def test_as_many_columns_as_fit_and_always_two(width: int, count: int) -> None:
    assert fitting(HEAD, ROWS, width) == count


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0.5, "30 s"), (90, "90 min"), (600, "10.0 h"), (60 * 24 * 10, "10.0 days")],
)
def test_durations(minutes: float, text: str) -> None:
    assert duration(minutes) == text


def test_what_is_done_at_once_prints_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("own") as move:
        move("reading", 1.0)
    assert capsys.readouterr() == ("", "")


def test_characters_that_a_terminal_lacks_are_spelled_out() -> None:
    text = "β-TCVAE, 2 × 3 ± 1, Möller, λ², −0.5, “a”, ███, \udcff, 図"
    spelled = "".join(c if c.isascii() else in_ascii(c) for c in text)
    assert spelled == 'beta-TCVAE, 2 x 3 +- 1, Moller, lambda2, -0.5, "a", ###, ?, ?'


def test_commands_print_on_a_terminal_that_has_ascii_only() -> None:
    """The titles of methods and the help have other characters."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **ascii_only, "COLUMNS": "80"}
    environment.pop("PYTHONIOENCODING", None)
    for arguments, wanted in ((["cite"], b"beta-VAE"), (["score", "--help"], b"factor x latent")):
        command = [sys.executable, "-m", "flows.cli", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii() and wanted in done.stdout


def test_control_characters_are_printed_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert table(("name",), [("a\nb\x1b[31m",)]).splitlines() == ["name", r"a\nb\x1b[31m"]
    say("one\ntwo\x1b]0;title\x07")
    warn("a\nb")
    assert capsys.readouterr().err == ("one\ntwo\\x1b]0;title\\x07\ntolstoy: warning: a\\nb\n")
