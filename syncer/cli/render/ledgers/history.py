"""Rendering of the history of audits: which are kept, and what changed between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.cli.render import output
from syncer.cli.render.ledgers.answer import SHOWN, say_names, sized
from syncer.cli.render.output import say
from syncer.documents.words import counted, moment
from syncer.ledgers.auditing.changes import FindingTurn

if TYPE_CHECKING:
    from syncer.documents.ledgers.history import (
        BookiePointDocument,
        KeptAuditList,
        LedgerChangesDocument,
        TallyPointDocument,
    )


def draw_kept_audits(found: KeptAuditList) -> None:
    """Print which audits are kept.

    Args:
        found: The document.
    """
    rows = ((each.number, moment(each.taken_ms), "yes" if each.whole else "NOT WHOLE") for each in found.items)
    output.table(("audit", "taken", "whole"), rows, empty=f"no audit of {found.cluster} is kept")
    if found.next is not None:
        say(f"more: --before {found.next}")


def draw_ledger_changes(found: LedgerChangesDocument) -> None:
    """Print what changed; what is the same is left out.

    Args:
        found: The document.
    """
    output.table(
        ("finding", "severity", "how", "before", "after", "what"),
        (
            (each.code, each.severity, each.turn.value, each.before, each.after, each.what)
            for each in found.findings
            if each.turn is not FindingTurn.SAME
        ),
        empty="no finding came, changed or went",
    )
    for finding in found.findings:
        say_names(f"{finding.code}, new", finding.came, len(finding.came))
        say_names(f"{finding.code}, no more", finding.went, len(finding.went))
    output.table(
        ("bookie", "how", "before", "after"),
        ((each.bookie, each.turn.value, _bookie(each.before), _bookie(each.after)) for each in found.bookies),
        empty="no bookie came, changed or went",
    )
    groups = [
        (each.name or "(no reference)", each.turn.value, *_both(each.before, each.after))
        for each in found.groups[:SHOWN]
    ]
    heads = ("of", "how", "ledgers", "lacking", "lost", "not recoverable", "bytes")
    output.table(heads, [*groups, ("in all", "", *_both(found.total_before, found.total_after))])
    if len(found.groups) > SHOWN:
        say(f"{len(found.groups) - SHOWN} more that differ: see '-o json'")
    output.table(
        ("kept for", "how", "ledgers", "on disks"),
        (
            (
                each.kept_for,
                each.turn.value,
                _from_to(each.before.ledgers, each.after.ledgers),
                _from_to(sized(each.before.stored_bytes), sized(each.after.stored_bytes)),
            )
            for each in found.kept
        ),
    )
    if not found.alike:
        say("NOT ALIKE: the two have not read the same: 'first seen', 'not seen' and 'perhaps' may be due to that")
    moments = f"from {moment(found.before.taken_ms)} to {moment(found.after.taken_ms)}"
    differing = sum(each.turn is not FindingTurn.SAME for each in found.findings)
    say(
        f"{found.cluster}: audits {found.before.number} and {found.after.number}, {moments}: "
        f"{counted(differing, 'finding')} differ, {'worse' if found.worse else 'nothing new'}"
    )


def _both(before: TallyPointDocument, after: TallyPointDocument) -> tuple[str, ...]:
    pairs = (
        (before.ledgers, after.ledgers),
        (before.entries_lacking, after.entries_lacking),
        (before.entries_lost, after.entries_lost),
        (before.not_recoverable, after.not_recoverable),
        (sized(before.bytes), sized(after.bytes)),
    )
    return tuple(_from_to(*pair) for pair in pairs)


def _from_to(before: object, after: object) -> str:
    return str(after) if before == after else f"{before} -> {after}"


def _bookie(point: BookiePointDocument | None) -> str | None:
    return None if point is None else f"{point.state} {point.rack}"
