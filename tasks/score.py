"""Supervised scores of one model: encode once, then every metric reads codes."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from data.base.protocol import DataSet, Factors, Finite, HasSplits, HasTargets, Targets
from infra.store import Store
from infra.timeline import span
from metrics import DEVIATION, HEADLINE, METRICS
from metrics.base.gaussians import sample
from metrics.base.inputs import INTERVENED, Groups, Inputs, Pairs, Score
from metrics.base.label_noise import Noise
from metrics.base.predictors import SEEDS
from metrics.evaluate import evaluate, needs, reads_factors
from models.blank import encode_all
from models.network import Network
from models.representation import Pictures as ShownPictures
from models.representation import encode, reconstruction_losses
from tasks.clustering.learning import learn_clustering
from tasks.data_sets import in_parts, load, of_places
from tasks.give_back import trim
from tasks.label_noise import perturbed, with_noisy_tables, without_groups
from tasks.log import model_log
from tasks.streams import Streams, stream
from tasks.study.label_noise import noise_by_regime, noisy_part
from tasks.study.model import Model
from tasks.study.scores import up_to_date
from tasks.study.spec import Metrics, Study, images_per_model
from tasks.weights import load_model

COLUMNS = ("protocol", "metric", "part", "factor", "value", "reason", "seconds", "stream")
Codes = NDArray[np.float32]
Show: TypeAlias = Callable[[Any], ShownPictures]
Split = Literal["train", "validation", "test", "zero_shot"]
FURTHER: tuple[Split, ...] = ("validation", "zero_shot")  # beside the table and the test table
IN_MEMORY = 256  # pictures: a multiple of the batch of `encode`
DRAWN_TOGETHER = 8192  # pictures whose appearance is drawn at once, also where it is random


def score_model(store: Store, study: Study, model: Model) -> str:
    """Write the rows of every metric that the model lacks; returns `done` or `scored`."""
    older = store.rows_of("scores", model.id, model.cell)
    scored = set(up_to_date(older)["metric"].to_pylist())
    missing = [name for name in study.metrics.names if name not in scored]
    if not missing:
        return "done"
    torch.set_num_threads(1)
    log = model_log(store, model.id)
    rows = _rows(store, study, model, older, missing)
    store.write_part("scores", model.id, {**model.keys, **rows})
    log.add(f"scored: {', '.join(missing)}")
    return "scored"


def _rows(
    store: Store, study: Study, model: Model, older: pa.Table, missing: list[str]
) -> dict[str, list[object]]:
    """The older rows, also those of an older protocol, and those of the missing metrics."""
    data_set = load(study.choice(model.data))
    possible = [name for name in missing if data_set.factor_names or not reads_factors(name)]
    wanted = study.metrics.model_copy(update={"names": tuple(possible)})
    rows: dict[str, list[object]] = {name: older[name].to_pylist() for name in COLUMNS}
    regimes = noise_by_regime(wanted.label_noise, data_set)
    labelled = [name for name in possible if reads_factors(name)]
    evaluated: dict[tuple[str, str], list[Evaluated]] = {}  # by metric and regime of label noise
    with span("data and network"):
        codes_of = _codes_of(load_model(model, store), data_set, wanted) if possible else None
        trim()
    for repeat in range(wanted.repeats):
        streams = streams_of(model, repeat)
        with span("codes"):
            inputs = draw_inputs(codes_of, data_set, wanted, streams) if codes_of else None
            trim()
        for name in missing:
            with span(name):
                of_metric = _evaluated(name, inputs if name in possible else None, streams)
                trim()
            evaluated.setdefault((name, ""), []).append(of_metric)
        if codes_of and inputs and labelled:
            settings = wanted.model_copy(update={"names": tuple(labelled)})
            inputs = without_groups(inputs)  # clean and noisy groups are not held at once
            for regime, noise in regimes.items():
                noisy = _under_noise(inputs, noise, regime, codes_of, data_set, settings, streams)
                for name, of_metric in noisy.items():
                    evaluated.setdefault((name, regime), []).append(of_metric)
    for (name, _), repeats in evaluated.items():
        reason = next((each.reason for each in repeats if each.reason), "")
        seconds = sum(each.seconds for each in repeats)
        for score in summarised([each.scores for each in repeats]):
            finite = math.isfinite(score.value)
            row = {
                "protocol": METRICS[name].protocol,
                "metric": name,
                "part": score.part,
                "factor": None if score.factor is None else data_set.factor_names[score.factor],
                "value": score.value if finite else None,
                "reason": reason if finite else reason or f"it comes out as {score.value}",
                "seconds": seconds,
                "stream": f"{model.id} {name}",
            }
            for column in COLUMNS:
                rows[column].append(row[column])
    return rows


@dataclass(frozen=True)
class Evaluated:
    """A metric's scores of one draw."""

    scores: list[Score]
    reason: str
    seconds: float


