"""The fold of a namespace's topic: which value stands at each key, whichever messages were written over one another.

A topic has no compare-and-set, so its readers make one. Every message of ours carries a *claim*: the batch, the fence
under which it was decided, and the message that it was decided on. It is valid only if exactly that one stood there
when it arrived, and no higher fence was seen in its partition; else it is *void*, although brokers have taken it, and
what it overwrote is *owed*: the next message of the writer puts it back, by the same rule. A fence that the region's
store has never held was made up: such a message is a broker's.

    broker's message          stands; what is still owed at the key was overtaken: it cannot be put back, and is told
    ours, valid               stands
    ours, void                stands for brokers alone; what stood before is owed

After compaction a key's last message may be all there is: if it was decided on another, that is how it is known, and
it counts, for there is nothing left to judge it by.

A broker that deletes a topic, also one that nobody uses any more, deletes its policies by a message without a value.
Nobody has removed them by that: such a key stands for no decision, like one that was never written, and what is put
back there says so in its claim. Who removes a topic's last policy leaves a message with an empty document.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.making import made_quickly
from syncer.model import Millis
from syncer.replacing import replace

_PREFIX: Final = "syncer-"
_FENCE_DIGITS: Final = 18
_VERDICTS: Final = 64
"""Verdicts on messages of ours that are kept of each key."""
NOTHING: Final = ""
"""In a claim: no message of the key was known."""


@dataclass(frozen=True, slots=True)
class UnreadablePolicy:
    """Stands for a value that cannot be read, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class TopicGone:
    """Stands for policies that went with their topic: no operator has removed them."""


GONE: Final = TopicGone()
Held = bytes | UnreadablePolicy | TopicGone | None
"""What a message says: the value, nothing that can be read, that the topic is gone, or that the last was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterClaim:
    """What a message of ours says of itself.

    Args:
        region: Whose message it is; messages of other regions are taken for a broker's.
        store_id: Store in which the fence stands: fences of two stores are not compared.
        fence: Number of the fence under which it was decided.
        database: Sidecar database of the writer.
        batch: Id of the batch.
        expected: Id of the message that it was decided on; ``NOTHING``: there was none.
        restores: It puts back what a void message has overwritten, or asserts what stands there.
        gone: With that: nothing stands there, and no operator has removed it.
    """

    region: str
    store_id: str
    fence: int
    database: str
    batch: str
    expected: str
    restores: bool = False
    gone: bool = False

    def properties(self) -> dict[str, str]:
        """The properties of the message."""
        return {
            f"{_PREFIX}region": self.region,
            f"{_PREFIX}store": self.store_id,
            f"{_PREFIX}fence": str(self.fence),
            f"{_PREFIX}database": self.database,
            f"{_PREFIX}batch": self.batch,
            f"{_PREFIX}expected": self.expected,
            f"{_PREFIX}restores": "1" if self.restores else "0",
            f"{_PREFIX}gone": "1" if self.gone else "0",
        }


def claim_in(properties: Mapping[str, str], region: str) -> WriterClaim | None:
    """The claim of a message; ``None``: it is none of this region's."""
    if properties.get(f"{_PREFIX}region") != region:
        return None
    fence = properties.get(f"{_PREFIX}fence", "")
    if not (fence.isascii() and fence.isdigit() and len(fence) <= _FENCE_DIGITS):
        return None
    return WriterClaim(
        region=region,
        store_id=properties.get(f"{_PREFIX}store", ""),
        fence=int(fence),
        database=properties.get(f"{_PREFIX}database", ""),
        batch=properties.get(f"{_PREFIX}batch", ""),
        expected=properties.get(f"{_PREFIX}expected", NOTHING),
        restores=properties.get(f"{_PREFIX}restores") == "1",
        gone=properties.get(f"{_PREFIX}gone") == "1",
    )


