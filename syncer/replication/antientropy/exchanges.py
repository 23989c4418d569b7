"""Exchanges of anti-entropy with each peer: when to begin one, how it went, what an operator should see of it.

All of it is in memory and may be lost at any instant: the peers' next heartbeats begin it anew.

A difference of roots is mostly traffic under way. A comparison begins when a difference has stood still for some
heartbeats: few when sequence numbers show that nothing is under way, more when something seems to be (it may never
arrive), and in any case when it has lasted for long. The region with the smaller id begins; the other one only when
the difference outlasts even that. While nothing changes the pauses grow.

A region that is far behind on the bus differs by what waits for it there, and would have to read what comparing adds,
too. So it neither begins nor answers comparisons, and none is begun with it, as long as it is catching up: but for one
in the longest pause, so that a region that never quite catches up compares all the same.
Units: milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.bus.wire.messages import Control, Heartbeat, TreeMessage
from syncer.bus.wire.tree_bodies import TreeEntry
from syncer.model import Millis, Region
from syncer.replication.group.bus_lag import BusLag

STILL_BEATS: Final = 2
"""Heartbeats that a difference must stand still for, when nothing is known to be under way."""
WAITING_BEATS: Final = 6
"""The same, when sequence numbers say that something is."""
SILENT_AFTER: Final = 3
"""Comparisons without an answer before it is reported."""
STUCK_AFTER: Final = 3
"""Comparisons that changed nothing before it is reported."""
MAX_LISTED: Final = 20_000
"""Living paths that one region lists in one comparison; what is beyond has its turn in the next."""
MAX_OUTGOING: Final = 512
"""Messages that wait for the bus; beyond, they are dropped and come up again in the next comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often two regions compare.

    Args:
        pause_ms: Between two comparisons that changed something; doubled with each that did not.
        longest_ms: That a pause grows to.
        patience_ms: A difference that lasts so long is looked into, whatever traffic there is.
        late_ms: A region whose own heartbeats need longer to come back to it is behind.
        behind: So is one that has yet to read more changes than this, and reads them.
    """

    pause_ms: int = 5_000
    longest_ms: int = 30 * 60_000
    patience_ms: int = 5 * 60_000
    late_ms: int = 60_000
    behind: int = 1_000


@dataclass(slots=True)
class PendingEntries:
    """Buckets that a peer is to be told what this region holds in them.

    Args:
        round: Of the comparison.
        answers: The peer has listed its own: what it has listed need not be told again.
        buckets: Their numbers.
        listed: Paths that it has listed.
        differing: How many of these differed.
    """

    round: int
    answers: bool
    buckets: set[int] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    differing: int = 0


@dataclass(slots=True)
class Listed:
    """A listing that is being gathered, a slice of paths at a time."""

    target: Region
    label: str
    wanted: PendingEntries
    after: str | None = None
    entries: dict[int, list[TreeEntry]] = field(default_factory=dict)


@dataclass(slots=True)
class PeerReading:
    """How far a peer has read the bus.

    Args:
        catching_up: It reads what waits for it, and that is much.
        reached: Sender → highest number that it has read.
        still: For how many heartbeats that number stood still.
    """

    catching_up: bool = False
    reached: dict[str, int] = field(default_factory=dict)
    still: dict[str, int] = field(default_factory=dict)

    def note(self, reached: Mapping[str, int], unread: Mapping[str, int], pace: Pace) -> None:
        """Take what a peer has read of each sender, and how much it has yet to read.

        What was lost on the way is unread for ever: where a number stands still, nothing is waited for.
        """
        self.still = {
            sender: self.still.get(sender, 0) + 1 if self.reached.get(sender) == number else 0
            for sender, number in reached.items()
        }
        self.reached = dict(reached)
        moving = (number for sender, number in unread.items() if self.still.get(sender, 0) < WAITING_BEATS)
        self.catching_up = sum(moving) > pace.behind


@dataclass(slots=True)
class Attempts:
    """Comparisons with one peer that were begun here.

    Args:
        begun_at_ms: When the last one was.
        next_at_ms: No other before.
        tried: Roots at the last one.
        fruitless: How many in a row began with the same roots.
        unanswered: How many in a row the peer did not answer.
    """

    begun_at_ms: int = 0
    next_at_ms: int = 0
    tried: tuple[int, int] | None = None
    fruitless: int = 0
    unanswered: int = 0

    def begin(self, pair: tuple[int, int] | None, pace: Pace, now: Millis) -> None:
        """One begins, at these roots; the more of them change nothing, the longer the next one waits."""
        self.fruitless = self.fruitless + 1 if pair == self.tried else 0
        self.tried = pair
        self.begun_at_ms = now
        self.next_at_ms = now + min(pace.pause_ms << min(self.fruitless, 30), pace.longest_ms)
        self.unanswered += 1


@dataclass(slots=True)
class Exchange:
    """How this region and one peer stand.

    Args:
        label: Of the class of paths that the two compare; empty: none was told yet.
        root: Of the peer's tree.
        heard_at_ms: When it told so.
        pair: Own and its root at its last heartbeat.
        beats: For how many heartbeats both stood still.
        under_way: Sequence numbers say that something is under way.
        reading: How far the peer has read the bus.
        blocked: Why the two cannot be compared; empty: they can.
        differs_since_ms: ``None``: the last roots were equal.
        equal_at_ms: When they were last equal.
        equals: How many heartbeats have shown the two as equal.
        compared_at_ms: When a comparison was last answered.
        round: Of the comparison that is going on, or was last.
        differing: Paths found in it that differ.
        attempts: Comparisons that were begun here.
        answered_at_ms: When it was last answered from here.
        trouble: What is wrong with the peer's answers; empty: nothing.
        wanted: What is to be listed for it.
    """

    label: str = ""
    root: int = 0
    heard_at_ms: Millis = Millis(0)
    pair: tuple[int, int] | None = None
    beats: int = 0
    under_way: bool = False
    reading: PeerReading = field(default_factory=PeerReading)
    blocked: str = ""
    differs_since_ms: Millis | None = None
    equal_at_ms: Millis | None = None
    equals: int = 0
    compared_at_ms: Millis | None = None
    round: int = 0
    differing: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    answered_at_ms: int = 0
    trouble: str = ""
    wanted: PendingEntries | None = None

    def on_heartbeat(self, label: str, root: int, own: int, now: Millis, *, under_way: bool) -> None:
        """Take the roots as a heartbeat shows them; of another class than before, all begins anew.

        Args:
            label: Of the class.
            root: Of the peer's tree.
            own: Root of this region's tree.
            now: Our clock.
            under_way: Sequence numbers say that something is under way.
        """
        if label != self.label:
            self.pair = self.differs_since_ms = self.equal_at_ms = self.wanted = None
            self.attempts, self.differing = Attempts(), 0
        self.label, self.root, self.heard_at_ms, self.under_way = label, root, now, under_way
        pair = (own, self.root)
        self.beats = self.beats + 1 if pair == self.pair else 1
        self.pair = pair
        if own != self.root:
            self.differs_since_ms = now if self.differs_since_ms is None else self.differs_since_ms
            return
        self.differs_since_ms, self.equal_at_ms = None, now
        self.equals += 1
        self.differing = self.attempts.fruitless = self.attempts.unanswered = 0
        self.attempts.tried, self.trouble = None, ""

    def due(self, pace: Pace, now: Millis, *, first: bool, behind: bool = False) -> bool:
        """Whether a comparison is to begin here.

        Args:
            pace: How often.
            now: This region's clock.
            first: This region is the one to begin.
            behind: This region is far behind on the bus.
        """
        if self.blocked or self.differs_since_ms is None or now < self.attempts.next_at_ms:
            return False
        if now - self.heard_at_ms > pace.patience_ms:
            return False  # who is not there is asked when it speaks again
        lasts = now - self.differs_since_ms
        if behind or self.reading.catching_up:
            return now - max(self.differs_since_ms, self.attempts.begun_at_ms) >= pace.longest_ms
        if not first:
            return lasts >= 2 * pace.patience_ms
        return self.beats >= (WAITING_BEATS if self.under_way else STILL_BEATS) or lasts >= pace.patience_ms

    def begin(self, pace: Pace, now: Millis) -> None:
        """A comparison begins here."""
        self.attempts.begin(self.pair, pace, now)
        self.beats = 0
        self.round += 1
        self.differing = 0

    def meet(self, number: int) -> None:
        """A step of a comparison has come; of a new one, its findings begin anew."""
        if number != self.round:
            self.round, self.differing = number, 0

    @property
    def state(self) -> str:
        """One word for people."""
        if self.blocked:
            return "not-compared"
        if self.pair is None:
            return "unknown"
        return "equal" if self.differs_since_ms is None else "differs"


class Exchanges:
    """The comparisons with all peers, what waits to be sent, and the listing that is being gathered."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.peers: Final[dict[Region, Exchange]] = {}
        self.outgoing: Final[deque[TreeMessage | Control]] = deque()
        self.listing: Listed | None = None
        self.echo = BusLag()

    def of(self, region: Region) -> Exchange:
        """How things stand with a peer."""
        return self.peers.setdefault(region, Exchange())

    def part(self, region: Region) -> None:
        """Compare no longer with a region that has left the group, or was forgotten."""
        self.peers.pop(region, None)

    def send(self, message: TreeMessage | Control) -> None:
        """Queue a message; what finds no room comes up again in the next comparison."""
        if len(self.outgoing) < MAX_OUTGOING:
            self.outgoing.append(message)

    def drop(self) -> None:
        """This region must not compare now: nothing of what was begun is left to do."""
        self.outgoing.clear()
        self.listing = None
        for peer in self.peers.values():
            peer.wanted = None

    @property
    def busy(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self.outgoing) or self.listing is not None or any(peer.wanted for peer in self.peers.values())

    def conditions(self) -> Iterator[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        for region, peer in sorted(self.peers.items()):
            if peer.blocked:
                yield "not-compared", f"{region} is not compared with this region: {peer.blocked}"
            if peer.trouble:
                yield "comparison-malformed", f"{region} answers a comparison wrongly: {peer.trouble}"
            if peer.differs_since_ms is not None and peer.attempts.unanswered >= SILENT_AFTER:
                message = f"{region} differs from this region and did not answer {peer.attempts.unanswered} comparisons"
                yield "comparison-silent", message
            elif peer.differs_since_ms is not None and peer.attempts.fruitless >= STUCK_AFTER:
                message = (
                    f"{peer.differing} paths differ between {region} and this region, and comparing does not change "
                    "that: see holds and quarantine in both"
                )
                yield "regions-differ", message

    def report(self) -> dict[Region, dict[str, object]]:
        """How things stand with each peer, as JSON."""
        return {
            region: {
                "state": peer.state,
                "differing": peer.differing,
                "differs_since_ms": peer.differs_since_ms,
                "equal_at_ms": peer.equal_at_ms,
                "compared_at_ms": peer.compared_at_ms,
                "round": peer.round,
            }
            for region, peer in sorted(self.peers.items())
        }


def traffic(beat: Heartbeat, ours: Mapping[str, int], own: str, last_sequence: int) -> bool:
    """Whether sequence numbers say that something is under way between two regions, or reached only one of them.

    Args:
        beat: The peer's heartbeat.
        ours: Sender → highest number that this region has consumed.
        own: Id of this region's database.
        last_sequence: Last number that it has given out.
    """
    if ours.get(beat.sender, 0) < beat.last_sequence or beat.reached.get(own, 0) < last_sequence:
        return True
    return any(ours.get(sender, 0) != number for sender, number in beat.reached.items() if sender != own)


def unread(beat: Heartbeat, ours: Mapping[str, int], own: str, last_sequence: int) -> dict[str, int]:
    """Sender → how many of its changes, as far as this region knows of them, a peer has yet to read.

    Senders of whom it has read nothing are left out: it may be new, and will never read what they said before.

    Args:
        beat: The peer's heartbeat.
        ours: Sender → highest number that this region has consumed.
        own: Id of this region's database.
        last_sequence: Last number that it has given out.
    """
    known = {**ours, own: last_sequence}
    return {
        sender: known.get(sender, 0) - number
        for sender, number in beat.reached.items()
        if 0 < number < known.get(sender, 0) and sender != beat.sender
    }