def summarised(draws: list[list[Score]]) -> list[Score]:
    """The scores of one draw as they are; of several, every part's mean and its deviation."""
    if len(draws) == 1:
        return draws[0]
    values: dict[tuple[str, int | None], list[float]] = {}
    for score in itertools.chain.from_iterable(draws):
        values.setdefault((score.part, score.factor), []).append(score.value)
    means = [Score(part, float(np.mean(of)), factor) for (part, factor), of in values.items()]
    return means + [
        Score(part + DEVIATION, float(np.std(of, ddof=1)), factor)
        for (part, factor), of in values.items()
        if len(of) > 1 and np.isfinite(of).all()
    ]


def streams_of(model: Model, repeat: int = 0) -> Streams:
    """The random stream of each purpose. More repeats change nothing of the first."""
    names = [model.id, f"repeat {repeat}"] if repeat else [model.id]
    return lambda purpose: stream(*names, purpose)


def _evaluated(name: str, inputs: Inputs | None, streams: Streams) -> Evaluated:
    """A metric's scores; or its headline without a value, and the reason why there is none."""
    no_value = [Score(HEADLINE, math.nan)]
    if inputs is None:
        return Evaluated(no_value, "the pictures have no factors", 0.0)
    began = time.perf_counter()
    try:
        scores, reason = evaluate(name, inputs, streams(name)), ""
    except ValueError as error:
        scores, reason = no_value, " ".join(str(error).split())
    return Evaluated(scores, reason, time.perf_counter() - began)


def _under_noise(
    clean: Inputs,
    noise: Mapping[int, Noise],
    regime: str,
    codes_of: CodesOf,
    data_set: DataSet,
    settings: Metrics,
    streams: Streams,
) -> dict[str, Evaluated]:
    """Each metric's headline in one regime of label noise, under the part's own name."""
    inputs = noisy_inputs(clean, noise, codes_of, data_set, settings, streams)
    evaluated = {}
    for name in settings.names:
        of_metric = _evaluated(name, inputs, streams)
        score = Score(noisy_part(regime), of_metric.scores[0].value)
        evaluated[name] = replace(of_metric, scores=[score])
    return evaluated


def prepare_inputs(network: Network, data_set: DataSet, model: Model, settings: Metrics) -> Inputs:
    """What the metrics read of a model, drawn once."""
    codes_of = _codes_of(network, data_set, settings)
    return draw_inputs(codes_of, data_set, settings, streams_of(model))


def _codes_of(network: Network, data_set: DataSet, settings: Metrics) -> CodesOf:
    has_splits = isinstance(data_set, HasSplits)
    images = images_per_model(settings, data_set.factor_sizes, has_splits=has_splits)
    return CodesOf(network, data_set, images)


def draw_inputs(
    codes_of: CodesOf, data_set: DataSet, settings: Metrics, streams: Streams
) -> Inputs:
    """Codes of i.i.d. rows and of all kinds of groups that the metrics need.

    Of a data set with splits the rows of each table are from its split, none drawn twice, and
    groups are from all pictures.

    Every input has its own random stream, so adding a metric changes no number of another.
    Pictures without factors give rows without columns, and no groups.
    """
    wanted = needs(settings.names)
    drawn = _drawn_groups(codes_of, data_set, settings, streams, {})
    if "test_table" in wanted:
        draws = streams("test table")
        drawn["test_factors"], pictures = codes_of.rows("test", settings.test_points, draws)
        drawn["test_codes"], drawn["test_targets"] = codes_of.with_targets(pictures)
    if "targets" in wanted and isinstance(data_set, HasSplits):
        for split in FURTHER:
            _, pictures = codes_of.rows(split, settings.test_points, streams(f"{split} table"))
            drawn[f"{split}_codes"], _ = codes_of.with_targets(pictures)
            drawn[f"{split}_targets"] = data_set.targets(pictures.points)
    if "agents" in wanted:
        drawn["learn_clustering"] = partial(learn_clustering, codes_of.network)
    factors, pictures = codes_of.rows("train", settings.points, streams("table"))
    if "posterior" in wanted:
        codes, drawn["targets"], drawn["logvar"], drawn["reconstruction"] = codes_of.posteriors(
            pictures, streams("posterior")
        )
    else:
        codes, drawn["targets"] = codes_of.with_targets(pictures)
    seed = int(streams("trees").integers(SEEDS))
    return Inputs(
        codes,
        factors,
        trees=settings.trees,
        tree_seed=seed,
        continuous=data_set.continuous,
        **drawn,
    )


