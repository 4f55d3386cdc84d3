"""One model from its first step to its rows: weights, curve, representation, pictures."""

from __future__ import annotations

import math
import time
import traceback
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from data.base.protocol import DataSet, HasSplits
from infra.files import out_of_reach
from infra.peak_memory import peak_megabytes, reset_peak
from infra.store import Store
from infra.timeline import span
from metrics import INFORMATIVE_KL
from models.architecture import VAE
from models.building import build_network, build_training
from models.instructions import instruction_set
from models.network import Network, Prior
from models.representation import (
    Pictures,
    decoded_samples,
    encode,
    reconstructions,
    traversal,
    unsupervised,
)
from models.traces import activations
from models.training import CurvePoint, Diverged, Feed, OtherInstructions, Training
from tasks.checkpoints import Checkpoints
from tasks.data_sets import all_pictures, drawn_pictures, load, probe_of
from tasks.give_back import trim
from tasks.leftovers import remove_leftovers
from tasks.log import BEGINS, model_log
from tasks.lost_gpu import end_process, gpu_is_lost
from tasks.machine_check import check_machine
from tasks.model_row import status_of, versions, write_row
from tasks.snapshots import Snapshots, trace_samples
from tasks.streams import entropy, stream
from tasks.study.model import DIVERGED, FAILED, TRAINED, Model
from tasks.study.spec import Study
from tasks.study.under_way import EVERY_SECONDS, write_steps
from tasks.weights import save_model

Floats: TypeAlias = NDArray[np.float32]
RECONSTRUCTED = 8  # images in the picture of reconstructions
SAMPLED = (4, 8)  # rows and columns of the picture of samples from the prior


def train_model(store: Store, study: Study, model: Model) -> str:
    """Train a model, from its checkpoint where it has one, and write its rows; returns its status.

    A model that ended is left as it is: Ray and people run things twice. The row in `models` is
    written last, so a model that has one has everything else.
    """
    if status := status_of(model, store):
        remove_leftovers(store, study, model, status)
        return status
    torch.set_num_threads(1)
    versions()  # of the code that runs: its checkout may change before the model's row is written
    counts_memory = reset_peak()
    attempt = _Attempt(store, study, model, counts_memory)
    try:
        attempt.run()
        return TRAINED
    except EndedElsewhere:
        attempt.log.add("another worker has trained it")
        status = status_of(model, store)
        remove_leftovers(store, study, model, status)
        return status
    except Diverged as error:
        return attempt.give_up(DIVERGED, str(error))
    except Exception as error:
        if out_of_reach(error):  # not the model's fault: it continues when the store is there again
            raise
        if gpu_is_lost(error):
            end_process(error, attempt.log)
        attempt.log.add(traceback.format_exc())
        return attempt.give_up(FAILED, _in_a_line(error))


class EndedElsewhere(Exception):
    """Another worker has written the model's row. A driver takes a worker that it cannot reach for
    dead and tries the model elsewhere, while that worker may still train it."""