@dataclass(frozen=True, slots=True)
class FenceBound:
    """How high the fence of the region's store had come when it was read, which was after the messages were."""

    store_id: str
    number: int

    def excludes(self, claim: WriterClaim) -> bool:
        """Whether a claim names a fence of this store that was never raised; fences of others are not known."""
        return claim.store_id == self.store_id and claim.fence > self.number


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessage:
    """One message as it was read.

    Args:
        id: Of the message, as text; unique in its topic.
        key: Of the message.
        held: What it says.
        published_ms: When it was written, by the broker's client. Units: milliseconds.
        claim: Where it is one of this region's.
        partition: Of the topic; only messages of one have an order.
    """

    id: str
    key: str
    held: Held = field(repr=False)
    published_ms: Millis
    claim: WriterClaim | None = None
    partition: int = 0


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPolicy:
    """What stands at a key.

    Args:
        id: Of the message that counts.
        held: What it says.
        published_ms: When it was written.
        ours: It is a change that this region's daemon has written, and not a broker's own.
        last: The value that stood before, where the topic is gone and one was read.
    """

    id: str
    held: Held = field(repr=False)
    published_ms: Millis
    ours: bool = False
    last: StandingPolicy | None = field(default=None, repr=False)

    @property
    def value(self) -> StandingPolicy | None:
        """What stands, or stood last where the topic is gone, if that is a value."""
        return self if isinstance(self.held, bytes) else self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class OvertakenPolicy:
    """A broker's value that a void message of ours overwrote, and that a later one kept from being put back.

    Args:
        key: Of both.
        lost: What was overwritten.
        by: What stands now.
    """

    key: str
    lost: StandingPolicy
    by: StandingPolicy


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What became of a message of ours."""

    id: str
    claim: WriterClaim
    valid: bool


@dataclass(slots=True)
class _Key:
    standing: StandingPolicy | None = None
    top: str = NOTHING
    verdicts: deque[ClaimVerdict] = field(default_factory=lambda: deque(maxlen=_VERDICTS))


class PolicyLog:
    """The state of one namespace's topic after the messages that were taken, in their order."""

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}
        self._fences: dict[tuple[int, str], int] = {}
        """The highest that was seen, by partition and store."""

    def take(self, message: LogMessage, bound: FenceBound | None = None) -> OvertakenPolicy | None:
        """Take the next message; what was overtaken by it, if anything was.

        Args:
            message: In the topic's order.
            bound: No daemon of the region has had a higher fence; ``None``: it is not known.
        """
        key = self._keys.setdefault(message.key, _Key())
        claim = message.claim
        if claim is None or (bound is not None and bound.excludes(claim)):
            return self._stand(key, message, ours=False)
        fence = message.partition, claim.store_id
        fresh = claim.fence >= self._fences.get(fence, 0)
        if fresh:
            self._fences[fence] = claim.fence
        compacted = key.top == NOTHING and claim.expected != NOTHING
        valid = compacted or (fresh and key.top == claim.expected)
        key.verdicts.append(ClaimVerdict(message.id, claim, valid))
        if not valid:
            key.top = message.id
            return None
        former = key.standing
        if not claim.restores:
            return self._stand(key, message, ours=True)
        message = replace(message, held=GONE) if claim.gone else message
        self._put(key, message, ours=former.ours if former is not None else False)
        return None

    def standing(self, key: str) -> StandingPolicy | None:
        """What stands at a key; ``None``: no message of it was read."""
        found = self._keys.get(key)
        return found.standing if found is not None else None

    def top(self, key: str) -> str:
        """Id of the last message of a key, valid or not; ``NOTHING``: there is none."""
        found = self._keys.get(key)
        return found.top if found is not None else NOTHING

    def owed(self) -> Iterator[str]:
        """The keys at which a void message stands."""
        return (name for name, key in self._keys.items() if _owes(key))

    def owes(self, key: str) -> bool:
        """Whether a void message stands at a key."""
        found = self._keys.get(key)
        return found is not None and _owes(found)

    def verdict(self, key: str, message_id: str) -> ClaimVerdict | None:
        """What became of a message of ours; ``None``: it was not read, or is long gone."""
        found = self._keys.get(key)
        return next((each for each in found.verdicts if each.id == message_id), None) if found is not None else None

    def landed(self, key: str, batch: str, database: str) -> bool:
        """Whether a valid message of a batch was read, as a change and not as what was put back."""
        found = self._keys.get(key)
        return found is not None and any(
            each.valid and not each.claim.restores and each.claim.batch == batch and each.claim.database == database
            for each in found.verdicts
        )

    def seen(self) -> Iterator[str]:
        """All keys that were read."""
        return iter(self._keys)

    def _stand(self, key: _Key, message: LogMessage, *, ours: bool) -> OvertakenPolicy | None:
        lost = key.standing if _owes(key) else None
        self._put(key, message, ours=ours)
        if lost is None or lost.ours or key.standing is None or lost.held in (GONE, message.held):
            return None
        return OvertakenPolicy(key=message.key, lost=lost, by=key.standing)

    @staticmethod
    def _put(key: _Key, message: LogMessage, *, ours: bool) -> None:
        last = key.standing.value if key.standing is not None and message.held == GONE else None
        key.standing = StandingPolicy(
            id=message.id, held=message.held, published_ms=message.published_ms, ours=ours, last=last
        )
        key.top = message.id


def _owes(key: _Key) -> bool:
    return key.top != (key.standing.id if key.standing is not None else NOTHING)
