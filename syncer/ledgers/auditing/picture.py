"""The picture of a cluster's ledgers: what was read of its store, and how far.

A part of which something could not be read, or understood, is incomplete. What is said of it then is a lower bound,
and that nothing was found there proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.losses.decommission import ClusterBookies
from syncer.ledgers.managed import LedgerOfTopic, ManagedCursor, ManagedLedger
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorVote,
    BookieCookie,
    BookieState,
    RecoveryLock,
    UnderReplicationMark,
)
from syncer.ledgers.owners import ReferenceRole
from syncer.ledgers.paths import ROOT
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.placement.racks import RackMap
from syncer.wanted.ledgers import LedgerPart

_POLICY: Final = RackPolicy()


class LedgerReference(NamedTuple):
    """Who refers to a ledger; ``listed`` is what a topic's list says of it, ``cluster`` names another than this one."""

    topic: str
    role: ReferenceRole
    listed: LedgerOfTopic | None = None
    cluster: str = ""


@dataclass(slots=True)
class TopicOfLedgers:
    """A topic with its cursors by name; ``managed`` is None where its own value was not understood, or is not there."""

    managed: ManagedLedger | None = None
    cursors: dict[str, ManagedCursor] = field(default_factory=dict)

    @property
    def last_ledger_id(self) -> int | None:
        """The ledger that a broker recovers when it loads the topic."""
        return self.managed.ledgers[-1].ledger_id if self.managed is not None and self.managed.ledgers else None


@dataclass(slots=True, kw_only=True)
class PartExtent:
    """How far a part was read.

    Attributes:
        began_ms: When its reading began.
        ended_ms: When it ended.
        rows: Paths that were read.
        refused: Paths that the credentials do not allow, with all below them.
        undecodable: Values that were not understood.
        unfamiliar: Paths with values where Pulsar puts none.
    """

    began_ms: int
    ended_ms: int
    rows: int = 0
    refused: list[str] = field(default_factory=list)
    undecodable: list[Undecodable] = field(default_factory=list)
    unfamiliar: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """All of it was read and understood."""
        return not (self.refused or self.undecodable or self.unfamiliar)


@dataclass(slots=True)
class RecoveryRecord:
    """Nodes of auto-recovery."""

    marks: list[UnderReplicationMark] = field(default_factory=list)
    locks: dict[int, RecoveryLock] = field(default_factory=dict)
    votes: list[AuditorVote] = field(default_factory=list)
    checks: list[AuditorCheck] = field(default_factory=list)
    delay_s: int | None = None
    disabled: bool = False


@dataclass(slots=True, kw_only=True)
class LedgersPicture:
    """All that was read; parts that nobody wanted are not in ``extents``.

    Attributes:
        cluster: Its name.
        root: Where BookKeeper's own paths begin.
        taken_ms: When the reading began.
        references: Ledger → who refers to it; one that two refer to has both.
        schemas: Topic → the ledgers of its schemas, be the topic there or not.
        writable: Bookies that take entries.
        read_only: Bookies that can only be read.
        cookies: Bookies that ever were there.
        bookies_known: It is known who is up; otherwise nobody is taken for lost.
    """

    cluster: str
    taken_ms: int
    root: str = ROOT
    ledgers: dict[int, LedgerMetadata] = field(default_factory=dict)
    references: dict[int, tuple[LedgerReference, ...]] = field(default_factory=dict)
    topics: dict[str, TopicOfLedgers] = field(default_factory=dict)
    schemas: dict[str, tuple[int, ...]] = field(default_factory=dict)
    writable: set[str] = field(default_factory=set)
    read_only: set[str] = field(default_factory=set)
    cookies: dict[str, BookieCookie] = field(default_factory=dict)
    bookies_known: bool = True
    racks: RackMap = field(default_factory=RackMap)
    instance_id: str | None = None
    recovery: RecoveryRecord = field(default_factory=RecoveryRecord)
    extents: dict[LedgerPart, PartExtent] = field(default_factory=dict)

    @property
    def readable(self) -> frozenset[str]:
        """Bookies that are up."""
        return frozenset(self.writable | self.read_only)

    def state_of(self, bookie: str) -> BookieState:
        """Tell how a bookie stands; one that nobody named is gone, too.

        Args:
            bookie: Its id.
        """
        if not self.bookies_known:
            return BookieState.UNKNOWN
        if bookie in self.writable:
            return BookieState.WRITABLE
        return BookieState.READ_ONLY if bookie in self.read_only else BookieState.AWAY

    def assume_bookies_up(self) -> None:
        """Take all bookies to be up, where nobody tells who is: a registration lasts as long as its session."""
        self.writable = {*self.named(), *self.cookies}
        self.bookies_known = False

    def named(self) -> frozenset[str]:
        """Bookies that any ledger names."""
        found: set[str] = set()
        for ledger in self.ledgers.values():
            for segment in ledger.segments:
                found.update(segment.bookies)
        return frozenset(found)

    def lost(self) -> frozenset[str]:
        """Bookies that ledgers name and that are not up."""
        return self.named() - self.readable

    def cluster_bookies(self, policy: RackPolicy = _POLICY) -> ClusterBookies:
        """Its bookies, as rules of losses take them.

        Args:
            policy: The brokers', or the auditor's.
        """
        return ClusterBookies(
            readable=self.readable, writable=frozenset(self.writable), racks=self.racks, policy=policy
        )

    def take_references(self, later: LedgersPicture) -> None:
        """Take the references, and how far they were read, of a picture that was read later.

        Args:
            later: The picture of them.
        """
        self.references, self.topics, self.schemas = later.references, later.topics, later.schemas
        self.extents[LedgerPart.REFERENCES] = later.extents[LedgerPart.REFERENCES]

    def topic_of(self, ledger_id: int) -> str | None:
        """The topic that refers to a ledger, the first one of several.

        Args:
            ledger_id: The ledger.
        """
        found = self.references.get(ledger_id)
        return found[0].topic if found else None

    def topics_by_ledger(self) -> Mapping[int, str]:
        """Ledger → the topic that refers to it."""
        return {ledger_id: found[0].topic for ledger_id, found in self.references.items()}

    def incomplete(self) -> Iterator[tuple[LedgerPart, PartExtent]]:
        """Parts of which something was not read, or not understood."""
        for part, extent in self.extents.items():
            if not extent.whole:
                yield part, extent
