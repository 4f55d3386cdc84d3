"""What each metric is, in words: from its docstring, its PARTS and its line in METRICS.

`python -m tasks.explain` prints docs/metrics.md; a test fails when that page is stale.
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from metrics import BUILT_IN, METRICS, Better
from metrics.evaluate import metric
from tasks.citations import PAPERS
from tasks.words import BETTER

HEAD = """# Metrics

Made from `metrics/` by `make docs`. `tolstoy score --explain NAME` prints the same of one metric.

The name is what a spec, `--metrics` and the tables hold; the title is what reports print. The
property is what a good value means:

- modularity: each latent holds one factor;
- compactness: each factor is held by one latent;
- explicitness: a simple predictor can read the factors;
- holistic: all of these at once.
"""
READING = """## When metrics disagree

Compare metrics of the same property. Even for the same representation they differ:

- Where each factor is a latent, all are at their best, except `sap` and `explicitness`: their
  linear classifiers cannot separate a middle value from values on both sides of it.
- Where each factor is two equal latents, only metrics of compactness should fall: `mig` and `sap`
  are 0. `jemmig` rises, too. A lasso uses one of the two latents, so that the completeness of
  `dci_lasso` stays high.
- Where latents are noise, `beta_vae`, `factor_vae`, `rf_vae`, `downstream_logistic` and
  `downstream_trees` are at the accuracy of guessing, and `irs`, `dci_lasso`, `dci_forest` and
  `modularity` may be far above 0, as they do not ask how much a latent knows.
- `rf_vae` needs rows that share all factors but one: a small table has few, and the score falls.

## Parts

`score` is the headline. With `metrics.repeats` above 1, `score deviation` is its deviation (n - 1)
over draws. With `metrics.label_noise`, `score with label noise REGIME` is the headline with wrong
labels ([studies](studies.md#label-noise)). Where a metric reads bins in place of a continuous
factor, `bins` says how many occur. In the names below, N stands for a number, which counts latents
and factors from 0; STEP is `mean` or `max`. Where papers and released code differ,
[choices](choices.md) says what is done here.
"""


@dataclass(frozen=True)
class Explanation:
    """A metric's facts, its docstring and what its parts are."""

    name: str
    title: str
    kind: str
    family: str
    property: str
    better: Better
    bounds: tuple[float, float]
    papers: Mapping[str, str]  # short name, address
    text: str
    parts: Mapping[str, str]


def explain(name: str) -> Explanation:
    """What is known of a metric, also of one that says little about itself."""
    facts, module = METRICS[name], metric(name)
    doc = inspect.cleandoc(module.__doc__ or "This metric does not explain itself.")
    words = re.search(r"\s*Family:\s+(.*?)\.\s+Property:\s+(.*?)\.\n", f"{doc}\n", re.DOTALL)
    family, properties = (" ".join(part.split()) for part in words.groups()) if words else ("", "")
    papers = [PAPERS[key] for key in (facts.paper, *facts.as_in) if key in PAPERS]
    return Explanation(
        name=name,
        title=facts.title,
        kind=facts.kind,
        family=family,
        property=properties,
        better=facts.better,
        bounds=facts.bounds,
        papers={paper.short: paper.url for paper in papers},
        text=_with_shared_conventions(doc.replace(words[0].rstrip("\n"), "") if words else doc),
        parts=getattr(module, "PARTS", {}),
    )


def range_text(of: Explanation) -> str:
    low, high = (f"{bound:g}" for bound in of.bounds)
    return f"{low} to {high}" if math.isfinite(of.bounds[1]) else f"from {low} upwards"


def _with_shared_conventions(text: str) -> str:
    """`Conventions (and those of base/votes.py):`, followed by those of that module, too."""
    heading = re.search(r"^Conventions \((.*)\):$", text, re.MULTILINE)
    if heading is None:
        return text
    shared = []
    for folder, file in re.findall(r"(base|compiled)/(\w+)\.py", heading[1]):
        doc = inspect.cleandoc(import_module(f"metrics.{folder}.{file}").__doc__ or "")
        shared.append(doc.partition("Conventions:\n")[2])
    return "\n".join([text.replace(heading[0], "Conventions:"), *shared])


def section(of: Explanation) -> str:
    """Markdown that reads well as plain text, too."""
    facts = [
        f"Title: {of.title}",
        f"Range: {range_text(of)}; {BETTER[of.better]}",
        *([f"Family: {of.family}"] if of.family else []),
        *([f"Property: {of.property}"] if of.property else []),
        *([f"Kind: {of.kind}, in no mean over metrics"] if of.kind != "disentanglement" else []),
    ]
    lines = [f"## {of.name}", "", *(f"- {fact}" for fact in facts), "", of.text]
    if of.parts:
        parts = (_item(f"`{name}`{_joined(about)}") for name, about in of.parts.items())
        lines += ["", "Parts:", *parts]
    if of.papers:
        cited = (f"[{short}]({url})" for short, url in of.papers.items())
        lines += ["", f"Links: {' · '.join(cited)}"]
    return "\n".join(lines)


def _joined(about: str) -> str:
    """`x`: what it is; or `x`, of each factor: what it is."""
    return f", {about}" if about.startswith("of each ") else f": {about}"


def _item(text: str) -> str:
    return textwrap.fill(
        text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def page() -> str:
    """docs/metrics.md."""
    every = [explain(name) for name in BUILT_IN]
    rows = [
        f"| [{of.name}](#{of.name}) | {of.title} | {of.family} | {of.property.split(' (')[0]} | "
        f"{range_text(of)} | {of.better} |"
        for of in every
    ]
    head = "| name | title | family | property | range | better |\n|---|---|---|---|---|---|"
    return "\n".join([HEAD, head, *rows, "", READING, "\n\n".join(map(section, every))])


if __name__ == "__main__":
    print(page())
