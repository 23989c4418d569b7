"""Loss of bookies beside those that are away already: what it harms, and the worst of a given size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from syncer.ledgers.auditing.loading import NoLoading, not_recoverable_topics
from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.losses.copysets import Copysets
from syncer.ledgers.losses.impact import LossImpact, loss_impact
from syncer.ledgers.losses.odds import LossOdds, loss_odds
from syncer.ledgers.losses.tally import LossTally, SetLoss, can_tally

MOST_LOST: Final = 5
"""Bookies up to which an overview goes."""
PAIRS: Final = 5_000
"""Pairs that an overview has: all of a hundred bookies."""
_PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LossAnswer:
    """What the loss of bookies harms.

    Of ``not_loadable`` topics nobody can recover the last ledger then; of those ``short_of_bookies`` that may fail, as
    too few bookies are free.
    """

    bookies: tuple[str, ...]
    away_already: tuple[str, ...]
    impact: LossImpact
    not_loadable: tuple[str, ...]
    short_of_bookies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyLossAnswer:
    """Odds of harm by as many bookies, and the worst sets of them; one guess where not all can be tried."""

    odds: LossOdds
    worst: tuple[SetLoss, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOverview:
    """Odds of harm by one bookie, by two and so on, and what each pair that harms anything harms."""

    odds: tuple[LossOdds, ...]
    pairs: tuple[SetLoss, ...]


def loss_overview(picture: LedgersPicture, pick: Callable[[int], int]) -> LossOverview:
    """Tell how harm grows with the number of bookies that are lost, and which pairs harm most.

    Args:
        picture: The picture.
        pick: Gives a random number from 0 up to, and without, the one that it is given.
    """
    sets, tally = _sets(picture, _PAIR)
    harmful = {*sets.losing, *sets.blocking}
    sizes = range(1, min(len(sets.bits), MOST_LOST) + 1)
    return LossOverview(
        odds=tuple(loss_odds(harmful, sets.bits.values(), size, pick) for size in sizes),
        pairs=tuple(tally.worst(PAIRS)) if tally is not None else (),
    )


def loss_of(picture: LedgersPicture, bookies: Iterable[str]) -> LossAnswer:
    """Tell what the loss of bookies harms.

    Args:
        picture: The picture.
        bookies: Those that are lost.
    """
    going = frozenset(bookies)
    away = picture.lost()
    lost = away | going
    topics = not_recoverable_topics(picture, lost)
    return LossAnswer(
        bookies=tuple(sorted(going)),
        away_already=tuple(sorted(away - going)),
        impact=loss_impact(picture.ledgers.values(), lost, picture.topics_by_ledger()),
        not_loadable=tuple(each.topic for each in topics if each.reason is NoLoading.LAST_LEDGER_NOT_RECOVERABLE),
        short_of_bookies=tuple(each.topic for each in topics if each.reason is NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES),
    )


def loss_of_any(picture: LedgersPicture, size: int, shown: int, pick: Callable[[int], int]) -> AnyLossAnswer:
    """Tell what the loss of so many bookies harms, whichever they are; those that are away already stay away.

    Args:
        picture: The picture.
        size: How many are lost of those that ledgers name.
        shown: How many of the worst sets are told.
        pick: Gives a random number from 0 up to, and without, the one that it is given.
    """
    sets, tally = _sets(picture, size)
    odds = loss_odds({*sets.losing, *sets.blocking}, sets.bits.values(), size, pick)
    worst = tally.worst(shown) if tally is not None else _guessed(picture, sets.worst_guess(size))
    return AnyLossAnswer(odds=odds, worst=tuple(worst), left_out=sets.left_out)


def _sets(picture: LedgersPicture, size: int) -> tuple[Copysets, LossTally | None]:
    """The copysets of all ledgers, and what each set of a size harms; None where there are too many of these."""
    bookies = sorted(picture.named())
    sets = Copysets()
    sets.bits.bits(bookies)
    tally = LossTally(bookies, size) if can_tally(len(bookies), size) else None
    for ledger in picture.ledgers.values():
        sets.add(ledger)
        if tally is not None:
            tally.add(ledger)
    return sets, tally


def _guessed(picture: LedgersPicture, bookies: Sequence[str]) -> list[SetLoss]:
    impact = loss_impact(picture.ledgers.values(), frozenset(bookies))
    return [SetLoss(tuple(bookies), len(impact.lost_ledgers), impact.lost_bytes, len(impact.blocked_ledgers))]
