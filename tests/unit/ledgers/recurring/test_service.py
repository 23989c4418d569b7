"""Audits on schedule, over a record in memory and an auditor that answers what it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import anyio.lowlevel
import pytest

from syncer.errors import Fenced, StateUnavailable, StoreUnavailable, SyncerError, ValueInvalid
from syncer.ledgers.auditing.findings import LedgerFindingCode, LedgerFindingSeverity
from syncer.ledgers.recurring.schedule import RETRY_MS
from syncer.ledgers.recurring.service import IN_DANGER, LOOK_S, TROUBLED, AuditStanding, LedgerAudits, conditions
from syncer.ledgers.recurring.taken import AuditFinding, AuditSchedule, TakenAudit

pytestmark = pytest.mark.anyio
HOUR_MS = 3_600_000
NOW_MS = 1_700_000_000_000
GREEN = AuditSchedule(table="green", every_ms=HOUR_MS, keep=3, within_s=60.0, max_reads_per_s=None, root="/ledgers")
LOST = AuditFinding(
    code=LedgerFindingCode.ENTRIES_LOST,
    severity=LedgerFindingSeverity.CRITICAL,
    count=2,
    what="ledgers have entries of which no replica is up",
)
LEFT = AuditFinding(
    code=LedgerFindingCode.MARKS_LEFT_OVER,
    severity=LedgerFindingSeverity.NOTICE,
    count=1,
    what="marks are of ledgers whose bookies are back",
)


class Enough(Exception):
    """The test has seen enough."""


@dataclass
class World:
    """A clock, a database and an auditor."""

    now_ms: int = NOW_MS
    kept: dict[str, list[TakenAudit]] = field(default_factory=dict)
    took: list[tuple[str, int]] = field(default_factory=list)
    findings: tuple[AuditFinding, ...] = ()
    store_trouble: Exception | None = None
    state_trouble: SyncerError | None = None
    unreadable: bool = False
    shown: dict[str, str] = field(default_factory=dict)

    async def take(self, wanted: AuditSchedule) -> TakenAudit:
        if self.store_trouble is not None:
            raise self.store_trouble
        self.took.append((wanted.table, self.now_ms))
        return TakenAudit(taken_ms=self.now_ms, whole=True, ledgers=7, findings=self.findings, document=b"{}")

    def understood(self, document: bytes) -> TakenAudit:
        if self.unreadable:
            raise ValueInvalid("it is of another version")
        return next(each for audits in self.kept.values() for each in audits if each.document == document)

    async def latest(self, table: str) -> bytes | None:
        if self.state_trouble is not None:
            raise self.state_trouble
        audits = self.kept.get(table)
        return audits[-1].document if audits else None

    async def keep(self, table: str, taken: TakenAudit, most: int) -> None:
        if self.state_trouble is not None:
            raise self.state_trouble
        self.kept[table] = [*self.kept.get(table, []), taken][-most:]

    def show(self, code: str, message: str) -> None:
        self.shown[code] = message

    def unshow(self, code: str) -> None:
        self.shown.pop(code, None)

    async def run(self, *looks: Callable[[], None], schedules: tuple[AuditSchedule, ...] = (GREEN,)) -> LedgerAudits:
        """Audit; at each look but the first something happens before, an hour after the one before."""
        waiting = list(looks)

        async def sleep(seconds: float) -> None:
            for _ in range(3):  # the others have their turn
                await anyio.lowlevel.checkpoint()
            if seconds != LOOK_S:
                return
            if not waiting:
                raise Enough
            self.now_ms += HOUR_MS
            waiting.pop(0)()

        sleeping: Callable[[float], Awaitable[None]] = sleep
        audits = LedgerAudits(schedules, self, self, lambda: self.now_ms, self, sleep=sleeping)
        with pytest.raises(BaseExceptionGroup) as found:
            await audits.audits()
        rest = found.value.split(Enough)[1]
        if rest is not None:
            raise rest
        return audits


def nothing() -> None:
    """Nothing happens."""


async def test_one_is_taken_at_once_and_the_next_after_the_interval() -> None:
    world = World()
    audits = await world.run(nothing, nothing)
    assert world.took == [("green", NOW_MS), ("green", NOW_MS + HOUR_MS), ("green", NOW_MS + 2 * HOUR_MS)]
    assert audits.standings["green"].trouble is None


async def test_only_as_many_stay_as_are_to_be_kept() -> None:
    world = World()
    await world.run(*[nothing] * 5)
    assert [each.taken_ms for each in world.kept["green"]] == [NOW_MS + hours * HOUR_MS for hours in (3, 4, 5)]


async def test_what_an_earlier_daemon_has_kept_is_not_taken_again_and_stands() -> None:
    world = World(findings=(LOST,))
    earlier = TakenAudit(taken_ms=NOW_MS - 1, whole=True, ledgers=7, findings=(LOST,), document=b"earlier")
    world.kept["green"] = [earlier]
    audits = await world.run()
    assert world.took == []
    assert audits.standings["green"].latest == replace(earlier, document=b"")
    assert conditions(audits.standings)[IN_DANGER] == f"green: 2 {LOST.what}"


async def test_a_kept_one_of_another_version_is_taken_anew() -> None:
    world = World(unreadable=True)
    world.kept["green"] = [TakenAudit(taken_ms=NOW_MS, whole=True, ledgers=7, findings=(), document=b"other")]
    await world.run()
    assert [when for _, when in world.took] == [NOW_MS]


async def test_a_store_that_is_away_is_a_condition_until_it_is_back() -> None:
    seen: list[str] = []
    world = World(store_trouble=StoreUnavailable("the server has gone"))

    def back() -> None:
        seen.append(world.shown.get(TROUBLED, ""))
        world.store_trouble = None

    audits = await world.run(back)
    assert seen[0].startswith("the ledgers of green are not audited: the server has gone.")
    assert conditions(audits.standings) == {TROUBLED: "", IN_DANGER: ""}
    assert len(world.took) == 1


async def test_what_was_found_stays_while_the_store_is_away() -> None:
    world = World(findings=(LOST, LEFT))

    def away() -> None:
        world.store_trouble = StoreUnavailable("the server has gone")

    audits = await world.run(away)
    found = conditions(audits.standings)
    assert found[IN_DANGER] == f"green: 2 {LOST.what}", "a notice is no danger"
    assert found[TROUBLED]


async def test_a_failure_is_tried_again_after_ten_minutes() -> None:
    world = World(store_trouble=StoreUnavailable("away"))

    def back() -> None:
        world.now_ms += -HOUR_MS + RETRY_MS - 1
        world.store_trouble = None

    def later() -> None:
        assert world.took == []
        world.now_ms += -HOUR_MS + 1

    await world.run(back, later)
    assert [when for _, when in world.took] == [NOW_MS + RETRY_MS]


async def test_a_database_that_is_away_stops_nothing() -> None:
    world = World(state_trouble=StateUnavailable("the disk is full"))

    def back() -> None:
        world.state_trouble = None

    audits = await world.run(back)
    assert len(world.kept["green"]) == 1
    assert audits.standings["green"].trouble is None


async def test_a_fault_of_our_own_is_a_trouble_and_does_not_end_the_daemon() -> None:
    world = World(store_trouble=ZeroDivisionError("by zero"))
    audits = await world.run()
    trouble = audits.standings["green"].trouble
    assert trouble is not None
    assert trouble.code == "invariant-broken"


async def test_another_active_daemon_ends_it() -> None:
    world = World(state_trouble=Fenced("another daemon is active"))
    with pytest.raises(BaseExceptionGroup) as found:
        await world.run()
    assert found.value.subgroup(Fenced) is not None


async def test_clusters_are_audited_one_after_the_other() -> None:
    world = World()
    blue = replace(GREEN, table="blue")
    await world.run(nothing, nothing, schedules=(GREEN, blue))
    assert {table for table, _ in world.took} == {"green", "blue"}


async def test_without_a_schedule_it_is_over_at_once() -> None:
    await LedgerAudits([], World(), World(), lambda: 0, World()).audits()


def test_nothing_holds_where_nothing_was_found() -> None:
    assert conditions({"green": AuditStanding()}) == {TROUBLED: "", IN_DANGER: ""}
