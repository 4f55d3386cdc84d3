"""`tolstoy cite`: BibTeX of what a study used, or of methods, metrics and data sets by name."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from data import DATA_SETS
from infra.errors import WrongInput, one_of
from infra.store import Store
from metrics import METRICS, SIMILARITIES
from models import METHODS
from tasks.citations import PAPERS, Reference, references
from tasks.study.stored import STUDY_FILE, stored_study


@dataclass
class Used:
    """Names of each kind, each once, in the order in which they were met."""

    methods: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    data: dict[str, None] = field(default_factory=dict)
    similarities: dict[str, None] = field(default_factory=dict)
    own: dict[str, None] = field(default_factory=dict)  # data sets that only their owner can cite

    def add_name(self, name: str) -> bool:
        """Whether it is the name of anything: some are those of a method and of a metric."""
        known = (
            (self.methods, METHODS),
            (self.metrics, METRICS),
            (self.data, DATA_SETS),
            (self.similarities, SIMILARITIES),
        )
        places = [place for place, names in known if name in names]
        for place in places:
            place[name] = None
        return bool(places)

    def add_store(self, place: str) -> None:
        study = stored_study(Store(place))
        self.methods |= dict.fromkeys(study.methods)
        self.metrics |= dict.fromkeys(study.metrics.names)
        self.data |= dict.fromkeys(data_set.name for data_set in study.data if not data_set.own)
        self.own |= dict.fromkeys(data_set.name for data_set in study.data if data_set.own)
        if study.udr.pools:
            self.similarities |= dict.fromkeys(study.udr.similarities)


def cite(what: Sequence[str], json: bool) -> int:
    """Print the references of stores and names; of everything if nothing is named."""
    used = _used(what or (*METHODS, *METRICS, *DATA_SETS, *SIMILARITIES))
    cited = references(used.methods, used.metrics, used.data, True, used.similarities)
    print(_as_json(cited) if json else _as_bibtex(cited, used.own))
    return 0


def _used(what: Iterable[str]) -> Used:
    used = Used()
    for name in what:
        if used.add_name(name):
            continue
        if not Store(name).exists(STUDY_FILE):
            names = dict.fromkeys((*METHODS, *METRICS, *DATA_SETS, *SIMILARITIES))
            raise WrongInput("cite", name, "a store, or any of " + one_of(names, name))
        used.add_store(name)
    return used


def _as_bibtex(cited: Sequence[Reference], own: Iterable[str]) -> str:
    entries = [
        f"% {reference.key}: {'; '.join(reference.cited_for)}\n"
        + PAPERS[reference.key].bibtex(reference.key)
        for reference in cited
    ]
    entries += [f"% {name}: your own data; its reference is yours to add" for name in own]
    return "\n\n".join(entries)


def _as_json(cited: Sequence[Reference]) -> str:
    rows = []
    for reference in cited:
        paper = PAPERS[reference.key]
        rows.append(
            {
                "key": reference.key,
                "cited_for": reference.cited_for,
                "authors": paper.authors.split(" and "),
                "year": paper.year,
                "title": paper.title.replace("{", "").replace("}", ""),
                "venue": paper.venue or None,
                "pages": paper.pages or None,
                "url": paper.url,
                "note": paper.note or None,
                "bibtex": paper.bibtex(reference.key),
            }
        )
    return jsonlib.dumps(rows, indent=2, ensure_ascii=False)
