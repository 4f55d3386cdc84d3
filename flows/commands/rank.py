"""`tolstoy rank`: models of a store, or of a user's own file, best first, without labels."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.commands.run import headlines_first
from flows.commands.text import fitting, number_text, say, table, warn
from flows.ranking import RankRequest, rank_store
from infra.errors import WrongInput, escaped
from infra.new_file import is_file
from infra.store import Store
from tasks.best import ADVISED_POOLS, best_first, best_per_informative
from tasks.study.spec import Study, Udr
from tasks.words import POOL_MEANINGS, plural, ranking_name, strength_value

if TYPE_CHECKING:
    from tasks.rank_data_set import DataSetRanking
    from tasks.rank_file import FileRanking

FILES = (".npz", ".h5", ".hdf5")
Rows = list[dict[str, Any]]


def rank(
    place: str,
    request: RankRequest,
    ray: str | None,
    top: int,
    json: bool,
    per_informative: bool = False,
) -> int:
    """Rank the models of a file, if `place` is one or is named like one, or of a store."""
    if top < 1:
        raise WrongInput("--top", top, "a number from 1")
    if is_file(Path(place)) or place.lower().endswith(FILES):
        from tasks.rank_file import rank_file

        for option, value in (("--pool", request.pool), ("--data", request.data), ("--ray", ray)):
            if value is not None:
                raise WrongInput(option, value, "nothing, as a file is one pool")
        p = request.p or None
        ranking = rank_file(Path(place), request.similarity or "lasso", p, request.plot)
        say(escaped(f"{Path(place).name}: {ranking.read}"))
        for doubt in ranking.doubts:
            warn(f"{Path(place).name}: {doubt}")
        if json:
            print(
                jsonlib.dumps(
                    {**ranking.as_json(), **_per_informative(ranking.models, per_informative)}
                )
            )
        else:
            print(_file_text(ranking, p, top, per_informative))
    else:
        study, store, rankings = rank_store(place, request, ray)
        if json:
            print(_store_json(study, store, rankings, per_informative))
        else:
            print(store_text(study, rankings, top, per_informative))
    if request.plot is not None:
        say(f"Wrote {request.plot}")
    return 0


def _per_informative(rows: Rows, wanted: bool) -> dict[str, Rows]:
    """The key that --per-informative adds."""
    if not wanted:
        return {}
    return {"per_informative": [row.as_json() for row in best_per_informative(rows)]}


def _store_json(
    study: Study, store: Store, rankings: Sequence[DataSetRanking], per_informative: bool
) -> str:
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
                "strengths_pool": ranking.strengths_pool,
                "missing": ranking.missing,
                "lost": ranking.unreadable,
                "collapsed": ranking.collapsed,
                **_per_informative(ranking.models, per_informative),
            }
            for ranking in rankings
        ],
    }
    return jsonlib.dumps(facts, indent=2)


def store_text(
    study: Study, rankings: Sequence[DataSetRanking], top: int, per_informative: bool = False
) -> str:
    blocks = []
    for ranking in rankings:
        if len(rankings) > 1:
            blocks.append(f"{ranking.data}\n{'-' * len(ranking.data)}")
        if ranking.models:
            best = _best_table(ranking.models, top, study.axes)
            blocks += [best, _strengths_text(study, ranking)]
            if per_informative:
                named = ["model_id", "method", *study.axes, "strength", "seed"]
                blocks.append(_per_informative_text(ranking.models, named))
        blocks.append(_summary(study.udr, ranking))
    return "\n\n".join(blocks)


def _best_table(rows: Rows, top: int, axes: Sequence[str]) -> str:
    keys = ["rank", "model", "method", *axes, "strength", "seed"]
    columns = [*keys, "udr", "informative", "comparisons"]
    metrics = list(
        dict.fromkeys(
            metric for row in rows for metric, value in row["scores"].items() if value is not None
        )
    )
    metrics = [metrics[place] for place in headlines_first(metrics)]
    lines = [
        [
            row["rank"],
            row["model_id"],
            row["method"],
            *(row[axis] for axis in axes),
            strength_value(row["method"], row["strength"]) or "-",
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


def _per_informative_text(rows: Rows, named: Sequence[str]) -> str:
    """A line per number of informative latents; `named` are the columns that name its model."""
    lines = [
        [
            of_number.informative,
            of_number.models,
            *(_named(of_number.best, name) for name in named),
            number_text(of_number.best["udr"], digits=3),
        ]
        for of_number in best_per_informative(rows)
    ]
    heading = "The best model for each number of informative latents:"
    if not lines:
        return f"{heading} none, as no model has an informative latent and a UDR."
    head = ["model" if name == "model_id" else name for name in named]
    return f"{heading}\n{table(['informative', 'models', *head, 'udr'], lines)}"


def _named(row: Mapping[str, Any], name: str) -> Any:
    """A column that names a model; strengths in few digits."""
    value = row[name]
    if not isinstance(value, float):
        return value
    return (strength_value(row["method"], value) if name == "strength" else f"{value:g}") or "-"


def _strengths_text(study: Study, ranking: DataSetRanking) -> str:
    udr = study.udr
    rows, pool = ranking.strengths, ranking.strengths_pool
    several = any(row["models"] > 1 for row in rows)
    best = f"<- best of the method{' for its ' * bool(study.axes) + ' and '.join(study.axes)}"
    lines = [
        [
            row["method"],
            *(row[axis] for axis in study.axes),
            strength_value(row["method"], row["strength"]) or "-",
            number_text(row["udr"], digits=3),
            row["models"],
            best if row["best"] and several else "",
        ]
        for row in rows
    ]
    if not lines:
        return ""
    score = ranking_name(udr.similarities[0])
    heading = f"Strengths by median {score}, pool {pool}: a model is {POOL_MEANINGS[pool]}."
    advised = ADVISED_POOLS[-1]
    if pool != udr.pools[-1]:
        heading += f"\nNo {advised} has two models yet, so that pool {advised} has no {score}."
        heading += "" if several else "\nOne model of each strength is no ground for a choice."
    elif pool != advised:
        heading += f"\nFor strengths, pool {advised} is advised (--pool {advised})."
    head = ["method", *study.axes, "strength", "median udr", "models", ""]
    return f"{heading}\n{table(head, lines)}"


def _summary(udr: Udr, ranking: DataSetRanking) -> str:
    facts = [
        f"{ranking.data}: {plural(len(ranking.models), 'model')} ranked by {udr.similarities[0]}"
    ]
    facts.append(f"pool {udr.pools[0]}, {_comparisons(ranking.models, udr.p)}")
    if ranking.collapsed:
        score = ranking_name(udr.similarities[0])
        facts.append(f"{ranking.collapsed} collapsed (no informative latent, {score} 0)")
    if ranking.missing:
        facts.append(f"{ranking.missing} missing")
    text = "; ".join(facts)
    if ranking.unreadable:
        text += f"\nwithout a readable representation: {', '.join(ranking.unreadable)}"
    return text


def _comparisons(models: Rows, p: int | None) -> str:
    """How many were made of each model that has not collapsed, and how many were wanted."""
    made = sorted({row["comparisons"] for row in models if not row["collapsed"]})
    if not made:
        return "no comparisons"
    few, most = made[0], made[-1]
    number = f"{most:,}" if few == most else f"{few:,} to {most:,}"
    if p is None:
        return f"all comparisons, {number} each"
    asked = "" if few == p else f" ({p:,} asked for)"
    return f"{number} {'comparison' if most == 1 else 'comparisons'} each{asked}"


def _file_text(ranking: FileRanking, p: int | None, top: int, per_informative: bool) -> str:
    lines = [
        [
            place,
            row["model"],
            number_text(row["udr"], digits=4),
            row["informative"],
            row["comparisons"],
        ]
        for place, row in enumerate(best_first(ranking.models)[:top], 1)
    ]
    text = table(["rank", "model", "udr", "informative", "comparisons"], lines)
    collapsed = sum(row["collapsed"] for row in ranking.models)
    more = f"; {collapsed} collapsed (no informative latent)" if collapsed else ""
    made = _comparisons(ranking.models, p)
    facts = f"{plural(len(ranking.models), 'model')} compared by {ranking.similarity}; {made}{more}"
    numbers = f"{_per_informative_text(ranking.models, ['model'])}\n\n" if per_informative else ""
    return f"{text}\n\n{numbers}{facts}"
