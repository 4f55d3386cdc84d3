"""Finds commands in shell text, and has the programs themselves parse them; none is run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

PROGRAMS = ("tolstoy", "ray", "prefect")


def commands(text: str) -> Iterator[list[str]]:
    """The `tolstoy`, `ray` and `prefect` commands of a text, also those handed to another shell."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        for is_operator, part in groupby(lexer, lambda word: set(word) <= set("();<>|&")):
            words = list(part)
            if is_operator or words[0] in ("cd", "make"):  # followed by a folder of that name
                continue
            for word in words:
                if " " in word:
                    yield from commands(word)
            names = [Path(word).name for word in words]
            start = next((i for i, name in enumerate(names) if name in PROGRAMS), None)
            if start is not None:
                yield [names[start], *words[start + 1 :]]


def check_command(words: list[str]) -> None:
    """Raise if the program does not accept the command."""
    program, arguments = words[0], words[1:]
    if program == "ray":
        from ray.scripts.scripts import cli

        command = cli.get_command(None, arguments[0])
        assert command, f"ray has no command {arguments[0]}"
        command.make_context(arguments[0], arguments[1:])
    elif program == "prefect":
        from prefect.cli._app import _app as app

        arguments = [word for word in arguments if word != "--no-prompt"]  # of every command
        app.parse_args(arguments, print_error=False, exit_on_error=False)
    else:
        from flows.cli import app

        app.parse_args(arguments, print_error=False, exit_on_error=False)
