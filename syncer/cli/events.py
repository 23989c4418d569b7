"""``syncer events`` and ``syncer explain``: what was decided, and why a value won."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli import output
from syncer.cli.conflicts import summary
from syncer.cli.documents import (
    ConflictDocument,
    DecisionDocument,
    ExplainDocument,
    ParkedDocument,
    VersionDocument,
)
from syncer.cli.holds import document as held
from syncer.cli.output import Format, moment, out, say
from syncer.cli.session import Session, session_of
from syncer.planning.deciding import held_of

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.conflict.register import Register, Seated
    from syncer.model import MetaPath, Version
    from syncer.state.views import JournalRow, Views

POLL_S: Final = 0.25
PAGE: Final = 500
SHORT_DIGEST: Final = 12

app = typer.Typer(no_args_is_help=True, help="Decisions about changes, local and remote.")


@app.command("tail")
def tail(
    context: typer.Context,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the latest decisions.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new ones as they come.")] = False,
    path: Annotated[str, typer.Option("--path", metavar="PREFIX", help="Only paths that start so.")] = "",
) -> None:
    """Show the latest decisions, oldest first. JSON is one object per line."""
    session = session_of(context)
    with session.views() as views:
        last = max(0, views.journal_end() - lines)
        while True:
            rows = views.journal_after(last, PAGE)
            for row in rows:
                if row.entry.path.startswith(path):
                    _show_decision(row, session)
            last = rows[-1].id if rows else last
            if len(rows) < PAGE:
                if not follow:
                    return
                time.sleep(POLL_S)


def decision(row: JournalRow) -> DecisionDocument:
    """A decision as the contract has it."""
    entry = row.entry
    return DecisionDocument(
        id=row.id,
        at_ms=row.at_ms,
        path=entry.path,
        decision=entry.decision.value,
        stamp=str(entry.stamp) if entry.stamp is not None else None,
        digest=entry.digest.hex() if entry.digest is not None else None,
        seen={str(counter): int(at) for counter, at in entry.seen.items()} if entry.seen is not None else None,
        against=str(entry.against) if entry.against is not None else None,
        detail=entry.detail,
    )


def _show_decision(row: JournalRow, session: Session) -> None:
    found = decision(row)
    if session.form is not Format.TABLE:
        output.stream(found, session.form)
        return
    against = f" against {found.against}" if found.against is not None else ""
    detail = f" ({found.detail})" if found.detail else ""
    out(f"{moment(found.at_ms)}  {found.decision:<13}  {found.path}  {found.stamp or '-'}{against}{detail}")


def explain(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Key of the store, like /admin/policies/tenant.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many decisions to show.")] = 50,
) -> None:
    """Show why a path is as it is: every candidate with its stamp, what its author had seen, and what was decided."""
    from syncer.errors import NotFound
    from syncer.paths import checked

    session = session_of(context)
    config = session.config(whole=False)
    key = checked(path)
    with session.views() as views:
        found = collect(views, config, key, limit)
        if found.known is None and found.seated is None and not found.candidates:
            raise NotFound(
                f"nothing was ever seen of {key} in region {config.region}; its scope here is '{found.scope}'",
                hint="Check the spelling: it is the key of the store, as 'syncer events tail' shows it.",
            )
    if session.form is Format.TABLE:
        _show_explanation(found)
    else:
        output.document(found, session.form)


def collect(views: Views, config: Config, path: MetaPath, limit: int) -> ExplainDocument:
    """Read all that is known of a path."""
    from syncer.paths import classify

    register = views.register(path)
    resource = classify(path)
    return ExplainDocument(
        path=path,
        resource=f"{resource.kind.value} {resource.name}" if resource is not None else None,
        scope=config.compiled_scope().direction(path).value,
        verdict=verdict(register, paused=views.identity().paused),
        known=_version(register.known) if register is not None else None,
        seated=_version(register.seated) if register is not None else None,
        due=register.due if register is not None else False,
        hold=held(held_of(path, register.hold, register.shows)) if register is not None and register.hold else None,
        parked=_parked(register) if register is not None else None,
        intent=str(register.intent.version.stamp) if register is not None and register.intent is not None else None,
        allowed=str(register.allowed) if register is not None and register.allowed is not None else None,
        candidates=[decision(row) for row in views.journal(path, limit)],
        conflicts=_conflicts(views, path),
    )


def verdict(register: Register | None, *, paused: str | None) -> str:
    """One sentence: what won, and whether the store has it."""
    if register is None or (register.known is None and register.seated is None):
        return "Nothing is known of this path."
    hold = register.hold
    if hold is not None and hold.local:
        return f"A local change ({hold.stamp}) waits for a person before it is published: {hold.reason.value}."
    known = register.known
    if known is None:
        return "The store holds a value, and no region has told anything about it."
    won = f"{known.stamp} is the greatest stamp known, so it won" + ("" if known.alive else " (a delete)")
    if not register.due:
        return f"{won}; the store holds it."
    if hold is not None:
        return f"{won}; its write waits for a person: {hold.reason.value}."
    if register.parked is not None:
        return f"{won}; its write waits: {register.parked.reason.value}."
    if register.intent is not None:
        return f"{won}; its write was sent, and the outcome is not known yet."
    if paused is not None:
        return f"{won}; replication is paused: {paused}."
    return f"{won}; its write is due."


def _version(version: Version | Seated | None) -> VersionDocument | None:
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
    while page := views.conflicts(PAGE, after):
        found += (summary(row) for row in page if row.path == path)
        after = page[-1].id
    return found


def _show_explanation(found: ExplainDocument) -> None:
    output.facts(
        [
            ("path", found.path),
            ("resource", found.resource),
            ("scope", found.scope),
            ("known", _words(found.known)),
            ("in the store", _words(found.seated)),
            ("hold", f"{found.hold.reason}: {found.hold.detail}" if found.hold is not None else None),
            ("parked", f"{found.parked.reason}: {found.parked.detail}" if found.parked is not None else None),
            ("write in flight", found.intent),
        ]
    )
    out("")
    out(found.verdict)
    if found.candidates:
        out("")
        output.table(
            ("at", "decision", "candidate", "against", "digest", "seen", "detail"),
            [
                (
                    moment(each.at_ms),
                    each.decision,
                    each.stamp,
                    each.against,
                    (each.digest or "deleted")[:SHORT_DIGEST],
                    " ".join(f"{counter}:{at}" for counter, at in sorted((each.seen or {}).items())) or None,
                    each.detail,
                )
                for each in found.candidates
            ],
        )
    if found.conflicts:
        say(
            f"{len(found.conflicts)} conflicts: "
            + ", ".join(f"syncer conflicts show {each.id}" for each in found.conflicts)
        )


def _words(version: VersionDocument | None) -> str | None:
    if version is None:
        return None
    return f"{version.stamp} {(version.digest or 'deleted')[:SHORT_DIGEST]}"
