"""An audit as it was kept: figures of groups, reasons, bookies and findings, and of what store they are the figures.

Codes, states and reasons are texts: an audit of another version may have others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from syncer.ledgers.auditing.standing import by_namespace
from syncer.model import Millis
from syncer.wanted.ledgers import LedgerPart

_DOMAIN_END: Final = "://"
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTally:
    """Ledgers of one group; one that is not there is empty.

    Args:
        ledgers: How many.
        classes: By the worst that an entry has.
        entries_left: Entries by the replicas that are left of them.
        entries_lacking: Of these, the ones that lack a replica.
        bytes_left: Bytes by the replicas that are left of them, each entry once.
        unknown_bytes: Ledgers whose bytes are unknown.
        not_recoverable: Unclosed ones that nobody can recover.
    """

    ledgers: int = 0
    classes: Mapping[str, int] = field(default_factory=dict)
    entries_left: Mapping[int, int] = field(default_factory=dict)
    entries_lacking: int = 0
    bytes_left: Mapping[int, int] = field(default_factory=dict)
    unknown_bytes: int = 0
    not_recoverable: int = 0

    @property
    def entries(self) -> int:
        """Entries that are certain."""
        return sum(self.entries_left.values())

    @property
    def entries_lost(self) -> int:
        """Of these, the ones of which no replica is left."""
        return self.entries_left.get(0, 0)

    @property
    def bytes(self) -> int:
        """Bytes of closed ledgers, each entry once."""
        return sum(self.bytes_left.values())

    def with_other(self, other: AuditedTally) -> AuditedTally:
        """Both groups as one.

        Args:
            other: The other group.
        """
        return AuditedTally(
            ledgers=self.ledgers + other.ledgers,
            classes=_sum(self.classes, other.classes),
            entries_left=_sum(self.entries_left, other.entries_left),
            entries_lacking=self.entries_lacking + other.entries_lacking,
            bytes_left=_sum(self.bytes_left, other.bytes_left),
            unknown_bytes=self.unknown_bytes + other.unknown_bytes,
            not_recoverable=self.not_recoverable + other.not_recoverable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedKeeping:
    """Ledgers that are kept for one reason; ``stored_bytes`` are about those on all disks together."""

    ledgers: int = 0
    bytes: int = 0
    stored_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedBookie:
    """A bookie that was up, or that ledgers or cookies named."""

    state: str
    rack: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFinding:
    """A finding; ``names`` are the first of ``count``."""

    severity: str
    count: int
    what: str
    names: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def all_named(self) -> bool:
        """No name was left out."""
        return len(self.names) == self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """All of a part of a store that was not read, or not understood.

    Args:
        paths: Those that are named.
        more: There are others that are not named.
    """

    paths: frozenset[str] = frozenset()
    more: bool = False

    def is_within(self, other: Unread) -> bool:
        """Tell whether all of this was not read by the other one either; ``False`` where that is not known.

        Args:
            other: The other one.
        """
        return not self.more and self.paths <= other.paths


NOTHING_UNREAD: Final = Unread()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedLedgers:
    """An audit as it was kept.

    Args:
        cluster: Name of the cluster.
        instance_id: Identity of its BookKeeper, where it was read.
        taken_ms: When the reading began.
        unread: By part, what was not read; a part that is not here was read and understood.
        total: The whole cluster.
        groups: Namespaces, or topics, by name; those that nobody refers to have none.
        kept: By the reason for which they are kept.
        bookies: By id.
        findings: By code, the worst first.
    """

    cluster: str
    instance_id: str | None = None
    taken_ms: Millis
    unread: Mapping[LedgerPart, Unread] = field(default_factory=dict)
    total: AuditedTally = field(default_factory=AuditedTally)
    groups: Mapping[str, AuditedTally] = field(default_factory=dict)
    kept: Mapping[str, AuditedKeeping] = field(default_factory=dict)
    bookies: Mapping[str, AuditedBookie] = field(default_factory=dict)
    findings: Mapping[str, AuditedFinding] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """All was read and understood."""
        return all(each == NOTHING_UNREAD for each in self.unread.values())

    @property
    def by_topic(self) -> bool:
        """Its groups are topics."""
        return any(_DOMAIN_END in name for name in self.groups)

    def read_as_far_as(self, other: AuditedLedgers, parts: Iterable[LedgerPart]) -> bool:
        """Tell whether all that the other one has read of these parts was read here, too.

        Args:
            other: The other audit.
            parts: The parts.
        """
        return all(
            self.unread.get(part, NOTHING_UNREAD).is_within(other.unread.get(part, NOTHING_UNREAD)) for part in parts
        )


def groups_of_namespaces(audit: AuditedLedgers) -> Mapping[str, AuditedTally]:
    """The groups of an audit as namespaces, be they topics there or not.

    Args:
        audit: The audit.
    """
    if not audit.by_topic:
        return audit.groups
    found: dict[str, AuditedTally] = {}
    for topic, tally in audit.groups.items():
        name = by_namespace(topic or None)
        found[name] = found.get(name, AuditedTally()).with_other(tally)
    return found


def _sum(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
