"""The referee: judges real stores by what outside writers recorded, under the rules' names that the simulator uses.

It knows who wrote what over what (tokens), what the stores hold at the end, what stood on the bus, and what the sidecar
databases keep for people. It reads no register and asks no daemon.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from syncer.conflict.order import later
from syncer.conflict.projection import PROJECTIONS
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Seen, Stamp, TieOrder
from syncer.paths import classify
from tests.faults.record import Answer, Write, token_of
from tests.simulation.history import Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A conflict as a sidecar database keeps it; ``token`` is that of its value, ``None`` for a delete or no value."""

    region: str
    path: MetaPath
    loser: Stamp
    winner: Stamp
    reason: str
    token: str | None
    was_delete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the referee looks at.

    Args:
        writes: What outside writers recorded.
        stores: What each region's store holds in scope, read past every daemon.
        events: Every change on the bus.
        conflicts: Of all regions.
        held: Paths that wait for a person, by region.
        unfinished: What is left undone, in words, by region.
    """

    writes: Sequence[Write]
    stores: Mapping[str, Mapping[MetaPath, bytes]]
    events: Sequence[MetadataChangeEvent]
    conflicts: Sequence[Kept] = ()
    held: Mapping[str, frozenset[MetaPath]] = field(default_factory=dict)
    unfinished: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the referee says: what is broken, and how each acknowledged write is accounted for."""

    broken: Sequence[Violation]
    counts: Mapping[str, int]

    @property
    def good(self) -> bool:
        """Whether no rule is broken."""
        return not self.broken


def judge(evidence: Evidence) -> Judgement:
    """Judge everything; all that is broken, not only the first."""
    case = _Case(evidence)
    broken = [*case.at_rest(), *case.published(), *case.converged(), *case.accounted(), *case.conflicts()]
    return Judgement(broken, dict(case.counts))


