"""`tolstoy export STORE`: the study as one table, a row per model."""

from __future__ import annotations

from pathlib import Path

from flows.commands.text import say
from infra.new_file import new_file, writing_new
from infra.store import Store
from tasks.study.stored import stored_study
from tasks.words import plural

ENDINGS = (".parquet", ".csv")


def export_study(uri: str, to: Path) -> int:
    new_file(to, "--to", ENDINGS)
    store = Store(uri)
    study = stored_study(store)
    from tasks.wide_table import wide_table

    table = wide_table(store, study)
    with writing_new(to, "--to", ENDINGS) as partial:
        if to.suffix.lower() == ".csv":
            table.to_csv(partial, index=False)
        else:
            table.to_parquet(partial, index=False)
    columns = plural(table.shape[1], "column")
    say(f"Wrote {to}: {plural(len(table), 'model')}, {columns}.")
    return 0
