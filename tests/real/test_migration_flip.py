"""A namespace under load is moved from one real cluster to another, and nobody is harmed."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pulsar
import pytest

from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad
from syncer.admin.client import AdminClient, AdminSettings
from syncer.migration.cure import Cure
from syncer.migration.running.report import FlipOutcome, FlipReport
from syncer.waiting import until
from tests.conftest import PulsarPair
from tests.real.flipped_pair import LOADED_S, FlippedPair
from tests.real.migrations import BLUE, GREEN

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar")]

EXCLUSIVE, FAILOVER, KEY_SHARED = (
    pulsar.ConsumerType.Exclusive,
    pulsar.ConsumerType.Failover,
    pulsar.ConsumerType.KeyShared,
)
STEADY: Final = PublisherLoad(per_s=50)
SILENT: Final = PublisherLoad(per_s=0.12, sizes=(500,))
SEND_TIMEOUT_S: Final = 30.0
"""Of a client that was not told otherwise."""


@pytest.fixture
async def pair(pulsar_pair: PulsarPair, tmp_path: Path) -> AsyncIterator[FlippedPair]:
    """Both clusters; afterwards blue balances as before."""
    here, there = (AdminSettings(url=pulsar_pair.clusters[name].admin_url) for name in (BLUE, GREEN))
    async with AdminClient(here) as blue, AdminClient(there) as green:
        pair = FlippedPair(pulsar_pair.clusters, blue, green, tmp_path)
        yield pair
        await pair.release()


async def flipped_by_brake(pair: FlippedPair, name: str) -> bool:
    """Move topics of one steady producer each.

    Returns:
        Whether the brake alone did it: producers that do not keep their pace for a second need the gate.
    """
    namespace = f"flipped-{os.getpid()}/{name}"
    loads = [
        TopicLoad(topic=f"persistent://{namespace}/steady-{number}", publishers=(STEADY,), kinds=kinds)
        for number, kinds in enumerate(((EXCLUSIVE, FAILOVER), (EXCLUSIVE,), (KEY_SHARED,)))
    ]
    report, account = await pair.flip(namespace, loads)
    assert report.outcome is FlipOutcome.MIGRATED, report
    assert report.foreseen is not None
    _unharmed(report, account)
    by_brake = {each.cure for each in report.foreseen.cures} == {Cure.BRAKE}
    assert by_brake == (report.held_s is None), "only the gate sends anybody away"
    return by_brake


async def flipped_by_gate(pair: FlippedPair, name: str) -> None:
    """Move topics of many producers, silent and uneven ones among them, in Python and in Java."""
    namespace = f"flipped-{os.getpid()}/{name}"
    loads = (
        TopicLoad(topic=f"persistent://{namespace}/each", publishers=(STEADY,)),
        TopicLoad(topic=f"persistent://{namespace}/java", publishers=(STEADY,), java_per_s=100),
        TopicLoad(topic=f"persistent://{namespace}/parts", publishers=(STEADY, STEADY), partitions=3),
        TopicLoad(
            topic=f"persistent://{namespace}/batched",
            publishers=(PublisherLoad(per_s=1_000, sending=Sending.BATCHED),),
        ),
        TopicLoad(topic=f"persistent://{namespace}/many", publishers=(STEADY,) * 4 + (SILENT,) * 3),
        TopicLoad(
            topic=f"persistent://{namespace}/uneven",
            publishers=(PublisherLoad(per_s=30, sizes=(100, 30_000), sending=Sending.PIPELINED),),
        ),
    )
    report, account = await pair.flip(namespace, loads)
    assert report.outcome is FlipOutcome.MIGRATED, report
    assert account.published > 1_000 * LOADED_S
    assert report.held_s is not None
    _unharmed(report, account)


async def test_one_steady_producer_a_topic_is_moved_by_the_brake_alone(pair: FlippedPair) -> None:
    """A machine may stand still while somebody publishes fifty times a second; not each time."""
    attempts = itertools.count()
    await until(lambda: flipped_by_brake(pair, f"brake-{next(attempts)}"), "the brake alone moves steady producers")


async def test_many_silent_and_uneven_producers_are_moved_by_the_gate(pair: FlippedPair) -> None:
    await flipped_by_gate(pair, "gate")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
async def test_twenty_flips_in_a_row_harm_nobody(pair: FlippedPair, number: int) -> None:
    await (flipped_by_brake if number % 4 == 3 else flipped_by_gate)(pair, f"flip-{number}")


def _unharmed(report: FlipReport, account: TrafficAccount) -> None:
    print(account, f"held {report.held_s or 0:.1f} s, closing {report.closing_s or 0:.1f} s")
    assert account.unharmed, f"{account}: {account!r}"
    assert report.answered is not None
    assert report.answered.complete, report.answered
    assert (report.moved, report.ill, report.reasons) == ({}, {}, {})
    assert max(account.gap_s.values()) < SEND_TIMEOUT_S + 1 / SILENT.per_s
