"""Progress of the recovery of a lost database: what is kept of it, and what is only in memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from syncer.bus.contract import Outgoing
from syncer.bus.wire.messages import StateRequest
from syncer.conflict.rebuilding import Answer
from syncer.model import Counter, Millis, Region


class Phase(StrEnum):
    """How far a rebuild has got."""

    HEARING = "hearing"
    SCANNING = "scanning"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What of a rebuild stands in the database.

    Args:
        phase: How far it has got.
        reason: Why it was begun.
        former: Databases that spoke for this region before.
        without: Members that a person has declared absent.
        alone: A person has declared that nobody has anything to tell.
        ambiguous: Another database is said to have counted under the generation of the one before.
        strangers: Regions that were heard first when they said that the one before was an old copy.
    """

    phase: Phase
    reason: str
    former: tuple[str, ...] = ()
    without: tuple[Region, ...] = ()
    alone: bool = False
    ambiguous: bool = False
    strangers: tuple[Region, ...] = ()

    def encode(self) -> str:
        """As kept in the database."""
        return orjson.dumps(
            {
                "phase": self.phase.value,
                "reason": self.reason,
                "former": self.former,
                "without": self.without,
                "alone": self.alone,
                "ambiguous": self.ambiguous,
                **({"strangers": self.strangers} if self.strangers else {}),
            }
        ).decode()

    @staticmethod
    @functools.lru_cache(maxsize=8)
    def decode(text: str) -> Rebuild:
        """Read what :meth:`encode` has written."""
        kept = orjson.loads(text)
        return Rebuild(
            phase=Phase(kept["phase"]),
            reason=kept["reason"],
            former=tuple(kept["former"]),
            without=tuple(Region(region) for region in kept["without"]),
            alone=kept["alone"],
            ambiguous=kept.get("ambiguous", False),
            strangers=tuple(Region(region) for region in kept.get("strangers", ())),
        )


@dataclass(slots=True)
class Member:
    """How far one member has got in telling what it knows.

    Args:
        answer: In a word.
        after: The last path that it has told.
        told: How many entries it has told, those that were refused too.
        refused: How many of them could not be understood.
        asked_at_ms: When it was last asked.
        trouble: What was wrong with its last page; empty: nothing.
    """

    answer: Answer = Answer.SILENT
    after: str = ""
    told: int = 0
    refused: int = 0
    asked_at_ms: Millis | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusation:
    """Accusation of a member against this region's database.

    Args:
        teller: Who says so.
        reason: What it says, in words.
        database: The database whose change would prove it: this region's own, or the other one.
        at_ms: When it was first said.
        above: The change has a higher number than this.
        by: It was stamped under this counter; ``None``: under whatever counter.
        signed: The member's own key has signed it.
    """

    teller: Region
    reason: str
    database: str
    at_ms: Millis
    above: int = 0
    by: Counter | None = None
    signed: bool = False


@dataclass(slots=True)
class Doubts:
    """Accusations against this region's database since the daemon's start.

    Args:
        by: Who has said something, and what at first.
        weights: How much the word of each of them counted then.
        strangers: Those of them who had never been heard before they said so.
        held_since_ms: Since when nothing is published; ``None``: nobody has said anything, or not in a pair.
        over: Publications were held back long enough, and are not again.
        asked_at_ms: When each of them was last asked for a proof.
    """

    by: dict[Region, Accusation] = field(default_factory=dict)
    weights: dict[Region, int] = field(default_factory=dict)
    strangers: set[Region] = field(default_factory=set)
    held_since_ms: Millis | None = None
    over: bool = False
    asked_at_ms: dict[Region, Millis] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether nothing is published now."""
        return self.held_since_ms is not None and not self.over


@dataclass(frozen=True, slots=True)
class Original:
    """A change as it came.

    Args:
        sequence: Its number.
        message: The message.
        signed: The key of its author's region has signed it.
    """

    sequence: int
    message: Outgoing
    signed: bool = False

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.message.payload) + sum(map(len, self.message.properties.values()))


@dataclass(slots=True)
class Originals:
    """The last changes of all members.

    Args:
        of: Region → database → its last change, the latest database last.
        owed: What regions have asked for and is yet to be sent.
        answered_ms: When each of them was last answered.
        size: What all changes take.
    """

    of: dict[Region, dict[str, Original]] = field(default_factory=dict)
    owed: dict[Region, Outgoing] = field(default_factory=dict)
    answered_ms: dict[Region, Millis] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True)
class RecoveryState:
    """What is in memory of a rebuild, and of what others rebuild: all of it may be lost.

    Args:
        members: Who has told how much.
        owed: Questions of others that are not answered yet, the latest of each.
        begun_at_ms: When this daemon began to listen.
        heard_ms: When the last of its heartbeats was sent that has come back: what was said before was heard, too.
        lost: This database was seen to be an old copy, and why.
        ambiguous: Its very generation is said to have been another one's.
        published: Highest number of an event that this database may have published, as far as it knows.
        sent: Highest number of an event that was given to be published by this daemon.
        unheard: Peers that have yet to say what they have of this database; until then nothing is published.
        greeting_ms: When the peers were first asked for that.
        echoed: The question has come back on the bus: heartbeats from now on may be answers, those before cannot.
        quiet_since_ms: Since when peers are waited for.
        greeted: A peer has just started, and waits for our heartbeat.
        tried: Numbers of fences that this daemon has asked for.
        outdone: The highest generation that another database of this region is known to have had.
        fresh: There was no fence before this daemon: as far as the store knows, the region is new.
    """

    members: dict[Region, Member] = field(default_factory=dict)
    owed: dict[Region, StateRequest] = field(default_factory=dict)
    begun_at_ms: Millis | None = None
    heard_ms: Millis = Millis(0)
    lost: str | None = None
    ambiguous: bool = False
    tried: set[int] = field(default_factory=set)
    published: int = 0
    sent: int = 0
    unheard: set[Region] = field(default_factory=set)
    greeting_ms: Millis | None = None
    echoed: bool = False
    quiet_since_ms: Millis | None = None
    greeted: bool = False
    outdone: int = 0
    fresh: bool = False
