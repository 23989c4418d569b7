"""Two looks at green, and what they tell of the time between them: who has published, and who was given what waits.

A subscription may stand still without an error, its consumers connected and with room: that is seen by counters alone.
No client library, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from syncer.migration.evidence import SubscriptionSeen, TopicSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenLook:
    """Topics of green at one moment.

    Attributes:
        ends: Topic that has a producer → its last position.
        given: Topic and subscription of which entries wait for connected consumers → messages that they were given
            until then.
    """

    ends: Mapping[str, str]
    given: Mapping[tuple[str, str], int]


def green_look(topics: Iterable[TopicSeen]) -> GreenLook:
    """What is kept of topics as they were seen."""
    seen = tuple(topics)
    return GreenLook(
        ends={topic.name: topic.flow.last for topic in seen if topic.producers and topic.flow is not None},
        given={
            (topic.name, name): each.given
            for topic in seen
            for name, each in topic.subscriptions.items()
            if _waits(each)
        },
    )


def silent(before: GreenLook, now: GreenLook) -> tuple[str, ...]:
    """Topics whose producers have published nothing between two looks."""
    return tuple(sorted(name for name, end in now.ends.items() if before.ends.get(name) == end))


def standing(before: GreenLook, now: GreenLook) -> tuple[tuple[str, str], ...]:
    """Topic and subscription whose consumers were given nothing between two looks, though entries waited at both."""
    return tuple(sorted(at for at, given in now.given.items() if before.given.get(at) == given))


def _waits(seen: SubscriptionSeen) -> bool:
    """Whether something waits for a consumer that is there.

    A message that was given to one waits no more, nor one whose time has not come; in a batch they are more than its
    entries, so that too little is taken for waiting rather than too much.
    """
    return bool(seen.consumers) and seen.backlog > seen.unacked + seen.delayed
