"""What one look at something says, without any secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]
SECRET_NAMES = re.compile(r"AUTH_STRING|API_KEY|TOKEN$|SECRET|PASSWORD")
IN_ADDRESS = re.compile(r"(\w://)[^/\s]*@")
IN_QUERY = re.compile(r"([?&][^=&\s]*(?:key|token|secret|password)[^=&\s]*=)[^&\s]+", re.IGNORECASE)
HIDDEN = "***"


@dataclass(frozen=True)
class Check:
    """What was found, and what to do about it if it is not well."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


Checks = Iterator[Check]


def masked(text: str) -> str:
    """On one line, without passwords in addresses and without what secret variables hold."""
    text = " ".join(text.split())
    text = IN_QUERY.sub(rf"\1{HIDDEN}", IN_ADDRESS.sub(rf"\1{HIDDEN}@", text))
    for name, value in os.environ.items():
        if SECRET_NAMES.search(name) and len(value) > 3:
            text = text.replace(value, HIDDEN)
    return text


def safely(name: str, checks: Checks) -> Checks:
    """A check that falls over is one that fails, and the others are made all the same."""
    try:
        yield from checks
    except Exception as error:
        yield Check(name, "fail", f"this check fell over: {type(error).__name__}: {error}")
