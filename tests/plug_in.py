"""A package that adds a metric: the module of CONTRIBUTING.md, "In a package of your own"."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tree import ROOT


def module_of_the_page() -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition("#### In a package of your own")[2].partition("\n### ")[0]
    (module,) = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    return module


def install_plug_in(place: Path, module: str = "") -> None:
    """What pip would write for a package with the metric best_rho."""
    (place / "my_package").mkdir(parents=True)
    (place / "my_package" / "__init__.py").write_text("")
    text = module or module_of_the_page()
    (place / "my_package" / "best_rho.py").write_text(text, encoding="utf-8")
    facts = place / "my_package-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    points = "[tolstoy.metrics]\nbest_rho = my_package.best_rho\n"
    (facts / "entry_points.txt").write_text(points)
