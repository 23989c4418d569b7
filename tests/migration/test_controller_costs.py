"""What a migration asks of both clusters: calls for each topic of a wave, until its clients stand at green."""

from __future__ import annotations

from collections import Counter

import pytest

from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import Control, says_go
from tests.migration.plays import CALM, NamespacePlay, SimTopic

pytestmark = pytest.mark.anyio


def many(count: int, producers: int, kinds: tuple[SubscriptionKind, ...]) -> tuple[SimTopic, ...]:
    return tuple(SimTopic(name=f"t{number}", producers=(CALM,) * producers, kinds=kinds) for number in range(count))


async def asked(seed: int, producers: int, kinds: tuple[SubscriptionKind, ...]) -> Counter[str]:
    """Topic → calls to both clusters from the beginning of a wave until everybody stands at green and nothing is left.

    Without the first one: while nothing is to be seen yet it is asked for all.
    """
    load = many(8, producers, kinds)
    control = Control(NamespacePlay(seed, load))
    begun: dict[str, tuple[int, int]] = {}

    async def operator(controller: Controller, state: MigrationState) -> None:
        made = len(control.blue.made), len(control.green.made)
        if state.run.standing.phase is MigrationPhase.CANARY:
            begun.setdefault("move", made)
        if any(each["step"] == "verify" for each in control.journal.noted("step-begins")):
            begun.setdefault("verify", made)
        await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    found: Counter[str] = Counter()
    for cluster, calls in enumerate((control.blue, control.green)):
        for _, path in calls.made[begun["move"][cluster] : begun["verify"][cluster]]:
            found.update(each.name for each in load[1:] if f"/{each.name}/" in path)
    return found


@pytest.mark.parametrize(
    ("producers", "kinds", "most"),
    [
        (0, (), 10),
        (1, (SubscriptionKind.EXCLUSIVE,), 14),
        (2, (SubscriptionKind.EXCLUSIVE, SubscriptionKind.FAILOVER, SubscriptionKind.SHARED), 14),
    ],
    ids=["idle", "braked", "gated"],
)
async def test_calls_for_one_topic(producers: int, kinds: tuple[SubscriptionKind, ...], most: int) -> None:
    """However many subscriptions it has: green is asked for all of them by one call, and so are its clients.

    One call more is needed where blue has yet to delete its subscriptions when it is looked at.
    """
    counts = [await asked(seed, producers, kinds) for seed in range(1, 5)]
    assert [len(each) for each in counts] == [7, 7, 7, 7]
    found = [max(each.values()) for each in counts]
    assert min(found) <= most, found
    assert max(found) <= most + 1, found
