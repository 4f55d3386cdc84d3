"""What is imported is declared, and a wheel holds all files of the packages."""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.additions import ADDITIONS
from tests.tree import PACKAGES, PYPROJECT, ROOT, python_in

PROJECT = PYPROJECT["project"]
# What a benchmark measures where it is installed; without it, the rest is measured.
OPTIONAL = {"lightgbm", "playwright", "xgboost"}
# Never imported: pinned for Prefect, started as a program, or needed by a tool.
NOT_IMPORTED = {"fastapi", "uvicorn"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> list[str]:
    return [normal(re.split(r"[\[<>=!~; ]", line)[0]) for line in requirements]


PRODUCT = declared(PROJECT["dependencies"])
DEVELOPMENT = declared(PROJECT["optional-dependencies"]["dev"])


def modules(file: Path) -> Iterator[str]:
    """The top-level modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{file}: a relative import"
            yield node.module.partition(".")[0]


def distributions(folders: list[str]) -> dict[str, Path]:
    """The distributions that the files of these folders import, each with one of the files."""
    known = packages_distributions()
    ours = {*PACKAGES, "tests", *sys.stdlib_module_names}
    return {
        normal(known.get(module, [module])[0]): file
        for folder in folders
        for file in sorted((ROOT / folder).rglob("*.py"))
        for module in modules(file)
        if module not in ours
    }


def test_the_product_imports_what_is_declared_and_no_development_package() -> None:
    imported = distributions(PACKAGES)
    optional = {name: imported.pop(name) for name in OPTIONAL}
    assert set(imported) | NOT_IMPORTED == set(PRODUCT), imported
    benchmarks = ROOT / "flows" / "benchmarks"
    assert {file.parent for file in optional.values()} == {benchmarks}


def test_tests_import_what_is_declared() -> None:
    imported = distributions(["tests"])
    assert set(imported) <= {*PRODUCT, *DEVELOPMENT}, imported


def test_nothing_is_declared_twice() -> None:
    assert [name for name, count in Counter(PRODUCT + DEVELOPMENT).items() if count > 1] == []


def locked(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").split()
    return {normal(line.partition("==")[0]) for line in lines}


def test_the_locks_hold_what_is_declared_and_a_demo_gets_no_tools_of_developers() -> None:
    runs, develops = locked("requirements.lock"), locked("requirements-dev.lock")
    assert set(PRODUCT) <= runs
    assert set(DEVELOPMENT) <= runs | develops, "some of them are needed to run as well"
    assert not runs & develops
    assert {"pytest", "mypy", "playwright", "moto"} <= develops


def test_a_wheel_holds_all_files_of_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = {
        str(file.relative_to(ROOT))
        for name in PACKAGES
        for file in (ROOT / name).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".env"
    }
    files |= {addition.file for addition in ADDITIONS}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files


def test_an_editable_install_is_one_line_the_checkout_itself(sources: Path) -> None:
    build = "from setuptools import build_meta; build_meta.build_editable('.')"
    python_in(sources, sources, "-c", build)
    (built,) = sources.glob("*editable*.whl")
    with zipfile.ZipFile(built) as files:
        (path,) = (name for name in files.namelist() if ".dist-info/" not in name)
        assert path.endswith(".pth")
        assert files.read(path).decode().split() == [str(sources)]