def noisy_inputs(
    clean: Inputs,
    noise: Mapping[int, Noise],
    codes_of: CodesOf,
    data_set: DataSet,
    settings: Metrics,
    streams: Streams,
) -> Inputs:
    """The inputs with wrong labels: tables have the same codes, and groups have the same draws with
    noise on the factors of their pictures."""
    tables = with_noisy_tables(clean, noise, data_set, streams)
    return replace(tables, **_drawn_groups(codes_of, data_set, settings, streams, noise))


def _drawn_groups(
    codes_of: CodesOf,
    data_set: DataSet,
    settings: Metrics,
    streams: Streams,
    noise: Mapping[int, Noise],
) -> dict[str, Any]:
    """The groups of all kinds that the metrics need, by their names in Inputs, and why others are
    impossible. With noise, the pictures' factors differ from what the group says of them."""
    wanted = needs(settings.names)
    points, test_points, size = settings.points, settings.test_points, settings.group_size
    each_factor = np.arange(len(data_set.factor_names))

    def of_pictures(points: Factors, is_noisy: NDArray[np.bool_], purpose: str) -> Factors:
        return perturbed(points, is_noisy, noise, data_set, streams, purpose) if noise else points

    def groups(count: int, name: str) -> Callable[[], Groups]:
        draws = streams(name)
        factors, fixed = data_set.sample_groups(count, size, draws)
        factors = of_pictures(factors, fixed[:, None] == each_factor, name)
        codes = codes_of.later(factors, draws)
        return lambda: Groups(codes(), fixed)

    def pairs(count: int, name: str) -> Callable[[], Pairs]:
        draws = streams(name)
        first, second, fixed = data_set.sample_pairs(count, size, draws)
        is_noisy = fixed[:, None] == each_factor
        first = of_pictures(first, is_noisy, f"{name}, first")
        second = of_pictures(second, is_noisy, f"{name}, second")
        of_first, of_second = codes_of.later(first, draws), codes_of.later(second, draws)
        return lambda: Pairs(of_first(), of_second(), fixed)

    def variations(count: int, name: str) -> Callable[[], Groups]:
        draws = streams(name)
        factors, varied = data_set.sample_variations(count, size, draws)
        factors = of_pictures(factors, varied[:, None] != each_factor, name)
        codes = codes_of.later(factors, draws)
        return lambda: Groups(codes(), varied)

    def intervened(factor: int, points: Factors) -> Factors:
        is_noisy = np.broadcast_to(each_factor == factor, (len(points), len(each_factor)))
        return of_pictures(points, is_noisy, "interventions")

    kinds: dict[str, Callable[[int, str], Any]] = {
        "groups": groups,
        "pairs": pairs,
        "variations": variations,
    }
    drawn: dict[str, Any] = {}
    impossible: dict[str, str] = {}
    for kind, draw in kinds.items():
        if kind in wanted:
            try:
                drawn[f"train_{kind}"] = draw(points, f"train {kind}")
                drawn[f"test_{kind}"] = draw(test_points, f"test {kind}")
            except ValueError as error:  # the user's own table may lack the rows
                impossible[kind] = str(error)
    if "interventions" in wanted:
        draws = streams("interventions")
        try:
            every_factor = data_set.sample_interventions(INTERVENED, draws)
            drawn["interventions"] = tuple(
                codes_of(intervened(factor, points_of_factor), draws)
                for factor, points_of_factor in enumerate(every_factor)
            )
        except ValueError as error:
            impossible["interventions"] = str(error)
    return drawn | {"impossible": impossible}


class Pictures(NamedTuple):
    """Numbers of pictures, or the points that say what they show; and what draws them."""

    points: NDArray[Any]
    show: Show


