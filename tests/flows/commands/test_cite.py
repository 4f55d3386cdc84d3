"""BibTeX of what was used: nothing missing, nothing else, and readable by BibTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from data import DATA_SETS
from flows.cli import main
from metrics import BUILT_IN, METRICS, SIMILARITIES
from models import METHODS
from tasks.citations import PAPERS
from tests.flows.trained import made_up

FOUNDING = {"locatello-2019", "duan-2020"}


def braced(text: str, at: int) -> int:
    """The place behind the brace that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise AssertionError(f"unbalanced from {text[at : at + 60]}")


def parsed(text: str) -> dict[str, dict[str, str]]:
    """Entries by key; their kind and comment are fields, too. Raises at what BibTeX cannot read."""
    entries: dict[str, dict[str, str]] = {}
    at = 0
    while (begins := text.find("@", at)) >= 0:
        comment = text[at:begins]
        opens = text.index("{", begins)
        end = braced(text, opens)
        key, _, inside = text[opens + 1 : end - 1].partition(",")
        assert re.fullmatch(r"[a-z0-9-]+", key), key
        assert key not in entries, f"{key} twice"
        fields = {"kind": text[begins + 1 : opens], "comment": comment.strip()}
        place = 0
        while field := re.compile(r"\s*(\w+) = (?=\{)").match(inside, place):
            place = braced(inside, field.end())
            assert inside[place] == ","
            assert field[1] not in fields, f"{key}: {field[1]} twice"
            fields[field[1]] = inside[field.end() + 1 : place - 1]
            place += 1
        assert not inside[place:].strip(), inside[place:]
        entries[key] = fields
        at = end
    return entries


def cited(capsys: pytest.CaptureFixture[str], *what: object) -> dict[str, dict[str, str]]:
    assert main(["cite", *map(str, what)]) == 0
    return parsed(capsys.readouterr().out)


def test_all_entries_can_be_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    everything = cited(capsys)
    assert len(everything) >= 18
    for key, entry in everything.items():
        assert entry["comment"].startswith(f"% {key}: "), entry["comment"]
        assert {"author", "title", "year", "url"} <= entry.keys(), key
        assert entry["year"] in key
        assert entry["kind"] == ("inproceedings" if "booktitle" in entry else "misc")
        whole = " ".join(entry.values())
        assert entry["author"].isascii(), "old BibTeX reads ASCII"
        assert entry["title"].isascii(), "old BibTeX reads ASCII"
        assert "–" not in whole


def test_every_name_has_a_reference_beside_the_founding_papers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables: tuple[Mapping[str, Any], ...] = (METHODS, METRICS, SIMILARITIES)
    with_paper = [name for table in tables for name in table if table[name].paper]
    assert with_paper, "an empty paper is allowed, but not everywhere"
    for name in (*with_paper, *(name for name in DATA_SETS if DATA_SETS[name].papers)):
        entries = cited(capsys, name)
        assert entries.keys() >= FOUNDING, name
        uses = {
            use
            for key in FOUNDING
            for use in entries[key]["comment"].partition(": ")[2].split("; ")
        }
        has_paper = len(entries) > len(FOUNDING) or uses - {"the study's design", "UDR"}
        assert has_paper, f"{name}: its line must name a paper"


def test_names_give_only_their_own_papers(capsys: pytest.CaptureFixture[str]) -> None:
    entries = cited(capsys, "mig", "shapes3d")
    assert entries.keys() == FOUNDING | {"chen-2018", "burgess-kim-2018"}
    assert entries["chen-2018"]["comment"] == "% chen-2018: MIG"
    assert entries["chen-2018"]["author"].count(" and ") == 3
    assert entries["chen-2018"]["pages"] == "2615--2625"


def test_the_papers_whose_definition_a_metric_uses_are_cited(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = cited(capsys, "sap", "fairness")
    assert entries.keys() == FOUNDING | {
        "kumar-2018",
        "carbonneau-2022",
        "locatello-2019b",
        "holtz-2022",
    }
    assert entries["carbonneau-2022"]["comment"] == "% carbonneau-2022: SAP"
    assert entries["holtz-2022"]["comment"] == "% holtz-2022: Unfairness"
    assert r"Marc-Andr{\'e}" in entries["carbonneau-2022"]["author"]


def test_a_name_of_a_method_and_a_metric_is_cited_for_both(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cited(capsys, "factor_vae")["kim-2018"]["comment"] == (
        "% kim-2018: FactorVAE; FactorVAE score"
    )


def test_a_store_gives_exactly_what_its_study_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, _ = made_up(
        tmp_path / "store",
        data=[{"name": "dsprites", "source": "redrawn"}, {"name": "mine", "folder": "/nowhere"}],
        udr={"similarities": ["spearman"], "pools": ["cell"]},
    )
    assert set(study.methods) == {"beta_vae", "factor_vae"}
    assert main(["cite", str(tmp_path / "store")]) == 0
    out = capsys.readouterr().out
    entries = parsed(out)
    methods, metric, data = {"higgins-2017", "kim-2018"}, {"chen-2018"}, {"matthey-2017"}
    assert entries.keys() == FOUNDING | methods | metric | data
    assert "UDR (spearman)" in entries["duan-2020"]["comment"]
    assert "lasso" not in out
    assert "% mine: your own data" in out


def test_stores_and_names_may_be_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up(tmp_path / "store")
    assert {"chen-2018", "reed-2015"} <= cited(capsys, tmp_path / "store", "cars3d").keys()


def test_json_has_a_row_per_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "dsprites", "mpi3d_real", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == FOUNDING | {"matthey-2017", "gondal-2019"}
    assert rows["locatello-2019"]["authors"][5] == "Schölkopf, Bernhard"
    assert rows["matthey-2017"]["cited_for"] == ["dSprites"]
    assert parsed(rows["matthey-2017"]["bibtex"]).keys() == {"matthey-2017"}
    assert "Unchecked" in rows["gondal-2019"]["note"]
    assert rows["duan-2020"]["note"] is None


def test_what_is_neither_a_name_nor_a_store_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong, hint in (("migg", "did you mean mig?"), (str(tmp_path), "a store")):
        assert main(["cite", wrong]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert wrong in err
        assert hint in err


def test_every_paper_of_the_tables_is_known() -> None:
    """References leave out keys that are unknown, as those of a metric of another package."""
    named = [method.paper for method in METHODS.values()]
    named += [paper for name in BUILT_IN for paper in (METRICS[name].paper, *METRICS[name].as_in)]
    named += [paper for data_set in DATA_SETS.values() for paper in data_set.papers]
    named += [paper for by in SIMILARITIES.values() for paper in (by.paper, *by.as_in)]
    assert set(named) <= {*PAPERS, ""}
