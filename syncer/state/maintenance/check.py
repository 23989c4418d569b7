"""Integrity check of a sidecar database, which may run beside a daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson
from sqlalchemy import Connection, func, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from syncer.errors import StateMissing, StateUnavailable
from syncer.model import Region
from syncer.state import encoding
from syncer.state.contract.jobs import JobState
from syncer.state.contract.work.ledger_audits import unpack_audit
from syncer.state.contract.work.move_runs import FORMER
from syncer.state.sql import opening, rows, tables
from syncer.state.sql.opening import translated
from syncer.state.sql.work import jobs, migrations, move_runs
from syncer.state.views.region import Views

_PAGE: Final = 1000
_SHOWN: Final = 3
_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check and what it found."""

    check: str
    ok: bool
    detail: str = ""


def check(url: str, region: Region) -> list[Finding]:
    """Look at everything; a check that cannot be made has failed, and ends the look where the rest needs it.

    Raises:
        ConfigError: The URL cannot be used.
        StateMissing: There is no database.
        StateDenied: This user has no right to it.
        StateUnavailable: It cannot be read now.
        StateForeign: It belongs to another region or to another version.
    """
    parsed = opening.parse_url(url)
    path = opening.file_of(parsed)
    if path is not None and not opening.is_there(path):
        raise StateMissing(f"there is no sidecar database at {path}")
    engine = opening.connect(parsed, "reader")
    try:
        with translated(parsed), engine.begin() as connection:
            findings = [_integrity(connection)]
            if not findings[0].ok:
                return findings
            Views.open(url, region).close()
            findings.append(Finding("schema", ok=True, detail=opening.head()))
            findings += [_judged(name, question(connection)) for name, question in _QUESTIONS.items()]
            return findings
    except StateUnavailable as exc:
        cause = exc.__cause__
        code = str(getattr(getattr(cause, "orig", None), "sqlite_errorname", ""))
        if not isinstance(cause, SQLAlchemyError) or not code.startswith(_DAMAGED):
            raise
        return [Finding("file", ok=False, detail=opening.cause_of(cause))]
    finally:
        engine.dispose()


def _integrity(connection: Connection) -> Finding:
    if connection.dialect.name != "sqlite":
        return Finding("file", ok=True, detail="PostgreSQL looks after its own")
    try:
        found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(3)"))]
    except Exception as exc:  # noqa: BLE001 - a file so damaged that it cannot even be checked
        return Finding("file", ok=False, detail=str(getattr(exc, "orig", exc)))
    return Finding("file", ok=found == ["ok"], detail="" if found == ["ok"] else "; ".join(found))


def _judged(name: str, wrong: Iterator[str]) -> Finding:
    first = [detail for detail, _ in zip(wrong, range(_SHOWN), strict=False)]
    return Finding(name, ok=not first, detail="; ".join(first))


def _registers(connection: Connection) -> Iterator[str]:
    """Every register can be read, and its marks say what it holds."""
    table, after = tables.registers, ""
    while True:
        query = select(table).where(table.c.path > after).order_by(table.c.path).limit(_PAGE)
        found = connection.execute(query).all()
        for row in found:
            after = row.path
            try:
                register = rows.register_of(row)
            except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
                yield f"{row.path} cannot be read: {type(exc).__name__}: {exc}"
                continue
            due = register.due or register.wish is not None
            marks = (int(register.stored_alive), int(due), int(due or register.intent is not None))
            if marks != (row.alive, row.due, row.unsettled):
                yield f"{row.path} is marked {(row.alive, row.due, row.unsettled)}, and is {marks}"
            if register.known is not None and register.known.seen.get(register.known.by, 0) < (
                register.known.stamp.updated_at_ms
            ):
                yield f"{row.path}: the known version is not in what its author had seen"
        if len(found) < _PAGE:
            return


def _count_of_living(connection: Connection) -> Iterator[str]:
    kept = connection.execute(select(tables.identity.c.alive_count)).scalar_one()
    table = tables.registers
    counted = connection.execute(select(func.count()).select_from(table).where(table.c.alive == 1)).scalar_one()
    if kept != counted:
        yield f"{counted} paths are alive, {kept} are counted"


def _outbox(connection: Connection) -> Iterator[str]:
    """Numbers were given out, none twice; what is acknowledged leaves a gap, and only from the oldest on."""
    last = connection.execute(select(tables.identity.c.last_sequence)).scalar_one()
    table = tables.outbox
    lowest, highest, count = connection.execute(
        select(func.min(table.c.sequence), func.max(table.c.sequence), func.count())
    ).one()
    if count and highest > last:
        yield f"event {highest} waits, and only {last} were given out"
    if count and lowest < 1:
        yield f"event {lowest} waits: numbers begin at 1"
    for row in connection.execute(select(table).order_by(table.c.sequence).limit(_PAGE)):
        try:
            encoding.event_of(row.path, row.head, row.value)
        except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
            yield f"event {row.sequence} cannot be read: {type(exc).__name__}: {exc}"


