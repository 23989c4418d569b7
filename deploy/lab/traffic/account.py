"""The account of all messages of a traffic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherStory:
    """What one publisher knows.

    Args:
        name: Stands in each of its messages.
        topic: Full name.
        stored: Numbers of messages that it was given a receipt for, or how many, where it does not know which.
        unanswered: Messages for which it was given neither a receipt nor an error.
        errors: What it was told instead of a receipt, and how often.
        gap_s: The longest time between two receipts.
        dead: It can send no more.
    """

    name: str
    topic: str
    stored: frozenset[int] | int
    unanswered: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    gap_s: float = 0.0
    dead: bool = False

    @property
    def count(self) -> int:
        """How many were stored."""
        return self.stored if isinstance(self.stored, int) else len(self.stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverStory:
    """What one consumer was given.

    Args:
        topic: Full name.
        subscription: Its name.
        came: Publisher and number → how often.
        disordered: Messages that came for the first time after a later one of their publisher.
    """

    topic: str
    subscription: str
    came: Mapping[tuple[str, int], int]
    disordered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficAccount:
    """What became of all messages.

    Attributes:
        published: Messages with a receipt.
        delivered: All deliveries, to all subscriptions.
        lost: Topic and subscription → messages with a receipt that never came.
        doubled: Likewise, deliveries beyond the first.
        disordered: Likewise, messages that came after a later one of their publisher.
        dead: Publishers that can send no more.
        unanswered: Publisher → messages for which it was given neither a receipt nor an error.
        errors: Publisher → errors that it was given.
        gap_s: Publisher → longest time between two receipts.
    """

    published: int
    delivered: int
    lost: Mapping[str, int]
    doubled: Mapping[str, int]
    disordered: Mapping[str, int]
    dead: tuple[str, ...]
    unanswered: Mapping[str, int]
    errors: Mapping[str, str]
    gap_s: Mapping[str, float] = field(repr=False)

    @property
    def unharmed(self) -> bool:
        """Whether nothing was lost, doubled or out of order, and everybody can go on."""
        return not (self.lost or self.doubled or self.disordered or self.dead or self.unanswered)

    def __str__(self) -> str:
        """One line, as an operator reads it."""
        lost, doubled, disordered = (sum(each.values()) for each in (self.lost, self.doubled, self.disordered))
        return (
            f"published {self.published}, delivered {self.delivered}, lost {lost}, doubled {doubled}, "
            f"out of order {disordered}, clients lost {len(self.dead)}, longest gap "
            f"{max(self.gap_s.values(), default=0.0):.1f} s"
        )


def take_account(publishers: Collection[PublisherStory], receivers: Collection[ReceiverStory]) -> TrafficAccount:
    """Compare what was stored with what each subscription was given.

    What any subscription was given was stored, whether its publisher knows or not.
    """
    came: dict[tuple[str, str], Counter[tuple[str, int]]] = defaultdict(Counter)
    disordered: Counter[tuple[str, str]] = Counter()
    given: dict[tuple[str, str], set[int]] = defaultdict(set)
    for receiver in receivers:
        at = (receiver.topic, receiver.subscription)
        came[at].update(receiver.came)
        disordered[at] += receiver.disordered
        for name, number in receiver.came:
            given[receiver.topic, name].add(number)
    lost: Counter[tuple[str, str]] = Counter()
    for at, messages in came.items():
        got = Counter(name for name, _ in messages)
        for publisher in publishers:
            if publisher.topic == at[0]:
                known = given[publisher.topic, publisher.name]
                stored = publisher.stored
                there = max(stored, len(known)) if isinstance(stored, int) else len(stored | known)
                lost[at] += there - got[publisher.name]
    return TrafficAccount(
        published=sum(each.count for each in publishers),
        delivered=sum(each.total() for each in came.values()),
        lost=_named(lost),
        doubled=_named({at: each.total() - len(each) for at, each in came.items()}),
        disordered=_named(disordered),
        dead=tuple(each.name for each in publishers if each.dead),
        unanswered={each.name: each.unanswered for each in publishers if each.unanswered and not each.dead},
        errors={each.name: str(dict(each.errors)) for each in publishers if each.errors},
        gap_s={each.name: each.gap_s for each in publishers if each.gap_s},
    )


def _named(counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Those that are not zero, by topic and subscription."""
    return {
        f"{topic.rpartition('/')[2]} {subscription}": count for (topic, subscription), count in counts.items() if count
    }
