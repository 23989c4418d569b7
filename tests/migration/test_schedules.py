"""A sample of the schedules of faults: some of every profile, each of them twice the same. All: ``tests.migration``."""

from __future__ import annotations

import pytest

from syncer.migration.running.former import FormerValues
from syncer.migration.running.stopping import Stopping
from syncer.migration.running.warm_up import WarmedUp, WarmUp
from tests.migration.schedules.campaign import Campaign, errands, perform, play, run
from tests.migration.schedules.profiles import PROFILES
from tests.migration.test_flip_breaks import still_at_once

SEEDS = 2


async def stay_cold(_: WarmUp, *_of: object) -> WarmedUp:
    """A broker that migrates for the first time takes longest: nearly every play meets that."""
    return WarmedUp(topics={}, cold=(), took_s=0.0)


@pytest.mark.parametrize("profile", PROFILES)
def test_schedules_harm_nobody(profile: str) -> None:
    for seed in range(SEEDS):
        outcome, _ = play(profile, seed)
        assert outcome.wrong == (), seed


@pytest.mark.parametrize("profile", ["killed-rough", "storm"])
def test_a_seed_decides_all(profile: str) -> None:
    assert len({play(profile, 7)[1].control.play.timeline.digest for _ in range(2)}) == 1


def test_harm_is_told_with_its_profile_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stopping, "by_gate", still_at_once)
    monkeypatch.setattr(WarmUp, "run", stay_cold)
    found = run(errands(["calm"], 0, 20), processes=1, keep_going=True)
    assert found.played == 20
    assert found.broken
    assert all(str(each).startswith("FAIL profile calm, seed ") for each in found.broken)


def test_what_raises_is_broken_and_what_others_have_counted_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Campaign()
    whole.add(perform((("calm", 0), ("late", 1))))
    monkeypatch.setattr(FormerValues, "put_all_back", None)
    whole.add(perform((("calm", 2),)))
    assert whole.played == 3
    assert [(each.profile, each.seed) for each in whole.broken] == [("calm", 2)]
    assert whole.tallies["calm"].ends == {"closed": 1}
