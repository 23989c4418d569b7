"""``syncer explain``: why a path is as it is, what the store holds, and what every other version would change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.commands.conflicts import summary
from syncer.cli.commands.events import decision
from syncer.cli.commands.holds import document as held
from syncer.cli.naming import FORMS, path_of
from syncer.cli.render import output
from syncer.cli.render.output import Format, counted, moment, out, say, stamped, with_times
from syncer.cli.session import session_of
from syncer.cli.values import (
    Present,
    StoreTimeout,
    other_document,
    present_at,
    present_document,
    present_words,
    value_words,
)
from syncer.conflict.register import HoldReason
from syncer.conflict.settings import Direction
from syncer.documents.conflicts import ConflictDocument
from syncer.documents.explain import DecisionDocument, ExplainDocument, VersionDocument
from syncer.documents.holds import ParkedDocument
from syncer.documents.values import OtherDocument, PresentDocument
from syncer.errors import NotFound
from syncer.operations.decisions import held_of

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.conflict.register import Register, Stored
    from syncer.model import MetaPath, Version
    from syncer.state.views.region import Views

PAGE: Final = 500
OTHERS: Final = 20
"""Of each sort of other versions, the latest."""

SHORT_DIGEST: Final = 12


def explain(
    context: typer.Context,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A path of the store, or the name of a tenant, namespace or topic.")
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many decisions to show.")] = 50,
    store_timeout: StoreTimeout = 5.0,
) -> None:
    """Show why a path is as it is: what won and why, what the store holds, and what every other version would change.

    The store is read, and nothing is changed. Where it does not answer, what was last known of it is said as such.
    """
    session = session_of(context)
    config = session.config(whole=False)
    with session.views() as views:
        key = path_of(path, lambda each: _heard_of(views, each))
        register = views.register(key)
        alive = register is not None and register.stored_alive
        found = collect(views, config, key, present_at(config, key, store_timeout, alive=alive), limit)
        if not (register or found.candidates or found.others):
            raise NotFound(
                f"nothing was ever seen of {_subject(found)} in region {config.region}"
                + (", whose scope leaves it out" if found.scope == Direction.IGNORE.value else ""),
                hint=f"Check the spelling. {FORMS}",
            )
    if session.form is Format.TABLE:
        _show(found)
    else:
        output.document(found, session.form)


def _subject(found: ExplainDocument) -> str:
    return found.path if found.resource is None else f"{found.resource} ({found.path})"


def _heard_of(views: Views, path: MetaPath) -> bool:
    """Whether anything is kept of a path."""
    return views.register(path) is not None or bool(
        views.journal(path, 1) or views.future_events_at(path, 1) or views.quarantined_at(path, 1)
    )


def collect(views: Views, config: Config, path: MetaPath, present: Present, limit: int) -> ExplainDocument:
    """Gather all that is known of a path, beside what the store holds."""
    from syncer.paths import classify

    register = views.register(path)
    resource = classify(path)
    shown = present_document(present, path, register.stored_digest if register is not None else None)
    conflicts = _conflicts(views, path)
    return ExplainDocument(
        path=path,
        resource=f"{resource.kind.value} {resource.name}" if resource is not None else None,
        scope=config.compiled_scope().direction(path).value,
        verdict=verdict(register, shown, paused=views.identity().paused),
        known=_version(register.known) if register is not None else None,
        seated=_version(register.stored) if register is not None else None,
        due=register.due if register is not None else False,
        hold=held(held_of(path, register.hold, register.shows)) if register is not None and register.hold else None,
        parked=_parked(register) if register is not None else None,
        intent=str(register.intent.version.stamp) if register is not None and register.intent is not None else None,
        allowed=str(register.allowed) if register is not None and register.allowed is not None else None,
        candidates=[decision(row) for row in views.journal(path, limit)],
        conflicts=conflicts,
        present=shown,
        others=list(_others(views, path, register, present, [each.id for each in conflicts])),
    )


def verdict(register: Register | None, present: PresentDocument, *, paused: str | None) -> str:
    """What won, and whether the store has it: one sentence, which says nothing that was not read."""
    if register is None or (register.known is None and register.stored is None and register.hold is None):
        return "No version of this path counts here."
    hold = register.hold
    if hold is not None and hold.local:
        return f"A local change ({stamped(hold.stamp)}) waits for an operator before it is published: {hold.reason}."
    known = register.known
    unreadable = hold is not None and hold.reason is HoldReason.UNREADABLE
    if known is None:
        holds = "holds what cannot be read" if unreadable else "holds a value"
        return f"The store {holds}, and no region has told anything about the path."
    won = f"{stamped(known.stamp)} is the greatest stamp known, so it won" + ("" if known.alive else " (a delete)")
    return f"{won}; {_standing(register, present, paused=paused)}."


def _standing(register: Register, present: PresentDocument, *, paused: str | None) -> str:
    """How the store stands to what won."""
    hold = register.hold
    if present.read and present.as_seated is None:
        size = present.value.size_bytes if present.value is not None else 0
        return f"the store holds {size} bytes that cannot be read, which are left as they are and not published"
    if hold is not None and hold.reason is HoldReason.UNREADABLE:
        if present.read:
            return "what stood in the store could not be read, and the daemon has not read it since it was changed"
        return "what the store was last seen to hold could not be read, so it is left as it is"
    if not register.due:
        return _holds(register, present)
    if hold is not None:
        return f"its write waits for an operator: {hold.reason}"
    if register.parked is not None:
        return f"its write waits: {register.parked.reason}"
    if register.intent is not None:
        return "its write was sent, and the outcome is not known yet"
    return f"replication is paused: {paused}" if paused is not None else "its write is due"


def _holds(register: Register, present: PresentDocument) -> str:
    if not present.read:
        return "the store was last known to hold " + ("it" if register.stored_alive else "nothing there")
    if present.as_seated:
        return "the store holds " + ("it" if register.stored_alive else "nothing there")
    now = "nothing there now" if present.value is None else "another value now"
    return f"the store holds {now}, which the daemon has not taken yet"


def _version(version: Version | Stored | None) -> VersionDocument | None:
    if version is None:
        return None
    return VersionDocument(
        stamp=str(version.stamp),
        by=version.by,
        seen={str(counter): int(at) for counter, at in version.seen.items()},
        digest=version.digest.hex() if version.digest is not None else None,
        alive=version.alive,
    )


def _parked(register: Register) -> ParkedDocument | None:
    parked = register.parked
    if parked is None:
        return None
    return ParkedDocument(
        path=register.path,
        reason=parked.reason.value,
        since_ms=parked.since_ms,
        stamp=str(register.known.stamp) if register.known is not None else None,
        detail=parked.detail,
    )


def _conflicts(views: Views, path: MetaPath) -> list[ConflictDocument]:
    found: list[ConflictDocument] = []
    after = 0
    while page := views.conflicts(PAGE, after, path=path):
        found += map(summary, page)
        after = page[-1].id
    return found


def _others(
    views: Views, path: MetaPath, register: Register | None, present: Present, conflicts: list[int]
) -> Iterator[OtherDocument]:
    """Versions that the store does not hold, or is not known to hold, and whose values are kept here."""
    known = register.known if register is not None and register.due else None
    if known is not None:
        yield other_document(path, present, "newest", value=known.value, deleted=not known.alive, stamp=known.stamp)
    for event in views.future_events_at(path, OTHERS):
        yield other_document(
            path, present, "from-the-future", value=event.value, deleted=event.value is None, stamp=event.stamp
        )
    for number in sorted(conflicts, reverse=True)[:OTHERS]:
        row = views.conflict(number)
        if row is not None:
            deleted = row.loser_digest is None
            yield other_document(
                path, present, "lost", value=row.value, deleted=deleted, stamp=row.loser, number=row.id
            )
    for poison in views.quarantined_at(path, OTHERS):
        yield other_document(path, present, "quarantined", value=poison.poison.payload, deleted=False, number=poison.id)


def _show(found: ExplainDocument) -> None:
    present = found.present
    output.facts(
        [
            ("path", found.path),
            ("resource", found.resource),
            ("scope", found.scope),
            ("newest known", _words(found.known)),
            ("last known in the store", _words(found.seated)),
            ("in the store now", present_words(present) if present is not None else None),
            ("hold", f"{found.hold.reason}: {with_times(found.hold.detail)}" if found.hold is not None else None),
            ("parked", f"{found.parked.reason}: {with_times(found.parked.detail)}" if found.parked else None),
            ("write in flight", stamped(found.intent)),
        ]
    )
    out("")
    out(found.verdict)
    _show_values(found)
    if found.candidates:
        out("")
        output.table(
            ("at", "decision", "candidate", "against", "digest", "seen", "detail"), map(_candidate, found.candidates)
        )
    if found.conflicts:
        latest = max(each.id for each in found.conflicts)
        say(f"{counted(len(found.conflicts), 'conflict')}; the latest: syncer conflicts show {latest}")


def _show_values(found: ExplainDocument) -> None:
    present = found.present
    rows: list[output.Row] = []
    if present is not None and present.value is not None:
        rows.append(("in the store now", "", "", value_words(present.value)))
    for each in found.others:
        value = "deleted" if each.deleted else "not kept here" if each.value is None else value_words(each.value)
        rows.append((_name(each), stamped(each.stamp), each.change, value))
    if rows:
        out("")
        output.table(("version", "stamp", "would change", "value"), rows)


def _name(other: OtherDocument) -> str:
    match other.what:
        case "newest":
            return "newest known"
        case "lost":
            return f"lost in conflict {other.number}"
        case "quarantined":
            return f"quarantined as {other.number}"
        case _:
            return "from the future"


def _candidate(each: DecisionDocument) -> output.Row:
    return (
        moment(each.at_ms),
        each.decision,
        stamped(each.stamp),
        stamped(each.against),
        (each.digest or "deleted")[:SHORT_DIGEST],
        ", ".join(f"{stamped(f'{at}@{counter}')}" for counter, at in sorted((each.seen or {}).items())) or None,
        with_times(each.detail),
    )


def _words(version: VersionDocument | None) -> str | None:
    if version is None:
        return None
    return (
        f"{stamped(version.stamp)}, digest {version.digest[:SHORT_DIGEST]}"
        if version.digest
        else (f"{stamped(version.stamp)}, deleted")
    )
