"""One model from its first step to its rows: weights, curve, representation, pictures."""

from __future__ import annotations

import math
import time
import traceback
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

import models
from data.base.protocol import DataSet
from infra.files import no_room
from infra.peak_memory import peak_megabytes, reset_peak
from infra.store import Store
from metrics import INFORMATIVE_KL
from models.network import Network, Prior
from models.representation import (
    decoded_samples,
    encode,
    reconstructions,
    traversal,
    unsupervised,
)
from models.traces import activations
from models.training import CurvePoint, Diverged, Feed, Training
from tasks.checkpoints import Checkpoints
from tasks.data_sets import load, probe_images
from tasks.log import BEGINS, model_log
from tasks.model_row import status_of, versions, write_row
from tasks.snapshots import Snapshots, trace_samples
from tasks.streams import entropy, stream
from tasks.study.dynamics import TRACES
from tasks.study.model import DIVERGED, FAILED, TRAINED, Model
from tasks.study.spec import Study
from tasks.study.under_way import EVERY_SECONDS, forget_steps, write_steps
from tasks.weights import save_model

RECONSTRUCTED = 8  # images in the picture of reconstructions
SAMPLED = (4, 8)  # rows and columns of the picture of samples from the prior


def train_model(store: Store, study: Study, model: Model) -> str:
    """Train a model, from its checkpoint where it has one, and write its rows; returns its status.

    A model that ended is left as it is: Ray and people run things twice. The row in `models` is
    written last, so a model that has one has everything else.
    """
    if status := status_of(model, store):
        _clear(store, study, model, status)
        return status
    torch.set_num_threads(1)
    versions()  # of the code that runs: its checkout may change before the model's row is written
    counts_memory = reset_peak()
    attempt = _Attempt(store, study, model, counts_memory)
    try:
        attempt.run()
        return TRAINED
    except Diverged as error:
        return attempt.give_up(DIVERGED, str(error))
    except Exception as error:
        if no_room(error):  # not the model's fault: it continues when there is room again
            raise
        attempt.log.add(traceback.format_exc())
        return attempt.give_up(FAILED, _in_a_line(error))


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

    def run(self) -> None:
        data_set = load(self.choice)
        training = self.training = self._resumed(data_set)
        self.log.add(f"{BEGINS}{training.done} of {training.steps}")
        self._report_if_due(training)
        training.run(on_gpu=_has_gpu(self.study))
        self._write(training.network.eval(), training, data_set)

    def _write(self, network: Network, training: Training, data_set: DataSet) -> None:
        """Write a trained model's files and rows; its row in `models` last."""
        model, store = self.model, self.store
        images = probe_images(self.choice, self.study.probe)
        mean, logvar = encode(vae, images)
        quantities = unsupervised(vae, images, mean, logvar, _torch_stream(model.id, "probe"))
        if not math.isfinite(quantities.elbo):
            raise Diverged(f"elbo was {quantities.elbo} over the probe")
        kl = quantities.kl_per_latent
        save_model(vae, model, data_set.channels, store)
        rows = np.arange(len(mean), dtype=np.int32)
        codes = {"row": rows, "mean": _lists(mean), "logvar": _lists(logvar), "factors": None}
        store.write_part("representations", model.id, {**model.keys, **codes}, lasting=True)
        curve = dict(zip(CurvePoint._fields, zip(*training.curve, strict=True), strict=True))
        store.write_part("curves", model.id, {**model.keys, **curve}, lasting=True)
        order, strip = traversal(vae, mean[0], kl, INFORMATIVE_KL)
        rebuilt = reconstructions(vae, images[:RECONSTRUCTED], mean[:RECONSTRUCTED])
        pictures = {
            "kind": ["traversal", "reconstruction", "samples"],
            "order": [order, [], []],
            "kl": [kl[order].tolist(), [], []],
            "png": [strip, rebuilt, decoded_samples(vae, prior_samples(model.latents))],
        }
        store.write_part("pictures", model.id, {**model.keys, **pictures}, lasting=True)
        if self.study.traces:
            factors, _ = trace_samples(self.choice, self.study.traces)
            self.snapshots.put_together(data_set, factors)
        self._finish(
            TRAINED,
            "",
            loss=training.curve[-1].loss,
            reconstruction=quantities.reconstruction,
            kl=quantities.kl,
            elbo=quantities.elbo,
            kl_per_latent=[kl.tolist()],
        )

    def _training(self, data_set: DataSet) -> Training:
        model, settings = self.model, self.study.training

        def batch(step: int) -> torch.Tensor:
            draws = stream(model.id, "batches", step)
            factors = data_set.sample(model.recipe.batch_size, draws)
            images = torch.from_numpy(data_set.images(factors, draws))
            return images.contiguous(memory_format=torch.channels_last)

        training = Training(
            VAE(data_set.channels, model.latents, model.architecture, settings.fast),
            models.build_objective(model.method, model.strength, model.latents),
            model.recipe,
            batch,
            lambda step: _torch_stream(model.id, "noise", step),
            self._after_chunk,
            settings.log_every,
        )
        training.initialise(_torch_stream(model.id, "init"))
        return training

    def _resumed(self, data_set: DataSet) -> Training:
        for checkpoint in self.checkpoints.whole():
            training = self._training(data_set)
            try:
                training.restore(checkpoint)
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
            recorded = activations(training.vae, images, traces.layers)
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
            self.checkpoints.save(training.checkpoint())

    def give_up(self, status: str, reason: str) -> str:
        self._finish(status, reason)
        return status

    def _finish(self, status: str, reason: str, **numbers: Any) -> None:
        seconds = time.perf_counter() - self.began
        device = torch.cuda.get_device_name() if _has_gpu(self.study) else "cpu"
        if self.training:
            numbers["steps"] = self.training.done
            seconds += self.training.seconds
        numbers["memory_mb"] = peak_megabytes() if self.counts_memory else None
        self.log.add(f"{status}{': ' if reason else ''}{reason}, {seconds:.1f} s in all")
        write_row(self.model, self.store, status, reason, seconds=seconds, device=device, **numbers)
        _clear(self.store, self.study, self.model, status)


def _clear(store: Store, study: Study, model: Model, status: str) -> None:
    """Remove checkpoints, snapshots and temporary files; the model has ended, whether or not this
    succeeds."""
    forget_steps(store, model.id)
    with suppress(OSError):
        Checkpoints(store, model.id).remove()
        Snapshots(store, study, model).remove()
        if status != TRAINED:
            store.remove("models", model.id, TRACES)
        store.remove_temporary("models", model.id)


def prior_samples(latents: int) -> NDArray[np.float32]:
    """Samples of the prior (rows, columns, latents): the same for all models with as many latents,
    so that their pictures can be compared."""
    draws = stream("samples of the prior", latents)
    return draws.standard_normal((*SAMPLED, latents), dtype=np.float32)


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
