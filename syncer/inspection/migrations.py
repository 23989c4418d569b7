"""Migrations as the command line and REST show them: how one is, and which there were, by the sidecar database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from syncer.documents.migration import (
    MigrationBlockDocument,
    MigrationBlueDocument,
    MigrationBrokerDocument,
    MigrationClusterDocument,
    MigrationEventDocument,
    MigrationEventList,
    MigrationList,
    MigrationRowDocument,
    MigrationStatusDocument,
    MigrationStopDocument,
    MigrationUndoDocument,
    MigrationWaveDocument,
)
from syncer.errors import NotFound
from syncer.migration.course import MigrationCommand, MigrationRun, WaveVerdict, run_from
from syncer.migration.reading.plan_file import from_text
from syncer.migration.steering import next_step, steps_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from syncer.migration.migration_plan import MigrationPlan, PlannedCluster
    from syncer.state.contract.migrations import Migration, MigrationEvent
    from syncer.state.views.region import Views

_NONE: Final = "Make a plan with 'syncer migration plan', and begin it with 'syncer migration start FILE'."


def chosen(views: Views, number: int | None = None) -> Migration:
    """A migration by its number; without one, the one that is open, or else the latest.

    Raises:
        NotFound: There is none.
    """
    if number is not None:
        found = views.migration(number)
        if found is None:
            raise NotFound(f"there is no migration {number}", hint="See 'syncer migration list'.")
        return found
    latest = views.open_migration() or next(iter(views.migrations(1)), None)
    if latest is None:
        raise none_there()
    return latest


def none_there() -> NotFound:
    """There is no migration at all."""
    return NotFound("there is no migration", hint=_NONE)


def opened(views: Views) -> Migration:
    """The migration that is open.

    Raises:
        NotFound: None is.
    """
    found = views.open_migration()
    if found is None:
        raise none_open()
    return found


def none_open() -> NotFound:
    """No migration is open."""
    return NotFound("no migration is open", hint=_NONE)


def plan_of(views: Views, migration: Migration) -> MigrationPlan:
    """Its plan.

    Raises:
        PlanInvalid: It was damaged.
    """
    return from_text(views.migration_plan(migration.id).encode(), f"the plan of migration {migration.id}")


def run_of(migration: Migration) -> MigrationRun:
    """How far it is, by its record."""
    return run_from(migration.run) if migration.run else MigrationRun(since_ms=migration.made_at_ms)


def words_of(
    command: MigrationCommand,
    step: str = "",
    waits_for: Collection[MigrationCommand] = (),
    *,
    back: Sequence[str] = (),
) -> tuple[str, ...]:
    """What a command would lead to, a sentence each; none where nobody need be asked.

    Args:
        command: That would be given.
        step: What the step does that is due, which a go lets begin.
        waits_for: Commands that the step waits for.
        back: Of each namespace what a rollback would take back, as far as the clusters were asked.
    """
    match command:
        case MigrationCommand.GO | MigrationCommand.AUTO:
            return (step,) if MigrationCommand.GO in waits_for else ()
        case MigrationCommand.ABORT:
            return ("Blue would be put back as it was, and the migration be over. What green was given stays there.",)
        case MigrationCommand.ROLLBACK:
            return ("Of each namespace would be taken back:", *back) if back else ()
        case MigrationCommand.CLOSE:
            return (
                "What was set for the migration would be set back, and it be over: there is no rollback afterwards.",
            )
        case _:
            return ()


def migration_status(views: Views, number: int | None = None) -> MigrationStatusDocument:
    """How a migration is.

    Raises:
        NotFound: There is none.
        StateUnavailable: The database cannot be read now.
    """
    migration = chosen(views, number)
    plan, run = plan_of(views, migration), run_of(migration)
    due = next_step(run, plan.scope)
    live = _live(views, migration)
    verdicts = {each.wave: each for each in run.verdicts}
    stop, trouble = run.stop, live.get("trouble")
    undoable = [MigrationUndoDocument(**each) for each in live.get("undoable", ())]
    back = [f"{each.namespace}: {each.rollback}" + (f", {each.words}" if each.words else "") for each in undoable]
    return MigrationStatusDocument(
        id=migration.id,
        sha256=migration.fingerprint,
        blue=cluster_document(plan.blue),
        green=cluster_document(plan.green),
        phase=run.standing.phase.value,
        wave=run.standing.wave,
        stopped_in=None if run.standing.stopped_in is None else run.standing.stopped_in.value,
        auto=run.auto,
        step=due.words,
        waits_for=[each.value for each in due.waits_for],
        undone=due.undone,
        consequences={each.value: list(words_of(each, due.words, due.waits_for, back=back)) for each in due.waits_for},
        stop=None if stop is None else MigrationStopDocument(code=stop.code, message=stop.words, hint=stop.hint),
        trouble=None if trouble is None else MigrationStopDocument(**trouble),
        moved=run.moved,
        waves=[_wave(number, names, verdicts.get(number)) for number, names in enumerate(steps_of(plan.scope))],
        blue_seen=_blue(live) if live and run.marked else None,
        ill=[MigrationBrokerDocument(**each) for each in live.get("ill", ())],
        undoable=undoable,
        blocking=[MigrationBlockDocument(**each) for each in live.get("blocking", ())],
        asked_by=migration.asked_by,
        reason=migration.reason,
        since_ms=run.since_ms,
        made_at_ms=migration.made_at_ms,
        finished_at_ms=migration.finished_at_ms,
    )


def migration_list(views: Views, limit: int) -> MigrationList:
    """The latest migrations.

    Raises:
        StateUnavailable: The database cannot be read now.
    """
    return MigrationList(
        items=[
            MigrationRowDocument(
                id=each.id,
                phase=each.phase,
                wave=run_of(each).standing.wave,
                sha256=each.fingerprint,
                asked_by=each.asked_by,
                reason=each.reason,
                made_at_ms=each.made_at_ms,
                changed_at_ms=each.changed_at_ms,
                finished_at_ms=each.finished_at_ms,
            )
            for each in views.migrations(limit)
        ]
    )


def migration_event_list(views: Views, number: int, limit: int, after: int) -> MigrationEventList:
    """What has happened in a migration, beyond that event.

    Raises:
        NotFound: There is no such migration.
    """
    migration = chosen(views, number)
    events = [event_document(migration, event) for event in views.migration_events(migration.id, limit, after)]
    return MigrationEventList(items=events, next=events[-1].number if events else after)


def event_document(migration: Migration, event: MigrationEvent) -> MigrationEventDocument:
    """An event as the contract has it."""
    return MigrationEventDocument(
        migration=migration.id,
        number=event.number,
        at_ms=event.at_ms,
        kind=event.kind,
        document=dict(event.document),
    )


def cluster_document(planned: PlannedCluster) -> MigrationClusterDocument:
    """A cluster of a plan as the contract has it."""
    return MigrationClusterDocument(
        table=planned.table,
        name=planned.name,
        service_url=planned.urls.http,
        service_url_tls=planned.urls.https,
        broker_service_url=planned.urls.pulsar,
        broker_service_url_tls=planned.urls.pulsar_ssl,
    )


def _live(views: Views, migration: Migration) -> dict[str, Any]:
    """What the daemon that carries it has said last; nothing: it is over, or none does."""
    status = views.status()
    told = (status.document or {}).get("migration")
    if migration.over or not isinstance(told, dict) or told.get("id") != migration.id:
        return {}
    return told


def _blue(live: dict[str, Any]) -> MigrationBlueDocument:
    return MigrationBlueDocument.model_validate({name: live[name] for name in MigrationBlueDocument.model_fields})


def _wave(number: int, namespaces: tuple[str, ...], verdict: WaveVerdict | None) -> MigrationWaveDocument:
    return MigrationWaveDocument(
        wave=number,
        namespaces=list(namespaces),
        outcome=None if verdict is None else verdict.outcome,
        reasons={} if verdict is None else dict(verdict.reasons),
        longest_gap_s=None if verdict is None else verdict.longest_gap_s,
        held_s=None if verdict is None else verdict.held_s,
        closing_s=None if verdict is None else verdict.closing_s,
        arrived=0 if verdict is None else verdict.arrived,
        missing=[] if verdict is None else list(verdict.missing),
    )