def _consumed(connection: Connection) -> Iterator[str]:
    own = connection.execute(select(tables.identity.c.database_id)).scalar_one()
    for row in connection.execute(select(tables.consumed).order_by(tables.consumed.c.sender)):
        try:
            done = rows.consumed_of(row.through, row.ahead)
        except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
            yield f"what was consumed of {row.sender} cannot be read: {type(exc).__name__}: {exc}"
            continue
        if done.adding([]) != done:
            yield f"what was consumed of {row.sender} overlaps"
        if row.sender == own:
            yield "events of its own were consumed"


def _records(connection: Connection) -> Iterator[str]:
    """What is held is held somewhere; journal and conflicts can be counted and name a path."""
    held, registers = tables.held_publications, tables.registers
    query = (
        select(held.c.path)
        .outerjoin(registers, registers.c.path == held.c.path)
        .where(or_(registers.c.hold_local.is_(None), registers.c.hold_local != 1))
    )
    yield from (
        f"{path} is held back, and its register does not say so" for path in connection.execute(query).scalars()
    )
    for table in (tables.journal, tables.conflicts):
        query_empty = select(func.count()).select_from(table).where(table.c.path == "")
        if connection.execute(query_empty).scalar_one():
            yield f"a row of {table.name} names no path"


def _migrations(connection: Connection) -> Iterator[str]:
    """Migrations, values and events can be read; values are of an open one, and no event is missing between two."""
    table, values, events = tables.migrations, tables.migration_values, tables.migration_events
    for number in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            found = connection.execute(migrations.by_number(number)).one()
            over = migrations.migration_of(found).over
        except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
            yield f"migration {number} cannot be read: {type(exc).__name__}: {exc}"
            continue
        opened = connection.execute(select(table.c.open).where(table.c.id == number)).scalar() == 1
        if opened == over:
            yield f"migration {number} is marked {'open' if opened else 'over'}, and is not"
    ended = select(values.c.key).outerjoin(table, table.c.id == values.c.migration).where(table.c.open.is_(None))
    yield from (f"{key} is to be put back for no open migration" for key in connection.execute(ended).scalars())
    counts = select(events.c.migration, func.count(), func.min(events.c.number), func.max(events.c.number))
    for number, count, first, last in connection.execute(counts.group_by(events.c.migration)):
        if last - first + 1 != count:
            yield f"migration {number} has {count} events, numbered from {first} to {last}"
    for what, kept in (("value", values.c.value), ("event", events.c.document)):
        for text_ in connection.execute(select(kept).execution_options(yield_per=_PAGE)).scalars():
            try:
                orjson.loads(text_)
            except ValueError as exc:
                yield f"a migration's {what} cannot be read: {exc}"


def _move_runs(connection: Connection) -> Iterator[str]:
    """Runs of moves and their moves can be read; one that is over holds no settings, and no move is missing."""
    table, moves = tables.move_runs, tables.move_outcomes
    for number in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            run = move_runs.found(connection, number)
            move_runs.moves_of(connection, number)
        except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
            yield f"the run of moves {number} cannot be read: {type(exc).__name__}: {exc}"
            continue
        if run is not None and run.over and run.run.get(FORMER) is not None:
            yield f"the run of moves {number} is over, and has settings to put back"
    counts = select(moves.c.run, func.count(), func.max(moves.c.number))
    for number, count, last in connection.execute(counts.group_by(moves.c.run)):
        if last + 1 != count:
            yield f"the run of moves {number} has {count} moves, numbered up to {last}"


def _jobs(connection: Connection) -> Iterator[str]:
    """Jobs can be read; what runs says where and since when, what waits runs nowhere, and what has ended is over."""
    table = tables.jobs
    for number in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            job = jobs.job_of(connection.execute(select(table).where(table.c.id == number)).one())
        except Exception as exc:  # noqa: BLE001 - whatever cannot be read is the finding
            yield f"job {number} cannot be read: {type(exc).__name__}: {exc}"
            continue
        begun = job.began_at_ms is not None
        if job.state is JobState.RUNNING and not (job.host and job.run and job.attempts and begun):
            yield f"job {number} runs, and does not say where and since when"
        if job.state is JobState.QUEUED and (job.host or job.run or begun):
            yield f"job {number} waits, and is said to run"
        if job.over != (job.ended_at_ms is not None):
            yield f"job {number} is {job.state.value}, and {'never ended' if job.over else 'has ended'}"


def _ledger_audits(connection: Connection) -> Iterator[str]:
    """Audits of ledgers can be unpacked, and are JSON."""
    table = tables.ledger_audits
    for number in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        document = connection.execute(select(table.c.document).where(table.c.id == number)).scalar_one()
        try:
            orjson.loads(unpack_audit(document))
        except ValueError as exc:
            yield f"the audit of ledgers {number} cannot be read: {exc}"


_QUESTIONS: Final[dict[str, Callable[[Connection], Iterator[str]]]] = {
    "registers": _registers,
    "living paths": _count_of_living,
    "outbox": _outbox,
    "consumed": _consumed,
    "records": _records,
    "migrations": _migrations,
    "moves": _move_runs,
    "jobs": _jobs,
    "audits": _ledger_audits,
}
