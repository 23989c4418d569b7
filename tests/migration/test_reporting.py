"""The report of a simulated migration says what the clusters know, and nothing that they do not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from syncer.migration.course import MigrationCommand
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.reporting.flips import BEGUN
from syncer.migration.reporting.report import MigrationReport, report_of
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.topics import Rollback
from syncer.model import Millis
from syncer.state.contract.migrations import Migration, MigrationEvent
from tests.migration.controllers import Control, says_go
from tests.migration.flips import Killed
from tests.migration.plays import NAMESPACE, NamespacePlay
from tests.migration.test_noted import quiet_at_last

pytestmark = pytest.mark.anyio


def reported(control: Control, plan: MigrationPlan) -> MigrationReport:
    """The report of what a controller has kept and noted."""
    run = control.record.kept
    assert run is not None
    migration = Migration(
        id=1,
        fingerprint=plan.fingerprint,
        phase=run["standing"]["phase"],
        run=run,
        claim="cc" * 16,
        asked_by="ann",
        reason="",
        made_at_ms=plan.made_at_ms,
        changed_at_ms=plan.made_at_ms,
    )
    return report_of(migration, plan, events_of(control), control.journal.kept)


def events_of(control: Control) -> Sequence[MigrationEvent]:
    return [
        MigrationEvent(
            number=number,
            at_ms=Millis(int(str(event.get("at_ms", 0)))),
            kind=str(event["event"]),
            document={name: each for name, each in event.items() if name != "event"},
        )
        for number, event in enumerate(control.journal.events, 1)
    ]


async def aborts(controller: Controller, state: MigrationState) -> None:
    """An operator who thinks better of it before anything is marked."""
    if state.run.standing.phase is MigrationPhase.GUARDED and MigrationCommand.ABORT in state.due.waits_for:
        await controller.ask(MigrationCommand.ABORT, "bob", "not tonight")


async def killed_at_the_mark() -> tuple[Control, MigrationPlan]:
    """A migration whose daemon is killed when it is about to mark, its rates set; the first flip is the one."""
    for seed in range(20):
        rehearsal = Control(NamespacePlay(seed))
        rehearsal.operator = says_go
        await rehearsal.begin(await rehearsal.plan()).run()
        if "taken-back" not in {event["event"] for event in rehearsal.journal.events}:
            break
    mark = next(at for at, (_, path) in enumerate(rehearsal.blue.made) if path.endswith(f"{NAMESPACE}/migration"))
    control = Control(NamespacePlay(seed))
    control.operator = says_go
    plan = await control.plan()
    killed = False
    try:
        await control.begin(plan, kill_at=mark + 1).run()
    except* Killed:
        killed = True
    assert killed
    return control, plan


async def test_a_killed_migration_tells_what_is_set_and_then_that_it_was_put_back() -> None:
    control, plan = await killed_at_the_mark()
    half = reported(control, plan)
    assert half.lost.count is None
    assert [each.outcome for each in half.flips] == [BEGUN]
    assert {f"publish-rate/{name}" for name in control.play.topics} <= set(half.back.set_still)
    await control.begin(plan).run()
    found = reported(control, plan)
    assert found.back.set_still == ()
    assert (found.flips[0].outcome, found.flips[-1].outcome) == (BEGUN, "migrated")
    unknown = {each.subject for each in found.changes if each.set_at_ms is None}
    assert unknown == set(control.play.topics), "the rates that the killed daemon had set"
    assert found.lost.count == 0


async def test_a_migration_that_was_aborted_was_taken_back_and_claims_nothing() -> None:
    control = Control(NamespacePlay(1))
    control.operator = aborts
    plan = await control.plan()
    await control.begin(plan).run()
    found = reported(control, plan)
    assert (found.migration.phase, found.back.rollback, found.back.stays) == ("rolled-back", Rollback.YES, {})
    assert [(each.command, each.who, each.why) for each in found.asks] == [("abort", "bob", "not tonight")]
    assert (found.lost.count, found.flips, found.subscriptions) == (None, (), ())


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_report_is_what_the_clusters_know(seed: int) -> None:
    play = NamespacePlay(seed)
    control = Control(play)
    control.operator = quiet_at_last(control)
    plan = await control.plan()
    await control.begin(plan).run()
    found, verdict = reported(control, plan), play.end()
    assert (found.lost.count, verdict.lost, verdict.doubled, verdict.disordered) == (0, 0, 0, 0)
    assert (found.doubled.count, found.disordered.count) == (None, None), "no broker can know that"
    assert (found.clients.at_green, found.clients.missing) == (len(play.producers) + len(play.consumers), ())
    assert {(each.topic, each.subscription) for each in found.subscriptions} == verdict.subscriptions.keys()
    for each in found.subscriptions:
        blue, green = play.blue.ledgers.get(each.topic), play.green.ledgers[each.topic]
        assert each.stored_at_green == each.read_at_green == len(green.entries)
        assert each.read_at_blue == each.backlog_at_mark
        of_both = sum(entry.count for ledger in (blue, green) if ledger is not None for entry in ledger.entries)
        if blue is not None:
            assert of_both >= verdict.subscriptions[each.topic, each.subscription].delivered
        assert each.drained_at_ms is not None
    (flip,) = (each for each in found.flips if each.outcome == "migrated")
    assert flip.marked_at_ms is not None
    assert all(change.back_at_ms is not None for change in found.changes)
    assert found.back.set_still == ()
