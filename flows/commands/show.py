"""`tolstoy show`: the row, scores and ranks of one model, and its pictures as files."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.errors import WrongInput
from infra.store import Store, merged_key
from infra.tables import AXES
from metrics import is_headline
from tasks.study.axes import value_text
from tasks.study.model import cell_of, group_name
from tasks.study.scores import up_to_date
from tasks.study.stored import STUDY_FILE, stored_study
from tasks.words import strength_value

STUDIES = "studies"  # where stores lie unless --store says otherwise
NAMED = 4  # models that begin as the user typed
BAR = 24  # characters of the longest bar


def show_model(start: str, uri: str | None, out: str | None, gif: bool, json: bool) -> int:
    """Print what the store has of the model whose id begins so, and write its pictures."""
    store, row = _find_model(start, uri)
    facts = _facts(store, row)
    files = _pictures(store, row, gif) if row["status"] == "trained" else {}
    folder = Path(out or f"shown/{row['model_id']}")
    facts["files"] = [str(_write(folder / name, content)) for name, content in files.items()]
    print(jsonlib.dumps(facts, indent=2) if json else "\n".join(_lines(facts)))
    return 0


def _find_model(start: str, uri: str | None) -> tuple[Store, dict[str, Any]]:
    """The store and the row of the one model whose id begins with `start`."""
    stores = [Store(uri)] if uri is not None else [Store(place) for place in _places()]
    matches = [
        (store, model_id)
        for store in stores
        for model_id in store.read("models", ["model_id"])["model_id"].to_pylist()
        if model_id.startswith(start)
    ]
    if len(matches) != 1 or not start:
        where = uri or ", ".join(map(str, stores)) or f"{STUDIES}/ (empty)"
        several = ", ".join(f"{model_id} in {store}" for store, model_id in matches[:NAMED])
        if len(matches) > NAMED:
            several += f" and {len(matches) - NAMED:,} more"
        raise WrongInput(
            "MODEL_ID",
            f"{start!r}, which begins {several}" if matches else start,
            f"the id of one model in {where} (column model_id of the tables; --store STORE)",
        )
    store, model_id = matches[0]
    rows = store.read("models").to_pylist()
    return store, next(row for row in rows if row["model_id"] == model_id)


def _places() -> Iterator[str]:
    for file in sorted(Path(STUDIES).glob(f"*/{STUDY_FILE}")):
        yield str(file.parent)


def _cell(store: Store, row: dict[str, Any]) -> str:
    return cell_of(row, stored_study(store).axes)


def _rows(store: Store, row: dict[str, Any], table: str, *keys: str) -> list[dict[str, Any]]:
    cell = _cell(store, row)
    wanted = [row["model_id"], merged_key(cell), *keys]
    rows = store.read(table, keys=wanted)
    if table == "scores":
        rows = up_to_date(rows)
    return [other for other in rows.to_pylist() if other["model_id"] == row["model_id"]]


def _facts(store: Store, row: dict[str, Any]) -> dict[str, Any]:
    """The model's row, its headline scores and its rankings."""
    group = group_name(row["data"], row["method"])
    cell = _cell(store, row)
    pace = row["steps"] / row["seconds"] if row["seconds"] else None
    return {
        "store": str(store),
        **row,
        "versions": jsonlib.loads(row["versions"]),
        "steps_per_second": pace,
        "scores": {
            score["metric"]: score["value"]
            for score in _rows(store, row, "scores")
            if is_headline(score["part"], score["factor"])
        },
        "ranks": [
            {name: rank[name] for name in ("similarity", "pool", "p", "udr", "comparisons")}
            for rank in _rows(store, row, "ranks", group, cell, row["data"])
        ],
    }


def _pictures(store: Store, row: dict[str, Any], gif: bool) -> dict[str, bytes]:
    pictures = _rows(store, row, "pictures")
    files = {f"{picture['kind']}.png": picture["png"] for picture in pictures}
    if gif:
        from tasks.animate import animated_traversal

        files["traversal.gif"] = animated_traversal(store, row["model_id"], row["kl_per_latent"])
    return files


def _write(target: Path, content: bytes) -> Path:
    """Write a picture; raise if a different file has its name."""
    try:
        if target.exists() and target.read_bytes() != content:
            raise WrongInput("--out", f"{target} (another file)", "a folder without it")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise WrongInput("--out", f"{target} ({error.strerror})", "a place to write") from None
    return target


def _method_text(facts: dict[str, Any]) -> str:
    swept = [value_text(axis, facts[axis]) for axis in AXES if facts[axis] is not None]
    value = strength_value(facts["method"], facts["strength"])
    strength = [f"strength {value}"] if value else []
    return ", ".join([facts["method"], *strength, *swept, f"seed {facts['seed']}"])


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    pace = facts["steps_per_second"]
    trained = facts["status"] == "trained"
    yield from (
        f"{name:<12} {text}"
        for name, text in (
            ("model", facts["model_id"]),
            ("store", facts["store"]),
            ("data", f"{facts['data']} ({facts['source']})"),
            ("method", _method_text(facts)),
            ("status", facts["status"] + (f": {facts['reason']}" if facts["reason"] else "")),
            (
                "training",
                (
                    f"{facts['steps']:,} of {facts['training_steps']:,} steps in "
                    if facts["training_steps"]
                    else "at once, in "
                )
                + f"{facts['seconds']:,.1f} s"
                + (f", {pace:.1f} steps a second" if pace else "")
                + (f", on {facts['device']}" if facts["device"] else ""),
            ),
        )
    )
    if trained and facts["elbo"] is None and facts["loss"] is not None:
        yield f"{'loss':<12} {facts['loss']:.3f}"
    if trained and facts["elbo"] is not None:
        yield (
            f"{'elbo':<12} {facts['elbo']:.3f} nats per image: reconstruction "
            f"{facts['reconstruction']:.3f}, kl {facts['kl']:.3f}"
        )
    if trained and (kl := facts["kl_per_latent"]):
        top = max(kl) or 1.0
        for latent in sorted(range(len(kl)), key=lambda latent: -kl[latent]):
            bar = "█" * round(BAR * kl[latent] / top)
            yield f"{f'kl {latent}':<12} {kl[latent]:7.3f} {bar}".rstrip()
    for name, value in facts["scores"].items():
        yield f"{name:<12} " + ("-" if value is None else f"{value:.4f}")
    for rank in facts["ranks"]:
        value = "-" if rank["udr"] is None else f"{rank['udr']:.4f}"
        yield (
            f"{'udr':<12} {value} ({rank['similarity']}, pool {rank['pool']}, "
            f"{rank['comparisons']} comparisons)"
        )
    for file in facts["files"]:
        yield f"{'picture':<12} {file}"