class CodesOf:
    """A model's codes of points. Each picture is encoded once where more are read than exist.

    Targets are the points' factors as real numbers, where some are continuous.
    """

    def __init__(self, network: Network, data_set: DataSet, wanted: int) -> None:
        self.network, self.data_set = network, data_set
        self.known: Codes | None = None
        count = data_set.pictures
        if count and count <= wanted and isinstance(data_set, Finite):
            self.known = encode_all(network, data_set.show, count, data_set.boxes)

    def __call__(self, factors: NDArray[np.int64], draws: np.random.Generator) -> Codes:
        return self.later(factors, draws)()

    def later(self, factors: NDArray[np.int64], draws: np.random.Generator) -> Callable[[], Codes]:
        """What gives the codes, whose pictures are drawn now. Of known codes, which ones to take is
        all that is in memory until then."""
        shape = (*factors.shape[:-1], -1)
        pictures = self._pictures(factors.reshape(-1, factors.shape[-1]), draws)
        if (known := self.known) is None:
            codes, _ = self.with_targets(pictures)
            return lambda: codes.reshape(shape)
        places = pictures.points.astype(np.int32)
        return lambda: known[places].reshape(shape)

    def rows(
        self, split: Split, count: int, draws: np.random.Generator
    ) -> tuple[Factors, Pictures]:
        """Factors (points, factors) and their pictures: independent, or of a data set with splits
        different ones of this split, all if it has no more."""
        if isinstance(self.data_set, HasSplits):
            every = getattr(self.data_set.splits(), split)
            places = draws.choice(every, min(count, len(every)), replace=False)
            return self.data_set.positions(places), Pictures(
                places, partial(of_places, self.data_set)
            )
        factors = self.data_set.sample(count, draws)
        return factors, self._pictures(factors, draws)

    def with_targets(self, pictures: Pictures) -> tuple[Codes, Targets | None]:
        """Codes and targets of these pictures."""
        points, show = pictures
        codes = _encoded(self.network, show, points) if self.known is None else self.known[points]
        return codes, self._targets(points)

    def posteriors(
        self, pictures: Pictures, noise: np.random.Generator
    ) -> tuple[Codes, Targets | None, Codes | None, NDArray[np.float64] | None]:
        """The same codes and targets, log-variances, and each picture's loss from one sample; the
        last two are none without a posterior.

        Pictures are encoded again where codes are known, as their loss needs the picture anyway.
        """
        points, show = pictures
        parts = []
        for images in _drawn_batches(show, points):
            mean, logvar = encode(self.network, images)
            drawn = mean if logvar is None else sample(mean, logvar, noise).astype(np.float32)
            parts.append((mean, logvar, reconstruction_losses(self.network, images, drawn)))
        codes = np.concatenate([mean for mean, _, _ in parts])
        logvars, losses = (_joined(part) for part in list(zip(*parts, strict=True))[1:])
        codes = codes if self.known is None else self.known[points]
        return codes, self._targets(points), logvars, losses

    def _targets(self, points: NDArray[Any]) -> Targets | None:
        if self.data_set.continuous and isinstance(self.data_set, HasTargets):
            return self.data_set.targets(points)
        return None

    def _pictures(self, factors: NDArray[np.int64], draws: np.random.Generator) -> Pictures:
        """By their numbers where codes are known or targets are needed, else by the points."""
        numbered = self.known is not None or bool(self.data_set.continuous)
        if numbered and isinstance(self.data_set, Finite):
            return Pictures(self.data_set.places(factors, draws), partial(of_places, self.data_set))
        return Pictures(factors, lambda part: in_parts(self.data_set, part, draws))


def _joined(parts: Iterable[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def _encoded(network: Network, show: Show, points: NDArray[Any]) -> Codes:
    return np.concatenate([encode(network, images)[0] for images in _batches(show, points)])


def _drawn_batches(show: Show, points: NDArray[Any]) -> Iterator[NDArray[np.float32]]:
    """The same as arrays, for pictures that are read several times."""
    for images in _batches(show, points):
        for i in range(0, len(images), IN_MEMORY):
            yield images[i : i + IN_MEMORY]


def _batches(show: Show, points: NDArray[Any]) -> Iterator[ShownPictures]:
    for i in range(0, len(points), DRAWN_TOGETHER):
        yield show(points[i : i + DRAWN_TOGETHER])
