"""`make test-faults`: prints every fault as it strikes, and a table at the end."""

from __future__ import annotations

import os
import random
import shutil
import time
from typing import Any

import pytest

from tests.campaign.faults import FAULTS, left_out
from tests.campaign.prefect_on_postgres import PACKAGE, programs
from tests.campaign.rounds import Round, judge
from tests.campaign.stage import Lost, Stage, set_up
from tests.campaign.tally import Tally
from tests.flows.conftest import contents

PER_ROUND = 10
LEAST = 2  # of each kind


@pytest.mark.faults
@pytest.mark.timeout(0)
@pytest.mark.skipif(programs() is None, reason=f"needs Debian's package {PACKAGE}")
def test_a_study_survives_every_fault() -> None:
    injections = int(os.environ.get("TOLSTOY_INJECTIONS") or 30)
    seed = int(os.environ.get("TOLSTOY_SEED") or random.SystemRandom().randrange(10**6))
    only = tuple(filter(None, os.environ.get("TOLSTOY_FAULTS", "").split(",")))
    say(f"seed {seed}")
    with set_up() as stage:
        tally = Tally(seed, left_out(stage))
        try:
            run(stage, tally, injections, only)
        finally:
            say(str(tally))
    assert not tally.lost
    wanted = () if only else FAULTS.keys() - tally.left_out.keys()
    assert all(tally.injected[kind] >= LEAST for kind in wanted)


def run(stage: Stage, tally: Tally, injections: int, only: tuple[str, ...]) -> None:
    chance = random.Random(tally.seed)
    undisturbed = undisturbed_contents(stage)
    number = 0
    while todo := deck(tally, injections, only, chance):
        number += 1
        stage.new_round(number)
        say(f"round {number}")
        faults_round = Round(stage, todo[:PER_ROUND], chance, say)
        try:
            faults_round.play()
            judge(stage, undisturbed, faults_round.gave_up)
        except Lost as error:
            say(f"  LOST: {error}")
            tally.add(faults_round.struck, f"round {number}: {error}")
            keep(stage)
            stage.mend()
        else:
            tally.add(faults_round.struck)


def deck(tally: Tally, injections: int, only: tuple[str, ...], chance: random.Random) -> list[str]:
    """What is still to be injected: every kind often enough, and more up to the number."""
    kinds = [kind for kind in FAULTS if kind not in tally.left_out and (not only or kind in only)]
    least = [kind for kind in kinds for _ in range(max(0, LEAST - tally.injected[kind]))]
    more = injections - tally.injected.total() - len(least)
    todo = least + chance.choices(kinds, k=max(0, more))
    chance.shuffle(todo)
    return todo


def keep(stage: Stage) -> None:
    """If TOLSTOY_KEEP is set, copy the lost store, so that it can be looked at."""
    if os.environ.get("TOLSTOY_KEEP"):
        shutil.copytree(stage.store, stage.folder / f"lost-{stage.store.name}", dirs_exist_ok=True)


def undisturbed_contents(stage: Stage) -> dict[str, Any]:
    store = stage.folder / "undisturbed"
    done = stage.tolstoy(["run", str(stage.spec), "--store", str(store), "--workers", "2"], {})
    done.process.wait()
    assert done.code == 0, done.output
    return contents(store)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
