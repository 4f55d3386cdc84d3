"""`tolstoy rank`: models of a store, or of a user's own file, best first, without labels."""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, get_args

from flows import worker
from flows.commands.run import headlines_first
from flows.commands.text import fitting, number_text, say, table
from flows.driver import comparison_calls, in_a_line, no_rank
from flows.progress import Progress, displayed
from infra.errors import WrongInput, one_of
from infra.new_file import new_file
from infra.store import Store
from infra.workers import check_address, running_workers
from metrics import INFORMATIVE_KL, SIMILARITIES, is_headline
from tasks.best import best_first
from tasks.study.groups import groups_of
from tasks.study.model import Model, cell_name
from tasks.study.pair_parts import missing_parts, wanted_parts
from tasks.study.spec import Pool, Study, Udr
from tasks.study.stored import stored_study
from tasks.study.survey import CellState, survey

if TYPE_CHECKING:
    from tasks.own import OwnModels
    from tasks.plots import PlottedModel

FILES = (".npz", ".h5", ".hdf5")
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RankRequest:
    """What is asked for; None is what the study has."""

    pool: str | None
    similarity: str | None
    p: int | None  # 0 means all
    data: str | None
    top: int
    plot: Path | None
    json: bool

    def check(self) -> None:
        for option, name, known in (
            ("--pool", self.pool, get_args(Pool)),
            ("--similarity", self.similarity, SIMILARITIES),
        ):
            if name is not None and name not in known:
                raise WrongInput(option, name, one_of(known, name))
        if self.p is not None and self.p < 0:
            raise WrongInput("--p", self.p, "a number of comparisons; 0 means all")
        if self.top < 1:
            raise WrongInput("--top", self.top, "a number from 1")
        if self.plot is not None:
            new_file(self.plot, "--plot")


@dataclass(frozen=True)
class DataSetRanking:
    """The models of one data set of a store."""

    data: str
    models: Rows  # best first
    strengths: Rows  # the median of each strength of each method
    missing: int  # not trained, or without a readable representation
    unreadable: list[str]  # ids of the latter

    @property
    def collapsed(self) -> int:
        return sum(row["collapsed"] for row in self.models)


def rank(place: str, request: RankRequest, ray: str | None) -> int:
    """Rank the models of a file, if `place` is one or is named like one, or of a store."""
    request.check()
    if Path(place).is_file() or place.lower().endswith(FILES):
        for option, value in (("--pool", request.pool), ("--data", request.data), ("--ray", ray)):
            if value is not None:
                raise WrongInput(option, value, "nothing, as a file is one pool")
        print(rank_file(Path(place), request))
        return 0
    study, store, rankings = rank_store(place, request, ray)
    if request.json:
        print(_store_json(study, store, rankings))
    else:
        print(store_text(study, rankings, request.top))
    return 0


# a store -------------------------------------------------------------------------------------


def rank_store(
    uri: str, request: RankRequest, ray: str | None
) -> tuple[Study, Store, list[DataSetRanking]]:
    """Compare what is missing; the study with the settings of the request, and its rankings."""
    if ray:
        check_address(ray)
    store = Store(uri)
    study = stored_study(store)
    names = [data_set.name for data_set in study.data]
    if request.data is not None:
        if request.data not in names:
            raise WrongInput("--data", request.data, one_of(names, request.data))
        names = [request.data]
    if request.plot is not None and len(names) > 1:
        raise WrongInput("--plot", f"{len(names)} data sets", "one of them, by --data NAME")
    udr = _requested(study.udr, request)
    states = [state for state in survey(study, store) if state.cell.data in names]
    # Where the study compares all models of a cell, so do the parts that are written here.
    whole_cells = ("cell",) if "cell" in study.udr.pools else ()
    written = udr.model_copy(update={"pools": tuple(dict.fromkeys((*udr.pools, *whole_cells)))})
    _compare_finished(study.model_copy(update={"udr": written}), store, states, ray)
    rankings = []
    for name in names:
        of_data_set = [state for state in states if state.cell.data == name]
        rankings.append(_rank_data_set(store, udr, name, of_data_set, request.plot))
    return study.model_copy(update={"udr": udr}), store, rankings


