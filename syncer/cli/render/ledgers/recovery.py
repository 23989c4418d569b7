"""Rendering of auto-recovery, and of ledgers that nobody refers to."""

from __future__ import annotations

from syncer.cli.render import output
from syncer.cli.render.ledgers.answer import rests_on, say_names, sized
from syncer.cli.render.output import say
from syncer.documents.ledgers.recovery import UnderReplicatedDocument
from syncer.documents.ledgers.references import OrphansDocument
from syncer.documents.words import counted, moment


def draw_under_replicated(found: UnderReplicatedDocument) -> None:
    """Print marked ledgers, and auto-recovery.

    Args:
        found: The document.
    """
    rows = (
        (
            each.ledger_id,
            each.topic,
            moment(each.marked_ms),
            ", ".join(each.bookies) or "its placement",
            each.state.value + ("" if each.blocked is None else f": {each.blocked.value}"),
            each.copied_by,
        )
        for each in found.marked
    )
    output.table(("ledger", "topic", "marked", "for", "state", "copied by"), rows, empty="no ledger is marked")
    if found.unmarked:
        say_names(
            "not marked, and on bookies that are away",
            [str(each.ledger_id) for each in found.unmarked],
            len(found.unmarked),
        )
    auditors = ", ".join(f"{each.bookie} (by {each.place.value})" for each in found.auditors)
    output.facts(
        (
            ("auto-recovery", "works" if found.fault is None else found.fault.value),
            ("auditor", auditors or None),
            ("copying now", ", ".join(found.workers) or None),
            ("one lost bookie is waited for", f"{found.lost_bookie_delay_s or 0} s"),
            *((f"check {each.task.value} ended", moment(each.ended_ms)) for each in found.checks),
        )
    )
    rests_on(found.read)


def draw_orphans(found: OrphansDocument) -> None:
    """Print ledgers without references, and references without ledgers.

    Args:
        found: The document.
    """
    rows = (
        (
            each.ledger_id,
            "orphan" if each.unproven is None else f"unreferenced here ({each.unproven.value})",
            each.component,
            each.topic,
            each.topic_exists,
            each.state.value,
            None if each.bytes is None else sized(each.bytes),
            moment(each.created_ms),
        )
        for each in found.unreferenced
    )
    output.table(
        ("ledger", "what", "made for", "topic", "topic there", "state", "bytes", "created"),
        rows,
        empty="every ledger of Pulsar has a reference",
    )
    for missing in found.missing:
        who = ", ".join(f"{each.topic} ({each.role.value})" for each in missing.references)
        say(f"missing: ledger {missing.ledger_id}: {who}")
    say(
        f"{counted(found.orphans, 'orphan')}, {counted(len(found.missing), 'missing ledger')}, "
        f"{counted(len(found.foreign), 'foreign ledger')}, {found.passing} without a reference at the first look alone"
    )
    rests_on(found.second)