class _Case:
    """Indexes of the evidence, and one method per group of rules."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.counts: Counter[str] = Counter()
        self.writes: dict[MetaPath, list[Write]] = defaultdict(list)
        self.put_of: dict[tuple[MetaPath, str], Write] = {}
        for write in evidence.writes:
            self.writes[write.path].append(write)
            if write.token is not None:
                self.put_of[write.path, write.token] = write
        self.changes: dict[MetaPath, dict[Stamp, MetadataChangeEvent]] = defaultdict(dict)
        for event in evidence.events:
            self.changes[event.path].setdefault(event.stamp, event)
        self.change_of: dict[tuple[MetaPath, str], MetadataChangeEvent] = {
            (path, token): event
            for path, events in self.changes.items()
            for event in events.values()
            if (token := _token(event)) is not None
        }
        self.kept: dict[MetaPath, list[Kept]] = defaultdict(list)
        for row in evidence.conflicts:
            self.kept[row.path].append(row)
        self.held = frozenset[MetaPath]().union(*evidence.held.values())
        self.final: dict[MetaPath, dict[str, str | None]] = {
            path: {
                region: token_of(path, store[path]) if path in store else None
                for region, store in evidence.stores.items()
            }
            for path in {*self.writes, *(path for store in evidence.stores.values() for path in store)}
        }
        self.met = self._met()

    def _met(self) -> set[tuple[MetaPath, str]]:
        """Every token that was seen anywhere: its write has happened, whatever was answered."""
        met = {(path, token) for path, tokens in self.final.items() for token in tokens.values() if token is not None}
        met |= self.change_of.keys()
        met |= {(write.path, write.over) for write in self.evidence.writes if write.over is not None}
        met |= {(row.path, row.token) for row in self.evidence.conflicts if row.token is not None}
        return met

    # -- at rest

    def at_rest(self) -> Iterator[Violation]:
        """Nothing is left to be sent, written or decided."""
        for region, things in self.evidence.unfinished.items():
            for thing in things:
                yield Violation("not at rest", "", f"{region}: {thing}")
        for region, paths in self.evidence.held.items():
            for path in sorted(paths):
                yield Violation("not at rest", path, f"{region} holds it for a person, and nothing was done to be held")

    # -- the bus

    def published(self) -> Iterator[Violation]:
        """Every change has one stamp; a stamp and a number have one value; nobody publishes what a daemon wrote."""
        numbers: dict[tuple[str, int], MetadataChangeEvent] = {}
        values: dict[tuple[MetaPath, Stamp], Digest | None] = {}
        for event in self.evidence.events:
            first = numbers.setdefault((event.sender, event.sequence), event)
            if (first.path, first.stamp) != (event.path, event.stamp):
                yield Violation("number reused", event.path, f"{event.sender}/{event.sequence} names two events")
            digest = digest_of(event.path, event.value) if event.value is not None else None
            if values.setdefault((event.path, event.stamp), digest) != digest:
                yield Violation("two values", event.path, f"{event.stamp} was published with two values")
        self.counts["messages"] = len(self.evidence.events)
        self.counts["changes published"] = len(values)
        for path, events in self.changes.items():
            yield from self._one_publish_per_change(path, events)

    def _one_publish_per_change(
        self, path: MetaPath, events: Mapping[Stamp, MetadataChangeEvent]
    ) -> Iterator[Violation]:
        named: dict[str, Stamp] = {}
        deletes: Counter[str] = Counter()
        for stamp, event in events.items():
            token = _token(event)
            if token is None:
                deletes[stamp.region] += 1
                continue
            write = self.put_of.get((path, token))
            if write is None:
                yield Violation("invented", path, f"{stamp} has a value that nobody wrote: {token}")
                continue
            if write.region != stamp.region:
                yield Violation("echo", path, f"{stamp} is {token}, which was written in {write.region}")
            if named.setdefault(token, stamp) != stamp:
                yield Violation("published twice", path, f"{token} has the stamps {named[token]} and {stamp}")
            yield from self._causal(path, event, write)
        for region, number in deletes.items():
            made = sum(each.token is None and each.region == region for each in self._possible(path))
            if number > made:
                yield Violation("echo", path, f"{region} published {number} deletes; {made} were made there")

    def _causal(self, path: MetaPath, event: MetadataChangeEvent, write: Write) -> Iterator[Violation]:
        """Who wrote over a value has seen it."""
        if write.over is None or not write.over_known:
            return
        earlier = self.change_of.get((path, write.over))
        if earlier is None:
            return
        if earlier.stamp.updated_at_ms >= event.stamp.updated_at_ms or not _saw(event.seen, earlier):
            detail = (
                f"{write.token} as {event.stamp} does not come after {write.over} as {earlier.stamp}, which it replaced"
            )
            yield Violation("causality", path, detail)

    # -- the stores

    def converged(self) -> Iterator[Violation]:
        """Every region holds the winner, which is the greatest stamp; what was deleted does not come back."""
        for path, tokens in self.final.items():
            if path in self.held:
                continue
            stamps = list(self.changes.get(path, ()))
            if len(set(tokens.values())) > 1 or not self._equal(path):
                yield Violation("diverged", path, f"the stores hold {tokens}")
                continue
            token = next(iter(tokens.values()))
            self.counts["paths alive" if token is not None else "paths deleted"] += 1
            yield from self._risen(path, token)
            if not stamps:
                if token is not None:
                    yield Violation("never published", path, f"all stores hold {token}, and it is not on the bus")
                continue
            winner = stamps[0]
            for stamp in stamps[1:]:
                winner = stamp if later(stamp, winner, TieOrder.SMALLER_REGION) else winner
            if _token(self.changes[path][winner]) != token:
                yield Violation("wrong winner", path, f"the stores hold {token}, the greatest stamp is {winner}")

    def _equal(self, path: MetaPath) -> bool:
        stores = self.evidence.stores.values()
        return len({digest_of(path, store[path]) if path in store else None for store in stores}) <= 1

    def _risen(self, path: MetaPath, token: str | None) -> Iterator[Violation]:
        if token is None:
            return
        for write in self.writes.get(path, ()):
            if write.answer is Answer.ACKNOWLEDGED and write.token != token and token in self._past(write):
                what = "deleted" if write.token is None else f"replaced by {write.token}"
                yield Violation("risen", path, f"{token} is back: it had been {what} in {write.region}")

    def _past(self, write: Write) -> Iterator[str]:
        """What its author had seen there, as far as tokens tell: what was replaced, what that had replaced, …"""
        step: Write | None = write
        while step is not None and step.over is not None and step.over_known:
            yield step.over
            step = self.put_of.get((write.path, step.over))

    # -- every write

    def accounted(self) -> Iterator[Violation]:
        """Every acknowledged write is the winner, or replaced by somebody who saw it, or in a conflict record."""
        for path, writes in self.writes.items():
            for write in writes:
                if write.token is None:
                    if write.answer is Answer.ACKNOWLEDGED:
                        yield from self._delete(path, write)
                elif write.answer is Answer.ACKNOWLEDGED or (path, write.token) in self.met:
                    yield from self._put(path, write, write.token)

    def _put(self, path: MetaPath, write: Write, token: str) -> Iterator[Violation]:
        if write.answer is Answer.UNKNOWN:
            self.counts["unknown, and happened"] += 1
        if token in self.final[path].values():
            self.counts["winner"] += 1
        elif any(each.over == token and self._took_place(each) for each in self.writes[path]):
            self.counts["replaced by who saw it"] += 1
        elif any(row.token == token for row in self.kept[path]):
            self.counts["in a conflict record"] += 1
        elif path in self.held:
            self.counts["held"] += 1
        else:
            yield Violation(
                "silent loss", path, f"{token} ({write.answer} in {write.region}, {write.detail}) is nowhere"
            )

    def _delete(self, path: MetaPath, write: Write) -> Iterator[Violation]:
        if set(self.final[path].values()) == {None}:
            self.counts["winner"] += 1
        elif self._followed(write):
            self.counts["replaced by who saw it"] += 1
        elif any(row.was_delete and row.loser.region == write.region for row in self.kept[path]):
            self.counts["in a conflict record"] += 1
        elif (base := self._base(write)) is None:
            self.counts["came and went unread"] += 1
        elif any(self._undone_knowingly(path, each) for each in self._equal_deletes(path, base)):
            self.counts["one with a delete elsewhere"] += 1
        elif path in self.held:
            self.counts["held"] += 1
        else:
            yield Violation("silent loss", path, f"the delete of {write.over} in {write.region} was undone by nobody")

    def _followed(self, delete: Write) -> bool:
        """Whether somebody put a value there, where the path was gone."""
        return any(
            each.region == delete.region and each.over is None and each.sent_at_ms >= delete.sent_at_ms
            for each in self._possible(delete.path)
        )

    def _base(self, delete: Write) -> MetadataChangeEvent | None:
        """What the path held before, as its region's daemon knew it; ``None``: nothing, all came and went unread."""
        step: Write | None = delete
        while step is not None and step.over is not None:
            if (event := self.change_of.get((step.path, step.over))) is not None:
                return event
            step = self.put_of.get((step.path, step.over))
        return None

    def _equal_deletes(self, path: MetaPath, base: MetadataChangeEvent) -> Iterator[MetadataChangeEvent]:
        """Deletes on the bus that a delete of this value may be: its own, and those that its author had not seen.

        Two deletes at once are one: they are equal values, and who finds gone what is to be gone has nothing to tell.
        """
        return (
            event for event in self.changes.get(path, {}).values() if event.value is None and not _saw(base.seen, event)
        )

    def _undone_knowingly(self, path: MetaPath, delete: MetadataChangeEvent) -> bool:
        """Whether a delete is in a conflict record, or somebody put a value where it had been applied."""
        if any(row.was_delete and row.loser == delete.stamp for row in self.kept[path]):
            return True
        gone_at = min(each.sent_at_ms for each in self.writes[path] if each.token is None)
        for each in self._possible(path):
            event = self.change_of.get((path, each.token)) if each.token is not None else None
            absent = each.over is None and each.read_at_ms >= gone_at
            if event is not None and absent and _saw(event.seen, delete):
                return True
        return False

    def _took_place(self, write: Write) -> bool:
        """Whether a write has happened: it was acknowledged, or its value was met, or the delete was."""
        if write.answer is Answer.ACKNOWLEDGED:
            return True
        if write.answer is Answer.REFUSED:
            return False
        if write.token is not None:
            return (write.path, write.token) in self.met
        return any(
            each.region == write.region and each.over is None and each.read_at_ms >= write.sent_at_ms
            for each in self.writes[write.path]
        ) or any(
            event.value is None and event.stamp.region == write.region
            for event in self.changes.get(write.path, {}).values()
        )

    def _possible(self, path: MetaPath) -> Iterator[Write]:
        return (each for each in self.writes[path] if each.answer is not Answer.REFUSED)

    # -- what is kept for people

    def conflicts(self) -> Iterator[Violation]:
        """A conflict is between two who did not know each other."""
        self.counts["conflict records"] = len(self.evidence.conflicts)
        for row in self.evidence.conflicts:
            events = self.changes.get(row.path, {})
            pair = [events.get(stamp) for stamp in (row.loser, row.winner)]
            tokens = [_token(event) if event is not None else None for event in pair]
            loser, winner = (self.put_of.get((row.path, token)) if token is not None else None for token in tokens)
            if row.reason != "concurrent" or loser is None or winner is None:
                continue
            if tokens[0] in set(self._past(winner)) or tokens[1] in set(self._past(loser)):
                detail = f"{row.region}: {loser.token} against {winner.token}, one of whose authors saw the other"
                yield Violation("false conflict", row.path, detail)


def digest_of(path: MetaPath, value: bytes) -> Digest | None:
    """Digest of what is replicated of a value; ``None`` when it cannot be read."""
    resource = classify(path)
    try:
        return PROJECTIONS[resource.kind].digest(value) if resource is not None else None
    except ValueInvalid:
        return None


def _token(event: MetadataChangeEvent) -> str | None:
    return None if event.value is None else token_of(event.path, event.value)


def _saw(seen: Seen, event: MetadataChangeEvent) -> bool:
    return seen.get(event.by, 0) >= event.stamp.updated_at_ms