class _Attempt:
    """One run of the training, from nothing or from a checkpoint."""

    def __init__(self, store: Store, study: Study, model: Model, counts_memory: bool) -> None:
        self.store, self.study, self.model = store, study, model
        self.counts_memory = counts_memory
        self.choice = study.choice(model.data)
        self.checkpoints, self.log = Checkpoints(store, model.id), model_log(store, model.id)
        self.snapshots = Snapshots(store, study, model)
        self.began = self.saved_at = time.perf_counter()
        self.saved_step = 0
        self.reported_at = -math.inf
        self.training: Training | None = None
        self.instructions = instruction_set(model.recipe.precision, _has_gpu(study))

    def run(self) -> None:
        with span("data and network"):
            data_set = load(self.choice)
            training = self.training = self._resumed(data_set)
        if not _has_gpu(self.study):
            with span("layers checked"):
                check_machine(training.network, self.study.training)
        self.log.add(f"{BEGINS}{training.done} of {self.model.steps}")
        self._report_if_due(training)
        with span("optimiser steps"):
            training.run(on_gpu=_has_gpu(self.study))
        trim()
        with span("files and rows"):
            self._write(training.network.eval(), training, data_set)

    def _write(self, network: Network, training: Training, data_set: DataSet) -> None:
        """Write a trained model's files and rows; its row in `models` last."""
        model, store = self.model, self.store
        probe = probe_of(self.choice, self.study.probe)
        images = probe.images
        mean, logvar = encode(network, images)
        numbers = self._quantities(network, images, mean, logvar)
        trim()
        save_model(network, model, data_set.channels, store)
        rows = np.arange(len(mean), dtype=np.int32)
        codes = {
            "row": rows,
            "mean": _lists(mean),
            "logvar": None if logvar is None else _lists(logvar),
            "factors": None if probe.targets is None else _lists(probe.targets.astype(np.float32)),
        }
        store.write_part("representations", model.id, {**model.keys, **codes}, lasting=True)
        points = [tuple(point) for point in training.curve]
        curve = dict(zip(CurvePoint._fields, zip(*points, strict=True), strict=bool(points)))
        if curve:
            store.write_part("curves", model.id, {**model.keys, **curve}, lasting=True)
        pictures = self._pictures(network, images, mean, numbers.get("kl_per_latent"), data_set)
        store.write_part("pictures", model.id, {**model.keys, **pictures}, lasting=True)
        if self.study.traces:
            factors, _ = trace_samples(self.choice, self.study.traces)
            self.snapshots.put_together(data_set, factors)
        if points:
            numbers["loss"] = training.curve[-1].loss
        self._finish(TRAINED, "", **numbers)

    def _quantities(
        self, network: Network, images: Pictures, mean: Floats, logvar: Floats | None
    ) -> dict[str, Any]:
        """The model's numbers over the probe; none without a posterior."""
        if logvar is None:
            if not np.isfinite(mean).all():
                raise Diverged("codes of the probe were not finite")
            return {}
        draws = _torch_stream(self.model.id, "probe")
        quantities = unsupervised(network, images, mean, logvar, draws)
        if not math.isfinite(quantities.elbo):
            raise Diverged(f"elbo was {quantities.elbo} over the probe")
        return {
            "reconstruction": quantities.reconstruction,
            "kl": quantities.kl,
            "elbo": quantities.elbo,
            "kl_per_latent": [quantities.kl_per_latent.tolist()],
        }

    def _pictures(
        self,
        network: Network,
        images: Pictures,
        mean: Floats,
        kl_per_latent: list[list[float]] | None,
        data_set: DataSet,
    ) -> dict[str, list[Any]]:
        """Rows of `pictures`."""
        kl = np.array(kl_per_latent[0], np.float32) if kl_per_latent else None
        order, strip = traversal(network, mean[0], kl, INFORMATIVE_KL)
        samples = prior_samples(self.model.latents, network.prior)
        rows: list[tuple[str, list[int], list[float], bytes]] = [
            ("traversal", order, [] if kl is None else kl[order].tolist(), strip),
            ("reconstruction", [], [], _rebuilt(network, images[:RECONSTRUCTED])),
            ("samples", [], [], decoded_samples(network, samples)),
        ]
        if isinstance(data_set, HasSplits) and len(data_set.splits().zero_shot):
            unseen = data_set.show(data_set.splits().zero_shot[:RECONSTRUCTED])
            rows.append(("zero_shot", [], [], _rebuilt(network, unseen)))
        columns = zip(*rows, strict=True)
        return dict(zip(("kind", "order", "kl", "png"), map(list, columns), strict=True))

    def _training(self, data_set: DataSet) -> Training:
        model, settings = self.model, self.study.training

        def batch(number: int) -> torch.Tensor:
            draws = stream(model.id, "batches", number)
            images = torch.from_numpy(drawn_pictures(data_set, model.recipe.batch_size, draws))
            return images.contiguous(memory_format=torch.channels_last)

        training = build_training(
            model.method,
            model.strength,
            build_network(
                model.method,
                data_set.channels,
                model.latents,
                model.architecture,
                settings.fast,
            ),
            model.recipe,
            Feed(
                batch,
                noise=lambda step: _torch_stream(model.id, "noise", step),
                pictures=lambda: map(torch.from_numpy, all_pictures(data_set, model.id)),
            ),
            self._after_chunk,
            settings.log_every,
        )
        training.instructions = self.instructions
        training.initialise(_torch_stream(model.id, "init"))
        return training

    def _resumed(self, data_set: DataSet) -> Training:
        for checkpoint in self.checkpoints.whole():
            training = self._training(data_set)
            try:
                training.restore(checkpoint)
            except OtherInstructions as error:
                self.log.add(
                    f"the checkpoint of step {error.step} is not used: it was made with "
                    f"{error.made_with}, this machine has {self.instructions}"
                )
                continue
            except Exception:  # of other versions or another model: its steps are lost
                continue
            if (step := self.snapshots.missing(training.done)) is None:
                self.saved_step = training.done
                return training
            self.log.add(
                f"the checkpoint of step {training.done} is not used: the snapshot of step {step} "
                "for the traces is missing or damaged"
            )
        return self._training(data_set)

    def _after_chunk(self, training: Training) -> None:
        self._report_if_due(training)
        self._trace_if_due(training)  # first: a checkpoint has all snapshots up to its step
        self._checkpoint_if_due(training)

    def _trace_if_due(self, training: Training) -> None:
        traces = self.study.traces
        if traces and training.done in self.snapshots.steps:
            _, images = trace_samples(self.choice, traces)
            assert isinstance(training.network, VAE), "Study refuses traces of others"
            recorded = activations(training.network, images, traces.layers)
            self.snapshots.save(training.done, recorded)

    def _report_if_due(self, training: Training) -> None:
        now = time.perf_counter()
        if now - self.reported_at >= EVERY_SECONDS:
            self.reported_at = now
            write_steps(self.store, self.model.id, training.done)

    def _checkpoint_if_due(self, training: Training) -> None:
        now, settings = time.perf_counter(), self.study.training
        steps = training.done - self.saved_step
        due = settings.checkpoint_steps is not None and steps >= settings.checkpoint_steps
        if due or now - self.saved_at >= settings.checkpoint_seconds:
            training.seconds += now - self.began
            self.began = self.saved_at = now
            self.saved_step = training.done
            if status_of(self.model, self.store):
                raise EndedElsewhere
            self.checkpoints.save(training.checkpoint())

    def give_up(self, status: str, reason: str) -> str:
        if ended := status_of(self.model, self.store):  # elsewhere, and better
            return ended
        self._finish(status, reason)
        return status

    def _finish(self, status: str, reason: str, **numbers: Any) -> None:
        seconds = time.perf_counter() - self.began
        device = torch.cuda.get_device_name() if _has_gpu(self.study) else "cpu"
        if self.training:
            numbers["steps"] = self.training.done
            numbers["instructions"] = self.training.instructions
            seconds += self.training.seconds
        numbers["memory_mb"] = peak_megabytes() if self.counts_memory else None
        self.log.add(f"{status}{': ' if reason else ''}{reason}, {seconds:.1f} s in all")
        write_row(self.model, self.store, status, reason, seconds=seconds, device=device, **numbers)
        remove_leftovers(self.store, self.study, self.model, status)


def prior_samples(latents: int, prior: Prior = "normal") -> Floats:
    """Samples of the prior (rows, columns, latents): the same for all models with as many latents,
    so that their pictures can be compared."""
    draws = stream("samples of the prior", latents)
    shape = (*SAMPLED, latents)
    if prior == "uniform":
        return 2 * draws.random(shape, dtype=np.float32) - 1
    return draws.standard_normal(shape, dtype=np.float32)


def _rebuilt(network: Network, images: Floats) -> bytes:
    return reconstructions(network, images, encode(network, images)[0])


def _torch_stream(*names: object) -> torch.Generator:
    return torch.Generator().manual_seed(entropy(*names) % 2**63)


def _lists(rows: NDArray[np.float32]) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), flat)


def _in_a_line(error: Exception) -> str:
    """An error in a line; torch's of a full memory do not say so in their type."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    short = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return f"out of memory ({text})" if short or "can't allocate memory" in text else text


def _has_gpu(study: Study) -> bool:
    """Whether this worker was given a GPU, or a part of one, that torch can use."""
    return study.training.gpus_per_model != 0 and torch.cuda.is_available()