def _requested(udr: Udr, request: RankRequest) -> Udr:
    """The study's settings, changed by the request."""
    similarity = request.similarity or (udr.similarities or ("lasso",))[0]
    p = udr.p if request.p is None else request.p or None
    changed = {"similarities": (similarity,), "pools": (request.pool or "method",), "p": p}
    return Udr.model_validate({**udr.model_dump(), **changed})


def _compare_finished(
    study: Study, store: Store, states: Sequence[CellState], ray: str | None
) -> None:
    """Write the missing pairs of cells all of whose models have ended, as a run would.

    The run itself writes the parts of other cells, each once and whole: so its numbers are the
    same to the last bit, whether or not models were ranked while it worked.
    """
    finished = {state.cell.name: state.trained for state in states if not state.unfinished}
    cells = [state.cell for state in states if state.cell.name in finished]
    groups = {
        group: [model for cell in of_group for model in finished[cell.name]]
        for group, of_group in groups_of(study, cells).items()
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
    except WrongInput:  # a store that can only be read: what it lacks is compared, not written
        return
    progress = Progress({"train": 0, "score": 0, "compare": 0}, cells=0)
    with running_workers(ray) as workers, displayed(progress):
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
        say(trouble)


def _rank_data_set(
    store: Store, udr: Udr, name: str, states: Sequence[CellState], plot: Path | None
) -> DataSetRanking:
    """Rank what is trained; pairs that the store lacks are compared in this process."""
    from tasks.compare import compare_here
    from tasks.rank import rankings

    trained = [model for state in states for model in state.trained]
    newer, unreadable = compare_here(store, trained, udr)
    models = [model for model in trained if model.id not in unreadable]
    rows: Rows = []
    if models:
        (ranks,) = rankings(store, models, udr, newer)
        rows = _with_scores(store, ranks.to_pylist())
    if plot is not None:
        _draw_store(store, models, udr, newer, rows, plot)
    return DataSetRanking(
        data=name,
        models=rows,
        strengths=_medians(rows),
        missing=sum(len(state.cell.models) for state in states) - len(models),
        unreadable=sorted(unreadable),
    )


def _with_scores(store: Store, ranks: Rows) -> Rows:
    """Best first, with the headline of every metric."""
    cells: dict[str, set[str]] = {}
    for row in ranks:
        cell = cell_name(row["data"], row["method"], row["strength"])
        cells.setdefault(cell, set()).add(row["model_id"])
    columns = ["model_id", "metric", "part", "factor", "value"]
    scores: dict[str, dict[str, float | None]] = {}
    for row in store.read("scores", columns, store.keys_of("scores", cells)).to_pylist():
        if is_headline(row["part"], row["factor"]):
            scores.setdefault(row["model_id"], {})[row["metric"]] = row["value"]
    names = (
        "model_id",
        "method",
        "strength",
        "seed",
        "udr",
        "informative",
        "comparisons",
        "collapsed",
    )
    return [
        {
            "rank": place,
            **{name: row[name] for name in names},
            "scores": scores.get(row["model_id"], {}),
        }
        for place, row in enumerate(best_first(ranks), 1)
    ]


def _medians(rows: Rows) -> Rows:
    """The median UDR of each strength, and whether it is its method's best."""
    values: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if row["udr"] is not None:
            values.setdefault(row["method"], {}).setdefault(row["strength"], []).append(row["udr"])
    lines: Rows = []
    for method, strengths in sorted(values.items()):
        medians = {strength: median(udr) for strength, udr in sorted(strengths.items())}
        best = max(medians.values())
        lines += [
            {
                "method": method,
                "strength": strength,
                "udr": value,
                "models": len(strengths[strength]),
                "best": len(medians) > 1 and value == best,
            }
            for strength, value in medians.items()
        ]
    return lines


def _draw_store(
    store: Store,
    models: Sequence[Model],
    udr: Udr,
    newer: Mapping[str, Any],
    rows: Rows,
    target: Path,
) -> None:
    from tasks.compare import codes_of, kl_of_trained
    from tasks.plots import PlottedModel
    from tasks.rank import pair_scores

    if not rows:
        raise WrongInput("--plot", "no trained model", "a store with trained models")
    by_id = {model.id: model for model in models}
    ordered = [by_id[row["model_id"]] for row in rows]
    kl = kl_of_trained(store, ordered)

    def side(place: int) -> tuple[str, Any, Any]:
        model = ordered[place]
        name = f"{model.method} {model.strength:g}, seed {model.seed} ({model.id[:6]})"
        return name, codes_of(store, model), kl[model.id] > udr.kl_threshold

    plotted = [
        PlottedModel(row["model_id"], row["udr"], row["method"], row["strength"]) for row in rows
    ]
    _draw(
        sorted(plotted, key=lambda model: (model.method, model.strength)),
        side,
        rows,
        pair_scores(store, ordered, wanted_parts(ordered, udr), newer)[0],
        similarity=udr.similarities[0],
        title=f"{ordered[0].data}: UDR, {udr.similarities[0]}, pool {udr.pools[0]}",
        target=target,
    )


def _draw(
    models: Sequence[PlottedModel],
    side: Callable[[int], tuple[str, Any, Any]],
    rows: Rows,
    scores: Any,
    *,
    similarity: str,
    title: str,
    target: Path,
) -> None:
    """`side` gives the name, the codes and the informative latents of the model of a row."""
    from tasks.plots import agreement, draw_ranking, extremes

    udr, collapsed = ([row[name] for row in rows] for name in ("udr", "collapsed"))
    agreements = [
        agreement(f"{end}, UDR {udr[model]:.3f}", side(partner), side(model), similarity)
        for end, model, partner in extremes(scores, udr, collapsed)
    ]
    draw_ranking(models, agreements, title, target)


def _store_json(study: Study, store: Store, rankings: Sequence[DataSetRanking]) -> str:
    facts = {
        "study": study.name,
        "store": str(store),
        "similarity": study.udr.similarities[0],
        "pool": study.udr.pools[0],
        "p": study.udr.p,
        "data": [
            {
                "data": ranking.data,
                "models": ranking.models,
                "strengths": ranking.strengths,
                "missing": ranking.missing,
                "lost": ranking.unreadable,
                "collapsed": ranking.collapsed,
            }
            for ranking in rankings
        ],
    }
    return jsonlib.dumps(facts, indent=2)


def store_text(study: Study, rankings: Sequence[DataSetRanking], top: int) -> str:
    blocks = []
    for ranking in rankings:
        if len(rankings) > 1:
            blocks.append(f"{ranking.data}\n{'-' * len(ranking.data)}")
        if ranking.models:
            blocks += [_best_table(ranking.models, top), _strengths_table(ranking.strengths)]
        blocks.append(_summary(study.udr, ranking))
    return "\n\n".join(blocks)


def _best_table(rows: Rows, top: int) -> str:
    columns = ["rank", "model", "method", "strength", "seed", "udr", "informative", "comparisons"]
    metrics = list(dict.fromkeys(metric for row in rows for metric in row["scores"]))
    metrics = [metrics[place] for place in headlines_first(metrics)]
    lines = [
        [
            row["rank"],
            row["model_id"],
            row["method"],
            f"{row['strength']:g}",
            row["seed"],
            number_text(row["udr"], digits=3),
            row["informative"],
            row["comparisons"],
            *(number_text(row["scores"].get(metric), digits=3) for metric in metrics),
        ]
        for row in rows[:top]
    ]
    head = [*columns, *metrics]
    count = max(len(columns), fitting(head, lines))
    text = table(head[:count], [line[:count] for line in lines])
    hidden = head[count:]
    return text + (f"\nand {len(hidden)} more (--json): {', '.join(hidden)}" if hidden else "")


def _strengths_table(rows: Rows) -> str:
    lines = [
        [
            row["method"],
            f"{row['strength']:g}",
            number_text(row["udr"], digits=3),
            row["models"],
            "<- best of the method" if row["best"] else "",
        ]
        for row in rows
    ]
    return table(["method", "strength", "median udr", "models", ""], lines) if lines else ""


def _summary(udr: Udr, ranking: DataSetRanking) -> str:
    p = f"{udr.p} comparisons each" if udr.p else "all comparisons"
    facts = [f"{ranking.data}: {len(ranking.models)} models ranked by {udr.similarities[0]}"]
    facts.append(f"pool {udr.pools[0]}, {p}")
    if ranking.collapsed:
        facts.append(f"{ranking.collapsed} collapsed (no informative latent, UDR 0)")
    if ranking.missing:
        facts.append(f"{ranking.missing} missing")
    text = "; ".join(facts)
    if ranking.unreadable:
        text += f"\nwithout a readable representation: {', '.join(ranking.unreadable)}"
    return text


# a file --------------------------------------------------------------------------------------


def rank_file(file: Path, request: RankRequest) -> str:
    """The models best first, or, as JSON, in the file's order with all pairs."""
    from metrics.udr import aggregate, pairwise
    from tasks.own import naming_file, read_models
    from tasks.streams import stream

    own = read_models(file)
    similarity = request.similarity or "lasso"
    with naming_file(file):
        pairs = pairwise(own.codes, own.kl, similarity)
    collapsed = pairs.informative == 0
    draws = stream("udr", "file", similarity)
    udr, comparisons = aggregate(pairs.udr, collapsed, request.p or None, draws)
    models: Rows = [
        {
            "model": own.names[i] if own.names else i,
            "udr": _finite(udr[i]),
            "informative": int(pairs.informative[i]),
            "comparisons": int(comparisons[i]),
            "collapsed": bool(collapsed[i]),
        }
        for i in range(len(udr))
    ]
    if request.plot is not None:
        _draw_file(file, own, models, pairs.udr, similarity, request.plot)
    if request.json:
        square = [[_finite(value) for value in row] for row in pairs.udr]
        return jsonlib.dumps({"similarity": similarity, "models": models, "pairs": square})
    return _file_text(models, similarity, request.top)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _file_text(models: Rows, similarity: str, top: int) -> str:
    lines = [
        [
            place,
            row["model"],
            number_text(row["udr"], digits=4),
            row["informative"],
            row["comparisons"],
        ]
        for place, row in enumerate(best_first(models)[:top], 1)
    ]
    text = table(["rank", "model", "udr", "informative", "comparisons"], lines)
    collapsed = sum(row["collapsed"] for row in models)
    more = f"; {collapsed} collapsed (no informative latent)" if collapsed else ""
    return f"{text}\n\n{len(models)} models compared by {similarity}{more}"


def _draw_file(
    file: Path, own: OwnModels, models: Rows, scores: Any, similarity: str, target: Path
) -> None:
    from tasks.plots import PlottedModel

    if own.kl is None:
        informative = (own.codes != own.codes[:, :1]).any(axis=1)
    else:
        informative = own.kl > INFORMATIVE_KL
    names = list(own.names or (f"model {i}" for i in range(len(models))))
    _draw(
        [PlottedModel(name, row["udr"]) for name, row in zip(names, models, strict=True)],
        lambda i: (names[i], own.codes[i], informative[i]),
        models,
        scores,
        similarity=similarity,
        title=f"{file.name}: UDR, {similarity}",
        target=target,
    )
