"""A report taken apart: its addresses, ids, words and table of scores."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ADDRESSES = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "formaction"}
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """One page, or several that are read one after the other."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[str] = []
        self.addresses: list[tuple[str, str]] = []  # tag, address
        self.ids: list[str] = []
        self.words: list[str] = []
        self.attributes: list[str] = []
        self.rows: list[dict[str, Any]] = []  # of the table of scores
        self._open: list[str] = []
        self._in_scores = False
        self.feed(html)
        self.close()

    @classmethod
    def at(cls, path: str) -> Page:
        """The first page of a report and its questions, in their order."""
        index = Path(path)
        first = index.read_text(encoding="utf-8")
        menu = first[first.index("<nav") : first.index("</nav>")]
        names = re.findall(r'href="(questions/[^"]*)"', menu)
        return cls(first + "".join((index.parent / name).read_text("utf-8") for name in names))

    @classmethod
    def alone(cls, path: Path) -> Page:
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = {name: value or "" for name, value in attrs}
        self.addresses += [(tag, value) for name, value in values.items() if name in ADDRESSES]
        self.attributes += [
            value
            for name, value in values.items()
            if name != "style" and not value.startswith("data:image/png")
        ]
        if "id" in values:
            self.ids.append(values["id"])
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self._in_scores = values.get("id") == "score-table"
        if self._in_scores and tag == "tr" and "data-set" in values:
            self.rows.append(
                {"set": values["data-set"], "method": values["data-method"], "cells": []}
            )
        if self._in_scores and self.rows and tag in ("td", "th"):
            best = "best" in values.get("class", "").split()
            self.rows[-1]["cells"].append({"value": values["data-v"], "text": "", "best": best})

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another element"
        if tag == "table":
            self._in_scores = False

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)
            if self._in_scores and self.rows and self.rows[-1]["cells"]:
                self.rows[-1]["cells"][-1]["text"] += data

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    @property
    def everything_readable(self) -> str:
        """Words and attributes, coordinates among them, but no styles and no pictures."""
        return " ".join([self.text, *self.attributes])

    @property
    def balanced(self) -> bool:
        return not self._open


NO_NUMBER = re.compile(r"\b(nan|none|null|inf|infinity)\b", re.IGNORECASE)
SENTENCES = (
    "number allows none",
    "none of them is computed",
    "None: every model",
    "none are shown here",
    "none worth printing",
    "none of its",
    "none missing",
)


def checked(path: str) -> Page:
    """The page, once it holds no number that is none."""
    page = Page.at(path)
    words = page.everything_readable
    for sentence in SENTENCES:
        words = words.replace(sentence, "")
    assert not [words[max(0, f.start() - 50) : f.end() + 50] for f in NO_NUMBER.finditer(words)]
    assert page.balanced
    return page


def section(html: str, name: str) -> str:
    """The words of a question and of what follows it on its page."""
    match = re.search(rf'<section id="{name}">.*?</main>', html, re.DOTALL)
    assert match, name
    text = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", match[0], flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(text))
