"""Rendering of losses: of given bookies, of any, of those that leave for good."""

from __future__ import annotations

from collections.abc import Mapping

from syncer.cli.render import output
from syncer.cli.render.ledgers.answer import SHOWN, rests_on, say_names, sized
from syncer.cli.render.output import say
from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument, OpeningDocument
from syncer.documents.words import counted
from syncer.ledgers.judging.ledger import ReplicaClass


def draw_loss(found: LossDocument) -> None:
    """Print what a loss harms.

    Args:
        found: The document.
    """
    output.facts(
        (
            ("lost", ", ".join(found.bookies)),
            ("away already", ", ".join(found.away_already) or None),
            ("ledgers with lost entries", found.lost_ledgers_count),
            ("entries lost", found.lost_entries),
            ("bytes lost", sized(found.lost_bytes) + _unknown(found.unknown_bytes)),
            ("ledgers not recoverable", found.blocked_ledgers_count),
            ("topics with lost entries", found.topics_lost_count),
            ("topics not loadable", found.topics_not_loadable_count),
            ("topics not loadable without new bookies", found.topics_short_of_bookies_count),
            *((f"ledgers {name}", count) for name, count in _classes(found.by_class).items()),
        )
    )
    say_names("topics with lost entries", found.topics_lost, found.topics_lost_count)
    say_names("topics not loadable", found.topics_not_loadable, found.topics_not_loadable_count)
    say_names(
        "topics not loadable without new bookies", found.topics_short_of_bookies, found.topics_short_of_bookies_count
    )
    _opening(found.opening)
    rests_on(found.read)


def _classes(by_class: Mapping[str, int]) -> dict[str, int]:
    return {each.value: by_class[each.value] for each in ReplicaClass if each.value in by_class}


def _unknown(count: int) -> str:
    return f", and those of {counted(count, 'ledger')} unknown" if count else ""


def draw_any_loss(found: AnyLossDocument) -> None:
    """Print the worst sets, and the odds.

    Args:
        found: The document.
    """
    rows = (
        (", ".join(each.bookies), each.lost_ledgers, sized(each.lost_bytes), each.blocked_ledgers)
        for each in found.worst
    )
    output.table(("bookies", "ledgers lost", "bytes of these", "not recoverable"), rows, empty="no set harms anything")
    how = "all tried" if found.exact else "drawn at random; the set above is a guess of the worst"
    say(
        f"{found.harmful} of {counted(found.tried, 'set')} of {found.size} out of {found.bookies} bookies harm "
        f"something ({how}): a probability of {found.probability:.3%}"
    )
    if found.left_out:
        say(f"{counted(found.left_out, 'ledger')} with absurd quorums left out")
    rests_on(found.read)


def draw_decommission(found: DecommissionDocument) -> None:
    """Print what moves.

    Args:
        found: The document.
    """
    rows = (
        (
            number,
            ", ".join(each.bookies),
            each.ledgers,
            each.entries,
            sized(each.bytes) + _unknown(each.unknown_bytes),
            None if each.seconds is None else f"{each.seconds:,.0f} s",
            ", ".join(f"{count} {reason.value}" for reason, count in each.blocked.items()) or None,
        )
        for number, each in enumerate(found.steps, 1)
    )
    output.table(("step", "stopped", "ledgers", "entries", "bytes", "at least", "blocked"), rows)
    for step in found.steps:
        for each in step.blocked_ledgers[:SHOWN]:
            topic = "" if each.topic is None else f" ({each.topic})"
            say(f"never moves: ledger {each.ledger_id}{topic}: {each.reason.value}")
    _opening(found.opening)
    rests_on(found.read)


def _opening(opening: OpeningDocument | None) -> None:
    if opening is None:
        say("whether brokers can open new ledgers is not known: no ledger tells their quorums, or nothing who is up")
        return
    quorums = f"{opening.ensemble}/{opening.write_quorum}/{opening.ack_quorum}"
    source = " (assumed: those of most open ledgers)" if opening.assumed else ""
    if opening.possible:
        say(f"brokers can open new ledgers with {quorums}{source}; {counted(opening.spare_bookies, 'bookie')} to spare")
    else:
        reason = "" if opening.reason is None else opening.reason.value
        say(f"brokers CANNOT open new ledgers with {quorums}{source}: {reason} (BKNotEnoughBookies)")
