"""Standing: ledgers, entries and bytes by the replicas that are left, and bytes by the reason for which they are kept.

Bytes are those of metadata, each entry counted once; an unclosed ledger's are unknown. On disks lie about as many times
as many as its write quorum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.judging.ledger import LedgerJudgement, ReplicaClass, judge
from syncer.ledgers.metadata import LedgerMetadata, LedgerState
from syncer.ledgers.owners import APPLICATION, PULSAR, ReferenceRole

HARMED: Final = frozenset({ReplicaClass.NO_REPLICA, ReplicaClass.BELOW_ACK_QUORUM, ReplicaClass.BELOW_WRITE_QUORUM})
"""Classes of ledgers with entries that lack a replica."""


class KeptFor(StrEnum):
    """Why a ledger takes room."""

    DATA = "topic data"
    OFFLOADED = "topic data that lies elsewhere, too"
    CURSOR = "cursors"
    COMPACTED = "compacted topics"
    DELAYED = "delayed messages"
    SCHEMA = "schemas"
    FOREIGN = "no ledger of Pulsar"
    UNREFERENCED = "no reference here"


_ROLES: Final = {
    ReferenceRole.DATA: KeptFor.DATA,
    ReferenceRole.CURSOR: KeptFor.CURSOR,
    ReferenceRole.COMPACTED: KeptFor.COMPACTED,
    ReferenceRole.DELAYED_INDEX: KeptFor.DELAYED,
    ReferenceRole.SCHEMA: KeptFor.SCHEMA,
}


@dataclass(slots=True)
class ReplicaTally:
    """Ledgers of one group, as the lost bookies leave them.

    Attributes:
        ledgers: How many.
        states: By how far their life has come.
        classes: By the worst that an entry has.
        entries_left: Entries that are certain, by the replicas that are left of them.
        entries_lacking: Of these, the ones that lack a replica.
        bytes_left: Bytes of closed ledgers, by the replicas that are left of their entries.
        unknown_bytes: Ledgers whose bytes are unknown.
        not_recoverable: Unclosed ones that nobody can recover.
        single_copies: Ledgers whose entries were written once.
    """

    ledgers: int = 0
    states: Counter[LedgerState] = field(default_factory=Counter)
    classes: Counter[ReplicaClass] = field(default_factory=Counter)
    entries_left: Counter[int] = field(default_factory=Counter)
    entries_lacking: int = 0
    bytes_left: Counter[int] = field(default_factory=Counter)
    unknown_bytes: int = 0
    not_recoverable: int = 0
    single_copies: int = 0

    @property
    def entries(self) -> int:
        """Entries that are certain."""
        return self.entries_left.total()

    @property
    def bytes(self) -> int:
        """Bytes of closed ledgers, each entry once."""
        return self.bytes_left.total()

    @property
    def harmed(self) -> bool:
        """Something is lost, cannot be recovered, or lacks a replica."""
        return bool(self.entries_lacking or self.not_recoverable)

    def take(self, ledger: LedgerMetadata, judgement: LedgerJudgement) -> None:
        """Count a ledger.

        Args:
            ledger: The ledger.
            judgement: Of it.
        """
        self.ledgers += 1
        self.states[ledger.state] += 1
        self.classes[judgement.replica_class] += 1
        self.not_recoverable += judgement.recoverable is False
        self.single_copies += judgement.is_single_copy
        self.entries_lacking += judgement.below_write_quorum
        for left, entries in enumerate(judgement.by_replicas_left):
            if entries:
                self.entries_left[left] += entries
        self._take_bytes(judgement)

    def _take_bytes(self, judgement: LedgerJudgement) -> None:
        """Count bytes by the share of the entries; what rounding leaves over goes to those with the most replicas."""
        if judgement.length_bytes is None:
            self.unknown_bytes += 1
            return
        rest = judgement.length_bytes
        counts = judgement.by_replicas_left
        for left, entries in enumerate(counts[:-1]):
            share = (judgement.bytes_of(entries) or 0) if entries else 0
            if share:
                self.bytes_left[left] += share
                rest -= share
        if rest:
            most = next((left for left in range(len(counts) - 1, -1, -1) if counts[left]), len(counts) - 1)
            self.bytes_left[most] += rest


@dataclass(slots=True)
class KeptTally:
    """Ledgers that are kept for one reason; ``stored_bytes`` are bytes times the write quorum."""

    ledgers: int = 0
    bytes: int = 0
    stored_bytes: int = 0
    unknown_bytes: int = 0


@dataclass(slots=True)
class LedgersStanding:
    """The whole cluster, its groups, why its bytes are kept, and the ids of ledgers that are harmed."""

    lost: frozenset[str]
    whole: ReplicaTally = field(default_factory=ReplicaTally)
    groups: dict[str, ReplicaTally] = field(default_factory=dict)
    kept: dict[KeptFor, KeptTally] = field(default_factory=dict)
    by_class: dict[ReplicaClass, list[int]] = field(default_factory=lambda: {each: [] for each in HARMED})
    not_recoverable: list[int] = field(default_factory=list)
    lost_single_copies: list[int] = field(default_factory=list)


Grouping = Callable[[str | None], str]
"""Topic → the group that its ledgers are counted in; None is the topic of ledgers that nobody refers to."""
NO_TOPIC: Final = ""
"""The group of ledgers that nobody refers to."""


def by_topic(topic: str | None) -> str:
    """Group by topic.

    Args:
        topic: The topic.
    """
    return topic or NO_TOPIC


def by_namespace(topic: str | None) -> str:
    """Group by namespace.

    Args:
        topic: The topic.
    """
    return NO_TOPIC if topic is None else topic.partition("://")[2].rpartition("/")[0]


def standing(picture: LedgersPicture, lost: AbstractSet[str], group: Grouping = by_namespace) -> LedgersStanding:
    """Judge all ledgers of a picture.

    Args:
        picture: The picture.
        lost: Bookies that are lost.
        group: How ledgers are grouped.
    """
    found = LedgersStanding(frozenset(lost))
    for ledger_id, ledger in sorted(picture.ledgers.items()):
        judgement = judge(ledger, lost)
        found.whole.take(ledger, judgement)
        found.groups.setdefault(group(picture.topic_of(ledger_id)), ReplicaTally()).take(ledger, judgement)
        kept = found.kept.setdefault(kept_for(picture, ledger), KeptTally())
        kept.ledgers += 1
        if ledger.length_bytes is None:
            kept.unknown_bytes += 1
        else:
            kept.bytes += ledger.length_bytes
            kept.stored_bytes += ledger.length_bytes * max(ledger.quorums.write, 0)
        if (harmed := judgement.replica_class) in HARMED:
            found.by_class[harmed].append(ledger_id)
        if judgement.recoverable is False:
            found.not_recoverable.append(ledger_id)
        if judgement.is_single_copy and judgement.named:
            found.lost_single_copies.append(ledger_id)
    return found


def kept_for(picture: LedgersPicture, ledger: LedgerMetadata) -> KeptFor:
    """Tell why a ledger takes room.

    Args:
        picture: The picture that it is in.
        ledger: The ledger.
    """
    references = picture.references.get(ledger.ledger_id, ())
    if not references:
        return KeptFor.UNREFERENCED if is_of_pulsar(ledger) else KeptFor.FOREIGN
    first = references[0]
    if first.listed is not None and first.listed.offload is not None and first.listed.offload.complete:
        return KeptFor.OFFLOADED
    return _ROLES[first.role]


def is_of_pulsar(ledger: LedgerMetadata) -> bool:
    """Tell whether Pulsar says that it made a ledger; others may keep theirs on the same bookies.

    Args:
        ledger: The ledger.
    """
    return ledger.origin.custom.get(APPLICATION) == PULSAR
