"""What training one model leaves in the store, also when it fails or another worker is there."""

import json
import os
import zlib

import numpy as np
import pytest
import torch
from safetensors.numpy import load as load_arrays

import tasks.model_row
import tasks.train
from infra.store import Store
from models.representation import decoded_samples, encode
from models.training import TrainingModule
from tasks import data_sets
from tasks.log import LOG
from tasks.model_row import versions
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.under_way import FOLDER as UNDER_WAY
from tasks.study.under_way import steps_under_way
from tasks.study.weight_files import CHECKSUM
from tasks.train import prior_samples, train_model
from tasks.weights import load_model
from tests.tasks.made_models import changed
from tests.tasks.train.training import (
    MODEL,
    PROBE,
    WRITTEN,
    contents,
    in_store,
    log,
    outcome,
    weights,
)


def test_everything_is_written(undisturbed):
    store = Store(undisturbed)
    assert store.names("models", MODEL.id) == [LOG, "model.json", "weights.safetensors"]
    assert store.names("tables") == sorted(WRITTEN)
    known = store.read_json("models", MODEL.id, "model.json")
    assert known == {**MODEL.identity, "channels": 1, CHECKSUM: zlib.crc32(weights(undisturbed))}
    row = outcome(undisturbed)
    assert {name: row[name] for name in MODEL.keys} == MODEL.keys
    assert (row["status"], row["reason"], row["steps"]) == ("trained", "", 50)
    assert (row["training_steps"], row["architecture"]) == (50, "paper")
    assert row["elbo"] == pytest.approx(-row["reconstruction"] - row["kl"])
    assert row["kl"] == pytest.approx(sum(row["kl_per_latent"]), rel=1e-6)
    assert len(row["kl_per_latent"]) == 3 and row["seconds"] > 0
    versions = json.loads(row["versions"])
    assert versions.keys() >= {"torch", "numpy", "python", "processor", "instructions"}
    assert row["tries"] == 1 and 100 < row["memory_mb"] < 10_000
    curve = store.read("curves").to_pydict()
    assert curve["step"] == [1, 20, 40, 50]
    assert curve["loss"][-1] == pytest.approx(row["loss"])
    pictures = store.read("pictures").to_pylist()
    assert [picture["kind"] for picture in pictures] == ["traversal", "reconstruction", "samples"]
    by_kl = sorted(range(3), key=lambda latent: -row["kl_per_latent"][latent])
    assert pictures[0]["order"] == by_kl
    assert pictures[0]["kl"] == [row["kl_per_latent"][latent] for latent in by_kl]
    assert all(picture["png"].startswith(b"\x89PNG") for picture in pictures)
    samples = prior_samples(3)
    assert samples.shape == (4, 8, 3) and samples.std() == pytest.approx(1, abs=0.3)
    assert pictures[2]["png"] == decoded_samples(load_model(MODEL, store), samples)


def test_the_representation_is_what_the_stored_weights_say_of_the_probe(undisturbed):
    store, images_of = Store(undisturbed), data_sets.load(DataChoice(name="dsprites"))
    draws = stream("probe", "dsprites")
    places = draws.integers(int(np.prod(images_of.factor_sizes)), size=PROBE)
    factors = np.stack(np.unravel_index(places, images_of.factor_sizes), axis=1)
    mean, logvar = encode(load_model(MODEL, store), images_of.images(factors, draws))
    rows = store.read("representations").to_pydict()
    assert rows["row"] == list(range(PROBE))
    np.testing.assert_allclose(np.array(rows["mean"]), mean, atol=1e-6)
    np.testing.assert_allclose(np.array(rows["logvar"]), logvar, atol=1e-6)
    assert load_arrays(weights(undisturbed)).keys() == load_model(MODEL, store).state_dict().keys()


def test_the_commit_is_that_before_the_training(tmp_path, monkeypatch):
    now = {"commit": "older"}

    def load_after_a_commit(*arguments):
        now["commit"] = "newer"
        return data_sets.load(*arguments)

    monkeypatch.setattr(tasks.model_row, "made_with", lambda: dict(now))
    monkeypatch.setattr(tasks.train, "load", load_after_a_commit)
    versions.cache_clear()
    try:
        train_model(*in_store(tmp_path), changed(MODEL, steps=1))
    finally:
        versions.cache_clear()
    (row,) = Store(tmp_path).read("models").to_pylist()
    assert json.loads(row["versions"])["commit"] == "older"


