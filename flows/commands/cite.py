"""`tolstoy cite`: BibTeX of what a study, or what one names, stands on."""

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
        self.data |= dict.fromkeys(one.name for one in study.data if not one.own)
        self.own |= dict.fromkeys(one.name for one in study.data if one.own)
        if study.udr.pools:
            self.similarities |= dict.fromkeys(study.udr.similarities)


def cite(what: Sequence[str], json: bool) -> int:
    """Print the references of stores and names; of all that there is if nothing is given."""
    used = _used(what or (*METHODS, *METRICS, *DATA_SETS, *SIMILARITIES))
    found = references(used.methods, used.metrics, used.data, True, used.similarities)
    print(_as_json(found) if json else _as_bibtex(found, used.own))
    return 0


def _used(what: Iterable[str]) -> Used:
    used = Used()
    for one in what:
        if used.add_name(one):
            continue
        if not Store(one).exists(STUDY_FILE):
            names = dict.fromkeys((*METHODS, *METRICS, *DATA_SETS, *SIMILARITIES))
            raise WrongInput("cite", one, "a store, or any of " + one_of(names, one))
        used.add_store(one)
    return used


def _as_bibtex(found: Sequence[Reference], own: Iterable[str]) -> str:
    entries = [
        f"% {one.key}: {'; '.join(one.cited_for)}\n{PAPERS[one.key].bibtex(one.key)}"
        for one in found
    ]
    entries += [f"% {name}: your own data; its reference is yours to add" for name in own]
    return "\n\n".join(entries)


def _as_json(found: Sequence[Reference]) -> str:
    rows = []
    for one in found:
        paper = PAPERS[one.key]
        rows.append(
            {
                "key": one.key,
                "cited_for": one.cited_for,
                "authors": paper.authors.split(" and "),
                "year": paper.year,
                "title": paper.title.replace("{", "").replace("}", ""),
                "venue": paper.venue or None,
                "pages": paper.pages or None,
                "url": paper.url,
                "note": paper.note or None,
                "bibtex": paper.bibtex(one.key),
            }
        )
    return jsonlib.dumps(rows, indent=2, ensure_ascii=False)
