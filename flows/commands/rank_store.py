"""`tolstoy rank STORE`: the models of a study, best first, also while it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

from flows import worker
from flows.commands.rank import Ranking
from flows.commands.rank_shown import Ranked, Rows, as_json, as_text
from flows.driver import comparison_calls, in_a_line, no_rank
from flows.progress import Progress, shown
from infra.errors import WrongInput, one_of
from infra.store import Store
from infra.workers import check_address, running_workers
from tasks.study.groups import groups_of
from tasks.study.model import Model, cell_name
from tasks.study.pair_parts import missing_parts
from tasks.study.spec import Study, Udr
from tasks.study.stored import stored_study
from tasks.study.survey import CellState, survey


def rank_store(uri: str, asked: Ranking, ray: str | None) -> int:
    """Compare what is missing, then print a ranking per data set."""
    study, store, results = ranked_store(uri, asked, ray)
    print(as_json(study, store, results) if asked.json else as_text(study, results, asked.top))
    return 0


def ranked_store(uri: str, asked: Ranking, ray: str | None) -> tuple[Study, Store, list[Ranked]]:
    """The study as it was ranked, and a ranking per data set."""
    if ray:
        check_address(ray)
    store = Store(uri)
    study = stored_study(store)
    names = [one.name for one in study.data]
    if asked.data is not None:
        if asked.data not in names:
            raise WrongInput("--data", asked.data, one_of(names, asked.data))
        names = [asked.data]
    if asked.plot is not None and len(names) > 1:
        raise WrongInput("--plot", f"{len(names)} data sets", "one of them, by --data NAME")
    udr = _settings(study.udr, asked)
    found = [one for one in survey(study, store) if one.cell.data in names]
    _compare_finished(study.model_copy(update={"udr": _kept(udr, study.udr)}), store, found, ray)
    study = study.model_copy(update={"udr": udr})
    results = []
    for name in names:
        cells = [one for one in found if one.cell.data == name]
        results.append(_ranked(udr, store, name, cells, asked))
    return study, store, results


def _settings(udr: Udr, asked: Ranking) -> Udr:
    """The study's own settings but for what is asked."""
    similarity = asked.similarity or (udr.similarities or ("lasso",))[0]
    p = udr.p if asked.p is None else asked.p or None
    changed = {"similarities": (similarity,), "pools": (asked.pool or "method",), "p": p}
    return Udr.model_validate({**udr.model_dump(), **changed})


def _kept(udr: Udr, studys: Udr) -> Udr:
    """Where the study compares all of a cell, so do the parts that are written here."""
    pools = dict.fromkeys([*udr.pools, *(pool for pool in studys.pools if pool == "cell")])
    return udr.model_copy(update={"pools": tuple(pools)})


def _compare_finished(
    study: Study, store: Store, found: Sequence[CellState], ray: str | None
) -> None:
    """Write missing pairs of cells all of whose models have ended, just as a run would.

    Parts of other cells are left to the run, which writes each once and whole: then its numbers
    are the same to the last bit, whether or not somebody looked.
    """
    ended = [one for one in found if not one.unfinished]
    groups = {
        group: [m for one in ended if one.cell in cells for m in one.trained]
        for group, cells in groups_of(study, [one.cell for one in ended]).items()
    }
    groups = {
        group: models
        for group, models in groups.items()
        if models and missing_parts(store, models, study.udr)
    }
    if not groups:
        return
    try:
        store.prepare()
    except WrongInput:  # it can be read: then nothing is kept of what is compared
        return
    progress = Progress({"train": 0, "score": 0, "compare": 0}, cells=0)
    with running_workers(ray) as workers, shown(progress):
        calls = [
            call
            for group, models in groups.items()
            for call in comparison_calls(store, study, group, models)
        ]
        progress.more("compare", len(calls))
        progress.start("compare")
        for (*_, group, _, _), outcome in workers.map(worker.compare, calls):
            progress.add("compare")
            if isinstance(outcome, Exception):
                progress.fail(f"{group} is not compared: {in_a_line(outcome)}")
            else:
                for model_id in outcome:
                    progress.fail(no_rank(model_id))
    for trouble in progress.troubles:
        print(trouble, file=sys.stderr)


