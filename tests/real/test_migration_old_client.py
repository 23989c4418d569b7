"""A real client of before redirects: it stops a migration, and whoever moves it all the same is told who it is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import pulsar
import pytest

from deploy.lab.software import old_client
from deploy.lab.traffic.loads import PublisherLoad, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.migration.course import MigrationCommand, StopCode
from syncer.migration.phases import MigrationPhase
from syncer.waiting import until
from tests.conftest import PulsarPair
from tests.real.migrations import GREEN, Make, RealMigration
from tests.real.old_client import OldClient

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar"), pytest.mark.slow]

STEADY: Final = PublisherLoad(per_s=20)
VERSION: Final = "Pulsar-CPP-v3.4"


def loads_of(migration: RealMigration) -> list[TopicLoad]:
    """A topic with clients that follow, and one that the old client has for itself."""
    namespace = migration.namespaces[0]
    return [
        TopicLoad(topic=f"persistent://{namespace}/new", publishers=(STEADY,), kinds=(pulsar.ConsumerType.Exclusive,)),
        TopicLoad(topic=f"persistent://{namespace}/old", publishers=(), kinds=()),
    ]


async def test_a_client_that_cannot_follow_stops_the_migration_before_anybody_is_moved(
    migration_of: Make, tmp_path: Path
) -> None:
    migration = migration_of("refused")
    loads = loads_of(migration)
    await migration.make(loads)

    async def operator() -> None:
        state = await migration.until(lambda state: state.run.stop is not None, "it is stopped")
        assert state.run.stop is not None
        assert state.run.stop.code == StopCode.BLOCKED
        (gate,) = state.blocking
        assert gate.check.name == "client-gate"
        (finding,) = gate.findings
        assert finding.subject.startswith(VERSION)
        assert "old-writer" in finding.evidence
        assert "old-reader" in finding.evidence
        assert not any(key.startswith(("former", "sent")) for key in migration.journal.kept), "nobody was stopped"
        await migration.ask(MigrationCommand.ABORT, "not before it is updated")
        await migration.until(lambda state: state.run.standing.phase is MigrationPhase.ROLLED_BACK, "it is taken back")

    with (
        OldClient(old_client(), migration.service_url, loads[1].topic) as old,
        ClusterTraffic(migration.service_url, loads, tmp_path) as traffic,
    ):
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 20)
        story = old.story()
    migration.see_unharmed(account)
    assert max(account.gap_s.values()) < 2, "nobody was stopped"
    assert (story["doubled"], story["told"]) == (0, {})
    await migration.left_nothing()


async def test_whoever_passes_over_it_is_told_which_client_has_not_come(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    migration = migration_of("passed-over")
    loads = loads_of(migration)
    await migration.make(loads)

    async def operator() -> None:
        await migration.go()
        await migration.until(lambda state: state.run.moved == 1, "the wave is moved")
        (verdict,) = (await migration.until(lambda state: bool(state.run.verdicts), "it is judged")).run.verdicts
        missing.extend(verdict.missing)
        state = await migration.until(lambda state: state.run.stop is not None, "it is not verified")
        assert state.run.stop is not None
        assert state.run.stop.code == StopCode.MISSING
        await migration.resume("it is started again at green")
        await migration.close()

    missing: list[str] = []
    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        with OldClient(old_client(), migration.service_url, loads[1].topic) as old:
            plan = await migration.plan(overrides={"client-gate": "it is restarted at green"})
            await migration.carry(plan, operator)
            story = old.story()
        with OldClient(old_client(), pulsar_pair.clusters[GREEN].service_url, loads[1].topic) as again:
            await _reads(again)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    print(missing, story)
    migration.see_unharmed(account)
    assert sorted(name for name in ("old-reader", "old-writer") for each in missing if f" {name} of " in each) == [
        "old-reader",
        "old-writer",
    ]
    assert all(VERSION in each for each in missing)
    assert story["missing"] == 0, "what it was given a receipt for was read at blue, some of it more than once"
    assert story["told"], "it does not follow: it is told that it cannot send"
    await migration.left_nothing()


async def _reads(client: OldClient) -> None:
    """Wait until a client reads what it publishes."""

    def reads() -> bool:
        story = client.story()
        return bool(story["stored"] > 1 and story["missing"] <= 1)

    await until(reads, "the client reads what it publishes")
