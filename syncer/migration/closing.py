"""The moment in which ledgers may be closed: everybody stands still, and will for long enough.

While a ledger is being closed a publish kills its producer, and the acknowledgement of the last entry makes consumers
read everything again. Neither may come. A connection that is stopped is not read at all: who publishes or acknowledges
on it can do neither before it is released.

Units: seconds, and milliseconds since the epoch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.migration.brake import COUNTED, pause_s
from syncer.migration.evidence import Flow, SubscriptionSeen, TopicSeen
from syncer.model import Millis

_MANY_CONSUMERS: Final = frozenset({"Shared", "Key_Shared"})
_FAR: Final = 50_000
"""Entries that nobody reads between two looks, even one that has just begun."""
_FASTER: Final = 3.0
"""By so much a consumer may become faster than it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Braked:
    """A topic of one producer that was braked.

    Attributes:
        topic: As seen before, with its producer.
        rate: Bytes a second.
        set_ms: Just before the rate was set.
        seen_ms: Just before it was looked at for the first time after that.
        before: Its flow just before the rate was set.
        then: Its flow just after.
        now: Its flow now.
    """

    topic: TopicSeen
    rate: int
    set_ms: Millis
    seen_ms: Millis
    before: Flow
    then: Flow
    now: Flow

    @property
    def address(self) -> str:
        """Of the producer's connection."""
        return next((each.address for each in self.topic.producers), "")

    @property
    def quiet(self) -> bool:
        """Whether nothing is on its way, and the ledger is open."""
        return not self.now.pending_adds and self.now.ledger_state != "Terminated"

    @property
    def owes_ms(self) -> Millis | None:
        """What came after the rate was seen to stand keeps its producer stopped until then, whatever the sizes.

        ``None``: nothing came.
        """
        if self.now.entries_added <= self.then.entries_added:
            return None
        return _paid(self.seen_ms, self.now.size_bytes - self.then.size_bytes, self.rate)

    @property
    def may_owe_ms(self) -> Millis | None:
        """The one entry that came while the rate was set keeps its producer stopped until then, if it came after that.

        ``None``: none came, or several, of which it is not known which was the last.
        """
        if self.now.entries_added - self.before.entries_added != 1:
            return None
        return _paid(self.set_ms, self.now.size_bytes - self.before.size_bytes, self.rate)

    @property
    def released_ms(self) -> Millis:
        """Once the rate is off, its producer is released by then, at the latest."""
        stored = self.now.size_bytes - self.before.size_bytes
        return Millis(self.seen_ms + int(stored / self.rate * 1000))


def stopped_until(braked: Iterable[Braked]) -> Mapping[str, Millis]:
    """Connections that are stopped → until when at least.

    Of a producer that never rests and has published nothing since, something has stopped the connection: if only one
    of its topics' entries can have, that one; of several that may have, perhaps the one that is released first.
    """
    on: dict[str, list[Braked]] = defaultdict(list)
    for each in braked:
        on[each.address].append(each)
    found: dict[str, Millis] = {}
    for address, topics in on.items():
        certain = [at for each in topics if (at := each.owes_ms) is not None]
        possible = [each.may_owe_ms for each in topics if each.now.entries_added > each.before.entries_added]
        if certain:
            found[address] = max(certain)
        elif possible and None not in possible:
            found[address] = min(at for at in possible if at is not None)
    return found


def running(braked: Collection[Braked], until_ms: Millis) -> tuple[str, ...]:
    """Topics of which it is not known that they stand still until then."""
    stopped = stopped_until(braked)
    return tuple(
        each.topic.name for each in braked if not each.quiet or stopped.get(each.address, Millis(0)) < until_ms
    )


def _paid(since_ms: Millis, stored_bytes: int, rate: int) -> Millis:
    return Millis(since_ms + int(pause_s(COUNTED * stored_bytes, rate) * 1000))


def may_close(
    before: SubscriptionSeen | None,
    now: SubscriptionSeen,
    *,
    passed_s: float,
    within_s: float,
    stopped: Collection[str] = (),
) -> bool:
    """Whether no acknowledgement can make a subscription empty while its topic's ledger is being closed.

    One that several consumers share has to be empty: where it is drained later, the last acknowledgement can stop the
    broker for ever (``PersistentDispatcherMultipleConsumers``, 4.0.8).

    Args:
        before: As it was some time ago; ``None``: nobody has looked.
        now: As it is.
        passed_s: Between the two.
        within_s: Until the ledger is closed.
        stopped: Addresses of connections that are not read until then.
    """
    if not now.consumers or (now.backlog == 0 and _all_acknowledged(before, now)):
        return True
    if now.kind in _MANY_CONSUMERS:
        return False
    if all(each.address in stopped for each in now.consumers):
        return True
    fallen = max(before.backlog - now.backlog, 0) if before is not None else now.backlog
    per_s = fallen / passed_s if passed_s > 0 else now.backlog
    return now.backlog > _FAR + _FASTER * per_s * within_s


def _all_acknowledged(before: SubscriptionSeen | None, now: SubscriptionSeen) -> bool:
    """Whether a subscription without backlog waits for no acknowledgement.

    Of one that is shared the broker's count stays too high where a message was delivered again while it was
    acknowledged: then it stands still, as the count of messages that somebody works on does not.
    """
    still = before is not None and before.backlog == 0 and before.unacked == now.unacked
    return not now.unacked or (still and now.kind in _MANY_CONSUMERS)
