"""`make test-faults`: prints every fault as it strikes, and a table at the end."""

from __future__ import annotations

import os
import random
import time

import pytest
from pyarrow.fs import copy_files

from tests.campaign.judging import Undisturbed, judge
from tests.campaign.kinds import FAULTS, IN_BUCKET, left_out
from tests.campaign.prefect_on_postgres import PACKAGE, programs
from tests.campaign.rounds import Round
from tests.campaign.stage import Lost, Stage, set_up
from tests.campaign.tally import Tally

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
        stage.say = say
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
    undisturbed = Undisturbed(stage)
    number = 0
    while todo := deck(tally, injections, only, chance):
        number += 1
        in_bucket = todo[0] in IN_BUCKET
        kinds = [kind for kind in todo if (kind in IN_BUCKET) == in_bucket][:PER_ROUND]
        stage.new_round(number, in_bucket)
        say(f"round {number}{', in a bucket' if in_bucket else ''}")
        faults_round = Round(stage, kinds, chance, say)
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
        target = stage.folder / f"lost-{stage.store.name}"
        copy_files(stage.store.root, str(target), source_filesystem=stage.store.fs)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
