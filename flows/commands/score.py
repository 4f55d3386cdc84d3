"""`tolstoy score FILE`: every metric of your own codes and factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metrics
from flows.commands.explain import check_metrics
from flows.commands.score_output import TABLES, ScoreOutput
from flows.commands.text import bar, say, warn
from infra.errors import WrongInput, escaped
from infra.new_file import PICTURES, new_file
from tasks.words import plural


def score_file(
    file: Path,
    names: tuple[str, ...],
    seed: int,
    repeat: int,
    bins: int,
    points: int | None,
    out: Path | None,
    plot: Path | None,
    parts: bool,
    json: bool,
) -> int:
    """Print the scores, with their parts or without, and write all of them to `out` and their
    matrices to `plot`. Returns 1 if a metric needed more memory than there is."""
    from tasks.own import naming_file, read_codes
    from tasks.score_codes import drawn_points, score_of, split_inputs

    check_metrics("--metrics", names)
    for name in names:
        if data := metrics.METRICS[name].data:
            only = f"metrics of codes and factors; {name} is for studies of {', '.join(data)}"
            raise WrongInput("--metrics", name, only)
    if repeat < 1:
        raise WrongInput("--repeat", repeat, "a number from 1")
    if bins < 2:
        raise WrongInput("--bins", bins, "a number from 2")
    if seed < 0:
        raise WrongInput("--seed", seed, "a number from 0")
    if points is not None and points < 3:
        raise WrongInput("--points", points, "a number from 3, two thirds to train")
    for option, target, endings in (("--out", out, TABLES), ("--plot", plot, PICTURES)):
        if target is not None:
            new_file(target, option, endings)
    own = read_codes(file, bins)
    drawn = drawn_points(own, points, seed)
    _say_what_is_continuous(own, bins)
    _say_what_was_read(file, own, drawn, points, names)
    with naming_file(file):
        inputs = split_inputs(drawn, names, seed)
    output = ScoreOutput(names, own.factor_names, out, parts, json)
    results: list[Any] = []
    wanted, interrupted = len(names) * repeat, False
    costs = [metrics.METRICS[name].cost for name in names] * repeat
    try:
        with bar(file.name) as progress:
            for each_seed in range(seed, seed + repeat):
                redrawn = inputs
                if each_seed != seed:
                    drawn = drawn_points(own, points, each_seed)
                    redrawn = split_inputs(drawn, names, each_seed)
                for name in names:
                    progress(name, sum(costs[: len(results)]) / sum(costs))
                    results.append(score_of(redrawn, name, each_seed))
                    if repeat == 1:
                        output.add(results[-1:])
    except KeyboardInterrupt:
        interrupted = True
        say(f"Interrupted after {len(results)} of {plural(wanted, 'score')}.")
    if repeat > 1 and results:
        output.add(results)
    output.end()
    if plot is not None and not interrupted:
        from tasks.plots import draw_matrices

        draw_matrices(inputs, own.factor_names, plot)
        say(f"Wrote {plot}")
    if interrupted:
        return 130
    return 1 if any(result.out_of_memory for result in results) else 0


def _say_what_is_continuous(own: Any, bins: int) -> None:
    """On standard error: which factors are, how that is known, and what is done about it."""
    if own.continuous:
        names = ", ".join(escaped(own.name(factor)) for factor in own.continuous)
        how = " (guessed; an array factor_kinds in the file decides)" if own.guessed else ""
        say(
            f"Continuous{how}: {names}. Metrics that need classes read {bins} bins of equal width "
            "(--bins)."
        )


def _say_what_was_read(
    file: Path, own: Any, drawn: Any, points: int | None, names: tuple[str, ...]
) -> None:
    """And which of it is scored."""
    from tasks.own_columns import UPPER_CASE
    from tasks.score_codes import STUDY_POINTS, slow_metrics
    from tasks.what_was_read import codes_text, doubts, factors_of, further_text

    name = escaped(file.name)
    say(f"{name}: {codes_text(own)}")
    if further := further_text(own):
        say(f"{name}: {further}, read by dci_lasso and dci_forest")
    if drawn is not own:
        say(
            f"{name}: {len(drawn.codes):,} of {len(own.codes):,} points are scored, drawn at "
            "random (--points, --seed)"
        )
    elif points is not None and points > len(own.codes):
        say(f"{name}: all {len(own.codes):,} points are scored, as there are no {points:,}")
    for reason in dict.fromkeys(own.left_out.values()):
        columns = [
            escaped(column) or "a column without a name"
            for column in own.left_out
            if own.left_out[column] == reason
        ]
        text = f"{name}: left out: {', '.join(columns)} ({reason})"
        warn(text) if reason == UPPER_CASE else say(text)
    if own.gap:
        warn(f"{name}: {own.gap}")
    for doubt in doubts(len(drawn.codes), "point", factors_of(drawn)):
        warn(f"{name}: {doubt}")
    if slow := slow_metrics(drawn, names):
        warn(
            f"{name}: {', '.join(slow)} may take minutes to hours for "
            f"{len(drawn.codes):,} points; a study scores {STUDY_POINTS:,} (--points "
            f"{STUDY_POINTS})"
        )
