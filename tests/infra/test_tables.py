from pathlib import Path

import pyarrow as pa
import pytest

from infra.tables import AXES, KEYS, PROTOCOL, TABLES, page, schema

ROOT = Path(__file__).parents[2]


def test_the_page_in_docs_is_fresh():
    stale = "docs/tables.md is stale: make docs"
    assert (ROOT / "docs/tables.md").read_text(encoding="utf-8") == page() + "\n", stale


@pytest.mark.parametrize("table", TABLES)
def test_every_column_says_what_it_is(table):
    columns = schema(table)
    assert columns.metadata[b"about"].decode().endswith(".")
    about = [field.metadata[b"about"].decode() for field in columns]
    assert all(len(words) > 3 and "|" not in words for words in about)


@pytest.mark.parametrize("table", TABLES)
def test_keys_come_first_and_names_are_distinct(table):
    names = schema(table).names
    assert names[: len(KEYS)] == [
        *("model_id", "data", "source", "method", "strength"),
        *AXES,
        *("seed", "protocol"),
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("table", TABLES)
def test_the_page_names_every_column_below_its_table(table):
    section = page().partition(f"\n## {table}\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines()]
    for field in TABLES[table][1]:
        assert field.name in rows


def test_protocol_is_a_number_that_fits_its_column():
    assert PROTOCOL >= 1
    assert pa.scalar(PROTOCOL, schema("models").field("protocol").type).as_py() == PROTOCOL
