"""Every page: its commands, its YAML, its links, and the files that it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclopts import MissingArgumentError

from tasks.study.reading import parse_study
from tests.shell_commands import check_command, commands
from tests.tree import PACKAGES, ROOT

PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
IN_THIS_TREE = (*PACKAGES, "tests", "docs")
SUFFIXES = (".py", ".md", ".toml", ".lock", ".yaml", ".sh", ".j2", ".css", ".js")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, text in BLOCK.findall(read(page)):
        if language in languages:
            yield text


def spans(page: Path) -> list[str]:
    """What stands between single backticks, outside of blocks."""
    return CODE.findall(BLOCK.sub("", read(page)))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", read(page)), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_commands_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for page in PAGES:
        for text in blocks(page, "", "sh"):
            for command in commands(text):
                check_command(command)
            assert set(re.findall(r"^make ([\w-]+)", text, re.M)) <= TARGETS


def test_commands_in_sentences_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for page in PAGES:
        for text in spans(page):
            if text.startswith("make "):
                assert text.split()[1] in TARGETS, text
            elif text.startswith("tolstoy "):
                with suppress(MissingArgumentError):  # the sentence names the command, not a call
                    check_command(text.split())


def test_every_choice_links_to_its_line() -> None:
    """`BINS` at metrics/x.py#L12 means that line 12 of the file has the word BINS."""
    page = ROOT / "docs" / "choices.md"
    rows = [line for line in read(page).splitlines() if line.startswith("| ")]
    table = rows[: next(place for place, row in enumerate(rows) if "| disentanglement |" in row)]
    wrong = []
    for row in table[1:]:
        link = re.search(r"\| \[`(.+)`\]\(\.\./(.+)#L(\d+)\) \|$", row)
        assert link, f"no link to a line: {row}"
        word, file, number = link.groups()
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        if not whole.search(lines[int(number) - 1]):
            places = [place for place, line in enumerate(lines, 1) if whole.search(line)]
            wrong.append(f"{file}#L{number} has no {word}; lines with it: {places}")
    assert not wrong, "\n".join(wrong)
    assert len(table) > 50


def test_commands_are_found() -> None:
    """Most of README's and all of the cluster's commands are in blocks."""
    for name, least in {"README.md": 8, "docs/cluster.md": 20}.items():
        assert sum(len(list(commands(text))) for text in blocks(ROOT / name, "")) >= least


def test_yaml_is_read_as_a_study() -> None:
    for page in PAGES:
        for text in blocks(page, "yaml"):
            settings: dict[str, Any] = {
                "name": "n",
                "data": ["dsprites"],
                "methods": {"beta_vae": [1]},
            }
            keys = re.findall(r"^(\w+):", text, re.M)
            assert len(keys) == len(set(keys)), "a key stands there twice, and the first is ignored"
            parse_study(settings | yaml.safe_load(text))


def test_python_is_python() -> None:
    for page in PAGES:
        for text in blocks(page, "python"):
            ast.parse(text)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", read(page))):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            assert file.exists(), target
            if file.suffix == ".py":  # test_every_choice_links_to_its_line
                assert not anchor or re.fullmatch(r"L\d+", anchor), target
            else:
                assert not anchor or anchor in anchors(file), target


def test_files_that_are_named_exist() -> None:
    """Capitals stand for a name: models/NAME.py is any file there."""
    for page in PAGES:
        for text in spans(page):
            top = text.partition("/")[0]
            if " " in text or not (top in IN_THIS_TREE if "/" in text else text.endswith(SUFFIXES)):
                continue
            if re.match(r"models/(ID|\w{16})\b", text):  # of a store, not of this tree
                continue
            pattern = re.sub(r"\b[A-Z][A-Z_]+\b", "*", text)
            assert any(ROOT.glob(pattern)) or any(page.parent.glob(pattern)), text


def test_the_tree_and_the_way_of_a_model_name_existing_files() -> None:
    """The first two blocks of CONTRIBUTING.md: folders by indentation, then paths."""
    tree, way = blocks(ROOT / "CONTRIBUTING.md", "text")
    parents: list[Path] = []
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        parents[depth:] = [(parents[depth - 1] if depth else ROOT) / line.split()[0]]
        assert parents[-1].exists(), line
    paths = set(re.findall(rf"\b(?:{'|'.join(PACKAGES)})/[\w./]+", way))
    assert len(paths) >= 14
    assert all((ROOT / path).exists() for path in paths)


def test_every_page_is_linked_from_the_readme() -> None:
    text = read(ROOT / "README.md")
    assert [page.name for page in PAGES if page.name not in text and page.stem != "README"] == []
