"""``syncer explain``: why a path is as it is, what the store holds, and what every other version would change."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from syncer.cli.naming import FORMS, path_of
from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.cli.render.values import present_words, value_words
from syncer.cli.session import session_of
from syncer.cli.values import StoreTimeout
from syncer.documents.explain import DecisionDocument, ExplainDocument, VersionDocument
from syncer.documents.values import OtherDocument
from syncer.documents.words import counted, moment, stamped, with_times
from syncer.errors import NotFound

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
    with session.region() as region:
        key = path_of(path, region.is_heard_of)
        try:
            found = region.explain(key, limit, store_timeout)
        except NotFound as exc:
            raise NotFound(exc.message, hint=f"{exc.hint} {FORMS}") from exc
    if session.form is Format.TABLE:
        _show(found)
    else:
        output.document(found, session.form)


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
        if present.kept is not None:
            rows.append(("kept by the daemon", "", "", f"{present.kept} (the store lacks it)"))
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