def _ranked(
    udr: Udr, store: Store, name: str, cells: Sequence[CellState], asked: Ranking
) -> Ranked:
    from tasks.compare import compare_here
    from tasks.rank import rankings

    trained = [model for one in cells for model in one.trained]
    total = sum(len(one.cell.models) for one in cells)
    beside, lost = compare_here(store, trained, udr)
    models = [model for model in trained if model.id not in lost]
    rows: Rows = []
    if models:
        (ranks,) = rankings(store, models, udr, beside)
        rows = _with_scores(store, ranks.to_pylist())
    if asked.plot is not None:
        _draw(store, models, udr, beside, rows, asked)
    return Ranked(name, rows, _medians(rows), total - len(models), tuple(sorted(lost)))


def _with_scores(store: Store, ranks: Rows) -> Rows:
    """Best first; models without a comparison last."""
    cells: dict[str, set[str]] = {}
    for row in ranks:
        cell = cell_name(row["data"], row["method"], row["strength"])
        cells.setdefault(cell, set()).add(row["model_id"])
    keys = store.keys_of("scores", cells)
    columns = ["model_id", "metric", "part", "factor", "value"]
    scores: dict[str, dict[str, float | None]] = {}
    for row in store.read("scores", columns, keys).to_pylist():
        if row["part"] == "score" and row["factor"] is None:
            scores.setdefault(row["model_id"], {})[row["metric"]] = row["value"]
    ordered = sorted(
        ranks, key=lambda row: (row["udr"] is None, -(row["udr"] or 0.0), row["model_id"])
    )
    kept = ("model_id", "method", "strength", "seed", "udr", "informative", "comparisons")
    return [
        {
            "rank": rank,
            **{name: row[name] for name in kept},
            "collapsed": row["collapsed"],
            "scores": scores.get(row["model_id"], {}),
        }
        for rank, row in enumerate(ordered, 1)
    ]


def _medians(rows: Rows) -> Rows:
    """The median UDR of each strength, and whether it is its method's best."""
    values: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if row["udr"] is not None:
            values.setdefault(row["method"], {}).setdefault(row["strength"], []).append(row["udr"])
    found: Rows = []
    for method, strengths in sorted(values.items()):
        medians = {strength: median(udr) for strength, udr in sorted(strengths.items())}
        best = max(medians.values())
        found += [
            {
                "method": method,
                "strength": strength,
                "udr": value,
                "models": len(strengths[strength]),
                "best": len(medians) > 1 and value == best,
            }
            for strength, value in medians.items()
        ]
    return found


def _draw(
    store: Store,
    models: Sequence[Model],
    udr: Udr,
    beside: Any,
    rows: Rows,
    asked: Ranking,
) -> None:
    from tasks.compare import codes_of, kl_of_trained
    from tasks.plots import PlottedModel, agreement, draw_ranking, extremes
    from tasks.rank import pair_scores
    from tasks.study.pair_parts import wanted_parts

    if asked.plot is None or not rows:
        raise WrongInput("--plot", "no trained model", "a store with trained models")
    by_id = {model.id: model for model in models}
    ordered = [by_id[row["model_id"]] for row in rows]
    scores = pair_scores(store, ordered, wanted_parts(ordered, udr), beside)[0]
    kl = kl_of_trained(store, ordered)
    names = [f"{one.method} {one.strength:g}, seed {one.seed} ({one.id[:6]})" for one in ordered]

    def side(place: int) -> Any:
        model = ordered[place]
        return names[place], codes_of(store, model), kl[model.id] > udr.kl_threshold

    ends = extremes(scores, [row["udr"] for row in rows], [row["collapsed"] for row in rows])
    portraits = [
        agreement(f"{end}, UDR {rows[a]['udr']:.3f}", side(b), side(a), udr.similarities[0])
        for end, a, b in ends
    ]
    shown_models = [
        PlottedModel(row["model_id"], row["udr"], row["method"], row["strength"]) for row in rows
    ]
    shown_models.sort(key=lambda one: (one.method, one.strength))
    title = f"{ordered[0].data}: UDR, {udr.similarities[0]}, pool {udr.pools[0]}"
    draw_ranking(shown_models, portraits, title, asked.plot)
