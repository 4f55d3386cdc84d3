"""`tolstoy run`: do what is left, show it, survive Ctrl-C, and say what came of it."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from flows.comparing import all_stands
from flows.console import table, totals
from flows.reporting import median_rows, renewed_report
from flows.spec import Study
from flows.survey import STUDY_FILE, CellSurvey, check_store, forget, settled_study, survey
from infra.runtime import check_address
from infra.store import Store


def run_study(
    study: Study, uri: str, workers: int | None, ray: str | None, retry: set[str], json: bool
) -> int:
    """Run what is left of a study in a store; the exit code says how it ended."""
    if ray:
        check_address(ray)
    store = Store(uri)
    study = settled_study(study, store)
    new = check_store(study, store)
    store.prepare()
    if new:
        store.write_json(study.model_dump(mode="json"), STUDY_FILE)
    if retry and (forgotten := forget(study, store, retry)):
        _say(f"{forgotten} models will be tried again.")
    found = survey(study, store)
    left, unscored = sum(len(o.left) for o in found), sum(len(o.unscored) for o in found)
    troubles: list[str] = []
    if left or unscored or not all_stands(study, store, found):
        done = totals(found)["trained"]
        _say(
            f"{study.name}: {left} models to train, {left + unscored} to score, "
            f"{done} trained before; store {store}"
        )
        try:
            troubles = _flow(study, store, workers, ray)
        except KeyboardInterrupt:
            return _interrupted(study, store)
        found = survey(study, store)
    else:
        _say(f"{study.name}: nothing to train, score or compare; all of it stands in {store}.")
    report = renewed_report(study, store)
    return _end(study, store, found, troubles, report, json)


def _flow(study: Study, store: Store, workers: int | None, ray: str | None) -> list[str]:
    from flows.study import study_flow
    from infra.runtime import prefect_api

    with prefect_api():
        troubles: list[str] = study_flow(study, store.uri, ray, workers)
    return troubles


def _interrupted(study: Study, store: Store) -> int:
    total = totals(survey(study, store))
    _say(
        f"\nInterrupted. {total['trained']} of {total['models']} models are trained and "
        f"{total['scored']} scored; models under way go on from their last checkpoint.\n"
        "The same command goes on from here."
    )
    return 130


def _end(
    study: Study,
    store: Store,
    found: Sequence[CellSurvey],
    troubles: Sequence[str],
    report: str,
    json: bool,
) -> int:
    total = totals(found)
    bad = total["failed"] + total["diverged"]
    if json:
        facts = {"study": study.name, "store": store.root, "report": report, **total}
        print(jsonlib.dumps(facts, indent=2))
    else:
        print(table(*median_rows(study, store, found)))
        if bad:
            print(f"\n{bad} models have no weights:")
            print(_reasons(store))
            print(f"Try them again: {_command()} run {study.name} --retry failed,diverged")
        for trouble in troubles:
            print(f"\n{trouble}")
        me = _command()
        print(
            f"\nstore   {store}\nreport  {report}\n\nNext:\n"
            f"  {me} status {store}\n"
            f"  {me} plan locatello-2019\n"
            f"  {me} run mini --set seeds=2 --set training.steps=2000"
        )
    return 1 if bad or troubles else 0


def _reasons(store: Store) -> str:
    rows = store.read("models", ["model_id", "method", "strength", "seed", "status", "reason"])
    return "\n".join(
        f"  {row['model_id']} ({row['method']} {row['strength']:g}, seed {row['seed']}) "
        f"{row['status']}: {row['reason']}"
        for row in rows.to_pylist()
        if row["status"] != "trained"
    )


def _command() -> str:
    """How to call this command again from here, whether or not it is on the PATH."""
    called = Path(sys.argv[0])
    if which("tolstoy") or called.name != "tolstoy":
        return "tolstoy"
    here = Path.cwd()
    return str(called.relative_to(here)) if called.is_relative_to(here) else str(called)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
