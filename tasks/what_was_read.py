"""What was read of a user's own files, in a line, and doubts whether it can carry a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data import describe
from data.base.reading import printable
from infra.errors import escaped
from metrics import METRICS
from metrics.evaluate import reads_factors
from tasks.own import OwnCodes, OwnModels
from tasks.study.data_choice import DataChoice
from tasks.study.spec import Study
from tasks.words import plural

FEW = 100  # points or pictures
FACTORS_NAMED = 12
ENDINGS_NAMED = 6


@dataclass(frozen=True)
class Factor:
    """A column: its name, and how many values it has; none if it is continuous."""

    name: str
    values: int | None


def codes_text(own: OwnCodes) -> str:
    """`3,000 points, 10 latents, 4 factors of 3, 6, 40, 32 values (shape, ...)`."""
    points, latents = own.codes.shape
    return ", ".join(
        (
            plural(points, "point"),
            plural(latents, "latent"),
            factors_text(factors_of(own), own.factor_names is not None),
        )
    )


def further_text(own: OwnCodes) -> str:
    """`1,000 validation rows, 200 zero-shot rows`; empty without any."""
    counts = (("validation row", own.validation), ("zero-shot row", own.zero_shot))
    return ", ".join(plural(len(rows[0]), noun) for noun, rows in counts if rows)


def models_text(own: OwnModels) -> str:
    models, points, latents = own.codes.shape
    kl = "with their KL" if own.kl is not None else "without their KL"
    text = f"{plural(models, 'model')}, {plural(points, 'point')}, {plural(latents, 'latent')}"
    return f"{text}, {kl}"


def pictures_text(choice: DataChoice) -> str:
    """`208 pictures, 3 channels, of FOLDER (3 files ignored: .heic 2, .txt 1)`. Of a known data set
    `the first 20,000 of 200,000 pictures`; empty if it is taken whole."""
    if choice.first_pictures:
        return f"the first {choice.first_pictures:,} of {describe(choice.name).pictures:,} pictures"
    if (read := choice.read) is None:
        return ""
    first, more = read.ignored_endings[:ENDINGS_NAMED], read.ignored_endings[ENDINGS_NAMED:]
    endings = ", ".join([*(f"{ending} {count}" for ending, count in first), *["..."][: len(more)]])
    ignored = "ignored" + (f": {endings}" if endings else "")
    left = [(read.ignored, "file", ignored), (read.skipped, "broken picture", "left out")]
    others = "; ".join(f"{plural(count, noun)} {done}" for count, noun, done in left if count)
    parts = [plural(read.pictures, "picture"), plural(read.channels, "channel")]
    parts.append(f"of {printable(choice.place)}" + (f" ({others})" if others else ""))
    if read.factors:
        parts.append(factors_text([Factor(*factor) for factor in read.factors]))
    return ", ".join(parts)


def doubts_about(choice: DataChoice) -> list[str]:
    if (read := choice.read) is None:
        return []
    found = doubts(read.pictures, "picture", [Factor(*factor) for factor in read.factors])
    if read.transparent:
        found.append(
            f"{plural(read.transparent, 'picture')} with transparency: what is transparent becomes "
            "black"
        )
    return found


def doubts_about_metrics(study: Study) -> list[str]:
    """That the user's own pictures without factors get no scores of most metrics."""
    unlabelled = [c.name for c in study.data if c.read is not None and not c.read.factors]
    if not unlabelled or not any(reads_factors(name) for name in study.metrics.names):
        return []
    free = [name for name in study.metrics.names if not reads_factors(name)]
    has = "has" if len(unlabelled) == 1 else "have"
    which = f"only {', '.join(free)}" if free else "none"
    text = f"{', '.join(unlabelled)} {has} no factors: of the metrics {which} can be computed"
    if len(unlabelled) < len(study.data):
        return [text]  # the others need their metrics
    free = free or [name for name in METRICS if not METRICS[name].data and not reads_factors(name)]
    return [f"{text}; --set 'metrics=[{', '.join(free)}]'"]


def factors_of(own: OwnCodes) -> list[Factor]:
    return [
        Factor(
            escaped(own.name(place)), None if place in own.continuous else len(np.unique(column))
        )
        for place, column in enumerate(own.factors.T)
    ]


def factors_text(factors: Sequence[Factor], named: bool = True) -> str:
    """`2 factors of 3, real values (shape, angle)`: of many only the first."""
    if not factors:
        return "no factors"
    first, more = factors[:FACTORS_NAMED], ", ..." if len(factors) > FACTORS_NAMED else ""
    sizes = ", ".join("real" if f.values is None else f"{f.values:,}" for f in first)
    values = "value" if [f.values for f in factors] == [1] else "values"
    text = f"{plural(len(factors), 'factor')} of {sizes}{more} {values}"
    return f"{text} ({', '.join(f.name for f in first)}{more})" if named else text


def doubts(rows: int, noun: str, factors: Sequence[Factor] = ()) -> list[str]:
    """Why results of such a table would mean little."""
    found = []
    if rows < FEW:
        found.append(f"{plural(rows, noun)}: results of fewer than {FEW} are mostly chance")
    if constant := [factor.name for factor in factors if factor.values == 1]:
        found.append(f"only one value, about which no code can say anything: {', '.join(constant)}")
    if unshared := [f.name for f in factors if f.values and f.values > 1 and 2 * f.values > rows]:
        names = ", ".join(unshared)
        found.append(f"most rows have a value of their own, as if it were the row's name: {names}")
    return found
