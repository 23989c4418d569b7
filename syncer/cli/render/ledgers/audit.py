"""Rendering of an audit: groups, reasons, bookies, findings."""

from __future__ import annotations

from syncer.cli.render import output
from syncer.cli.render.ledgers.answer import rests_on, sized, spread_told
from syncer.cli.render.output import say
from syncer.documents.ledgers.audit import LedgerAuditDocument, ReplicaTallyDocument


def draw_audit(found: LedgerAuditDocument) -> None:
    """Print an audit.

    Args:
        found: The document.
    """
    rows = [_tally_row(each.name or "(no reference)", each) for each in found.groups]
    output.table(
        ("of", "ledgers", "open", "entries", "lacking", "lost", "bytes", "unknown", "not recoverable"),
        [*rows, _tally_row("in all", found.total)],
    )
    kept = (
        (each.kept_for.value, each.ledgers, sized(each.bytes), sized(each.stored_bytes), each.unknown_bytes)
        for each in found.kept
    )
    output.table(("kept for", "ledgers", "bytes", "on disks", "ledgers unknown"), kept)
    bookies = ((each.bookie, each.state.value, each.rack, each.has_cookie) for each in found.bookies)
    output.table(("bookie", "state", "rack", "cookie"), bookies)
    if found.spread is not None:
        say(f"spread: {spread_told(found.spread)}")
    output.table(
        ("severity", "code", "count", "what"),
        ((each.severity.value, each.code.value, each.count, each.what) for each in found.findings),
        empty="no findings",
    )
    for finding in found.findings:
        if finding.names:
            more = "" if finding.count <= len(finding.names) else f", and {finding.count - len(finding.names)} more"
            say(f"{finding.code.value}: {', '.join(finding.names)}{more}")
        say(f"hint: {finding.remedy}")
    rests_on(found.read)


def _tally_row(name: str, tally: ReplicaTallyDocument) -> tuple[object, ...]:
    return (
        name,
        tally.ledgers,
        tally.ledgers - tally.by_state.get("closed", 0),
        tally.entries,
        tally.entries_lacking,
        tally.entries_by_replicas_left.get(0, 0),
        sized(tally.bytes),
        tally.unknown_bytes,
        tally.not_recoverable,
    )