def test_a_second_call_changes_no_byte(undisturbed):
    before = contents(undisturbed)
    assert train_model(*in_store(undisturbed), MODEL) == "trained"
    assert contents(undisturbed) == before


def test_a_model_whose_row_was_merged_is_done(undisturbed, tmp_path):
    store = Store(tmp_path)
    source = Store(undisturbed)
    for table in ("models", "curves"):
        store.write_part(table, MODEL.id, source.read(table))
        store.merge(table, MODEL.cell, [MODEL.id])
    before = contents(tmp_path)
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert contents(tmp_path) == before


def test_two_stores_get_the_same_bytes(undisturbed, tmp_path):
    torch.manual_seed(99)  # what happens around a model does not matter
    np.random.seed(99)
    assert train_model(*in_store(tmp_path, 1e-9, log_every=7), MODEL) == "trained"
    assert weights(tmp_path) == weights(undisturbed)
    files = {"representations", "pictures"}
    for table in files:
        assert Store(tmp_path).read(table).equals(Store(undisturbed).read(table)), table


def test_another_seed_gives_another_model(undisturbed, tmp_path):
    other = changed(MODEL, seed=1, steps=1)
    train_model(*in_store(tmp_path), other)
    assert weights(tmp_path, other) != weights(undisturbed)


@pytest.mark.parametrize("table", WRITTEN[:-1])
def test_no_model_counts_as_trained_before_its_other_tables_are_written(
    table, tmp_path, monkeypatch
):
    write = Store.write_part

    def no_room(self, name, *rest, **settings):
        if name == table:
            raise OSError(28, "No space left on device")
        write(self, name, *rest, **settings)

    short = changed(MODEL, steps=1)
    monkeypatch.setattr(Store, "write_part", no_room)
    with pytest.raises(OSError, match="No space left"):  # no fault of the model's
        train_model(*in_store(tmp_path), short)
    assert Store(tmp_path).read("models").num_rows == 0
    monkeypatch.undo()
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert "trained, " in log(tmp_path, short).splitlines()[-1]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 8 bytes"),
    ],
)
def test_a_model_that_runs_out_of_memory_has_that_reason(error, tmp_path, monkeypatch):
    def broken(self, step):
        raise error

    monkeypatch.setattr(TrainingModule, "optimise", broken)
    assert train_model(*in_store(tmp_path), MODEL) == "failed"
    assert outcome(tmp_path)["reason"].startswith("out of memory (")


@pytest.mark.parametrize("late_worker", ["continues", "fails"])
def test_a_worker_that_was_taken_for_dead_changes_nothing(
    late_worker, undisturbed, tmp_path, monkeypatch
):
    """It could not be reached for a while, in which another worker trained the same model."""
    optimise, before = TrainingModule.optimise, []

    def out_of_reach(self, step):
        if step == 30 and not before:
            before.append(step)
            assert train_model(*in_store(tmp_path), MODEL) == "trained"
            before.append(contents(tmp_path))
            if late_worker == "fails":
                raise RuntimeError("what it needs is gone")
        return optimise(self, step)

    monkeypatch.setattr(TrainingModule, "optimise", out_of_reach)
    assert train_model(*in_store(tmp_path, 1e-9), MODEL) == "trained"
    assert contents(tmp_path) == before[1], "neither a row nor a checkpoint"
    assert weights(tmp_path) == weights(undisturbed)


def test_precision_changes_the_id_and_fast_layers_do_not(undisturbed, tmp_path):
    rough = changed(MODEL, precision="bfloat16")
    assert train_model(*in_store(tmp_path), rough) == "trained"
    assert rough.id != MODEL.id and weights(tmp_path, rough) != weights(undisturbed)
    assert outcome(tmp_path, rough)["elbo"] == pytest.approx(outcome(undisturbed)["elbo"], rel=0.05)
    assert train_model(*in_store(tmp_path, fast=False), MODEL) == "trained"
    assert outcome(tmp_path)["elbo"] == pytest.approx(outcome(undisturbed)["elbo"], rel=1e-3)


