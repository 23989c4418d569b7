"""The evidence of a run, and the indexes over it that the referee looks things up in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from syncer.conflict.projection import PROJECTIONS
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Seen, Stamp
from syncer.paths import classify
from tests.faults.record import Answer, Write, token_of


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


class Case:
    """Indexes of the evidence, and what follows from the writes alone."""

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
            if (token := token_in(event)) is not None
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

    def took_place(self, write: Write) -> bool:
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

    def possible(self, path: MetaPath) -> Iterator[Write]:
        """Writes that were not refused: they may have happened."""
        return (each for each in self.writes[path] if each.answer is not Answer.REFUSED)

    def equal(self, path: MetaPath) -> bool:
        """Whether all stores hold the same of what is replicated."""
        stores = self.evidence.stores.values()
        return len({digest_of(path, store[path]) if path in store else None for store in stores}) <= 1

    def past(self, write: Write) -> Iterator[str]:
        """What its author had seen there, as far as tokens tell: what was replaced, what that had replaced, …"""
        step: Write | None = write
        while step is not None and step.over is not None and step.over_known:
            yield step.over
            step = self.put_of.get((write.path, step.over))


def digest_of(path: MetaPath, value: bytes) -> Digest | None:
    """Digest of what is replicated of a value; ``None`` when it cannot be read."""
    resource = classify(path)
    try:
        return PROJECTIONS[resource.kind].digest(value) if resource is not None else None
    except ValueInvalid:
        return None


def token_in(event: MetadataChangeEvent) -> str | None:
    """The token of a change's value; ``None``: it is a delete."""
    return None if event.value is None else token_of(event.path, event.value)


def saw(seen: Seen, event: MetadataChangeEvent) -> bool:
    """Whether an author who had seen so much had seen a change."""
    return seen.get(event.by, 0) >= event.stamp.updated_at_ms
