"""What is wrong with a command line, as Cyclopts finds it, in the form of our own messages."""

from __future__ import annotations

import inspect
import types
from typing import Any, Literal, Union, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from infra.errors import WrongInput, one_of

KINDS = {int: "a whole number", float: "a number", bool: "true, false, or the option alone"}


def as_wrong_input(error: CycloptsError) -> WrongInput | None:
    """The field, what was found and what is accepted; None for an error that has no such form."""
    command = " ".join(("tolstoy", *(error.command_chain or ())))
    if isinstance(error, UnknownOptionError):
        named = (name for option in error.argument_collection for name in option.names)
        names = [name for name in named if name.startswith("-")]
        found = error.token.keyword or error.token.value
        return WrongInput("option", found, one_of(names, found))
    if isinstance(error, UnknownCommandError) and error.unused_tokens and error.app:
        names = [name for name in error.app if not name.startswith("-")]
        return WrongInput("command", error.unused_tokens[0], one_of(names, error.unused_tokens[0]))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        accepted = f"no more than {command} takes (--help)"
        return WrongInput("arguments", " ".join(error.unused_tokens), accepted)
    if isinstance(error, RepeatArgumentError):
        return WrongInput(error.token.keyword or "option", "it twice", "it once")
    if isinstance(error, MissingArgumentError) and error.argument:
        name = error.keyword or error.argument.name
        accepted = error.argument.parameter.help or f"a value ({command} --help)"
        return WrongInput(name, "nothing", accepted)
    if isinstance(error, CoercionError) and error.token and error.argument:
        name = error.token.keyword or error.argument.name
        return WrongInput(name, error.token.value, _kind(error.target_type, error.token.value))
    return None


def _kind(wanted: Any, found: str) -> str:
    """What a value of this type is called."""
    if get_origin(wanted) in (Union, types.UnionType):
        wanted = next((kind for kind in get_args(wanted) if kind is not type(None)), wanted)
    if get_origin(wanted) is Literal:
        return one_of(get_args(wanted), found)
    name = wanted.__name__ if inspect.isclass(wanted) else str(wanted)
    return KINDS.get(wanted, f"a value of the type {name}")