def test_the_row_is_written_last_and_all_files_are_flushed_to_disk(tmp_path, monkeypatch):
    written, write_bytes = [], Store.write_bytes

    def noted(self, data, *to, lasting=False):
        if to[0] != UNDER_WAY:
            written.append((to[1] if to[0] == "tables" else to[-1], lasting))
        write_bytes(self, data, *to, lasting=lasting)

    monkeypatch.setattr(Store, "write_bytes", noted)
    train_model(*in_store(tmp_path), changed(MODEL, steps=1))
    made = [(name, lasting) for name, lasting in written if name != LOG]
    assert made[-1][0] == "models"
    assert {name for name, _ in made} == {*WRITTEN, "weights.safetensors", "model.json"}
    assert all(lasting for _, lasting in made)


def test_steps_are_reported_now_and_then_and_forgotten_at_the_end(tmp_path, monkeypatch):
    reported, write = [], tasks.train.write_steps

    def noted(store, model_id, steps):
        write(store, model_id, steps)
        reported.append(steps_under_way(store))

    monkeypatch.setattr(tasks.train, "write_steps", noted)
    train_model(*in_store(tmp_path), MODEL)
    assert reported == [{MODEL.id: 0}], "ten seconds have not gone by"
    monkeypatch.setattr(tasks.train, "EVERY_SECONDS", 0.0)
    other = changed(MODEL, seed=1)
    train_model(*in_store(tmp_path), other)
    assert reported[1:] == [{other.id: steps} for steps in (0, 20, 40, 50)]
    assert steps_under_way(Store(tmp_path)) == {}


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_removed_changes_no_outcome(tmp_path, monkeypatch, error):
    def refused(*_):
        raise error

    short = changed(MODEL, steps=1)
    monkeypatch.setattr(Store, "remove", refused)
    monkeypatch.setattr(Store, "remove_temporary", refused)
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert Store(tmp_path).read("models")["status"].to_pylist() == ["trained"]


def test_a_checkpoint_that_outlived_its_row_is_removed(tmp_path):
    short, store = changed(MODEL, steps=1), Store(tmp_path)
    train_model(*in_store(tmp_path), short)
    store.write_bytes(b"old", "models", short.id, "checkpoint.pt")
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert not store.exists("models", short.id, "checkpoint.pt")


def test_a_damaged_row_is_made_again(undisturbed, tmp_path):
    short = changed(MODEL, steps=1)
    train_model(*in_store(tmp_path), short)
    part = tmp_path / "tables" / "models" / f"{short.id}.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert outcome(tmp_path, short)["status"] == "trained"


def test_a_diverged_model_is_a_row_with_its_reason(tmp_path):
    wild = changed(MODEL, learning_rate=1e20)
    assert train_model(*in_store(tmp_path), wild) == "diverged"
    row = outcome(tmp_path, wild)
    assert row["status"] == "diverged" and "at step" in row["reason"]
    assert row["kl_per_latent"] == [] and row["elbo"] is None
    assert Store(tmp_path).read("representations").num_rows == 0
    assert train_model(*in_store(tmp_path), wild) == "diverged"


def test_weights_that_are_not_finite_after_the_last_step_are_a_diverged_model(
    tmp_path, monkeypatch
):
    optimise = TrainingModule.optimise

    def last(self, step):
        losses = optimise(self, step)
        if step == 0:
            next(self.vae.encoder.mean.parameters()).data.fill_(float("nan"))
        return losses

    monkeypatch.setattr(TrainingModule, "optimise", last)
    short = changed(MODEL, steps=1)
    assert train_model(*in_store(tmp_path), short) == "diverged"
    assert "nan" in outcome(tmp_path, short)["reason"]
    assert Store(tmp_path).names("tables") == ["models"]


def test_an_exception_gives_a_failed_row_and_a_traceback_in_the_log(tmp_path, monkeypatch):
    def broken(self, step):
        raise RuntimeError("the roof leaks")

    monkeypatch.setattr(TrainingModule, "optimise", broken)
    assert train_model(*in_store(tmp_path), MODEL) == "failed"
    row = outcome(tmp_path)
    assert (row["status"], row["reason"]) == ("failed", "RuntimeError: the roof leaks")
    text = log(tmp_path)
    assert "Traceback" in text and "in broken" in text and "the roof leaks" in text
    last = text.splitlines()[-1]
    assert f" {os.getpid()}: failed: RuntimeError: the roof leaks, " in last
