"""The referee: judges real stores by what outside writers recorded, under the rules' names that the simulator uses.

It knows who wrote what over what (tokens), what the stores hold at the end, what stood on the bus, and what the sidecar
databases keep for people. It reads no register and asks no daemon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.causality.order import later
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Stamp, TieOrder
from tests.faults.case import Case, Evidence, Kept, digest_of, saw, token_in
from tests.faults.deletes import fate_of, undone
from tests.faults.record import Answer, Write
from tests.faults.story import story
from tests.simulation.history import Violation

STORIES: Final = 50
"""Paths whose story is told."""
VALUE_UNKNOWN: Final = "value-unknown"
"""Reason of a record that says that a value was overwritten which nobody had read."""
OVERWRITTEN_UNREAD: Final = "overwritten unread, and told"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the referee says: what is broken, and how each acknowledged write is accounted for."""

    broken: Sequence[Violation]
    counts: Mapping[str, int]
    stories: Mapping[MetaPath, Sequence[str]] = field(default_factory=dict)
    """All that is known of paths where a rule is broken."""

    @property
    def good(self) -> bool:
        """Whether no rule is broken."""
        return not self.broken


def judge(evidence: Evidence) -> Judgement:
    """Judge everything; all that is broken, not only the first."""
    bench = _Bench(evidence)
    broken = [*bench.at_rest(), *bench.published(), *bench.converged(), *bench.accounted(), *bench.conflicts()]
    paths = [path for path in dict.fromkeys(each.path for each in broken) if path][:STORIES]
    return Judgement(broken, dict(bench.counts), {MetaPath(path): story(bench, MetaPath(path)) for path in paths})


class _Bench(Case):
    """One method per group of rules."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self._unread: set[Kept] = set()

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
            token = token_in(event)
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
            made = sum(each.token is None and each.region == region for each in self.possible(path))
            if number > made:
                yield Violation("echo", path, f"{region} published {number} deletes; {made} were made there")

    def _causal(self, path: MetaPath, event: MetadataChangeEvent, write: Write) -> Iterator[Violation]:
        """Who wrote over a value has seen it."""
        if write.over is None or not write.over_known:
            return
        earlier = self.change_of.get((path, write.over))
        if earlier is None:
            return
        if earlier.stamp.updated_at_ms >= event.stamp.updated_at_ms or not saw(event.seen, earlier):
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
            if len(set(tokens.values())) > 1 or not self.equal(path):
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
            if token_in(self.changes[path][winner]) != token:
                yield Violation("wrong winner", path, f"the stores hold {token}, the greatest stamp is {winner}")

    def _risen(self, path: MetaPath, token: str | None) -> Iterator[Violation]:
        if token is None:
            return
        for write in self.writes.get(path, ()):
            if write.answer is Answer.ACKNOWLEDGED and write.token != token and token in self.past(write):
                what = "deleted" if write.token is None else f"replaced by {write.token}"
                yield Violation("risen", path, f"{token} is back: it had been {what} in {write.region}")

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
            if path not in self.held:
                for event in undone(self, path):
                    yield Violation("silent loss", path, f"the delete stamped {event.stamp} was undone by nobody")

    def _put(self, path: MetaPath, write: Write, token: str) -> Iterator[Violation]:
        if write.answer is Answer.UNKNOWN:
            self.counts["unknown, and happened"] += 1
        if token in self.final[path].values():
            self.counts["winner"] += 1
        elif any(each.over == token and self.took_place(each) for each in self.writes[path]):
            self.counts["replaced by who saw it"] += 1
        elif any(row.token == token for row in self.kept[path]):
            self.counts["in a conflict record"] += 1
        elif path in self.held:
            self.counts["held"] += 1
        elif self._told_as_unread(path, write):
            self.counts[OVERWRITTEN_UNREAD] += 1
        else:
            yield Violation(
                "silent loss", path, f"{token} ({write.answer} in {write.region}, {write.detail}) is nowhere"
            )

    def _told_as_unread(self, path: MetaPath, write: Write) -> bool:
        """Whether the daemon there has told people of a value that it overwrote before it could read it.

        ZooKeeper counts a node's versions anew when it is made again, so one that was made anew between a read and the
        write that follows may have just the version that the write expects. Each record accounts for one value.
        """
        told = (
            row
            for row in self.kept[path]
            if (row.region, row.reason) == (write.region, VALUE_UNKNOWN)
            and row.loser.updated_at_ms >= write.sent_at_ms
            and row not in self._unread
        )
        found = next(told, None) if write.over is None else None
        if found is not None:
            self._unread.add(found)
        return found is not None

    def _delete(self, path: MetaPath, write: Write) -> Iterator[Violation]:
        fate = fate_of(self, write)
        if fate is not None:
            self.counts[fate.value] += 1
        elif path in self.held:
            self.counts["held"] += 1
        else:
            yield Violation("silent loss", path, f"the delete of {write.over} in {write.region} was undone by nobody")

    # -- what is kept for people

    def conflicts(self) -> Iterator[Violation]:
        """A conflict is between two who did not know each other."""
        self.counts["conflict records"] = len(self.evidence.conflicts)
        for row in self.evidence.conflicts:
            events = self.changes.get(row.path, {})
            pair = [events.get(stamp) for stamp in (row.loser, row.winner)]
            tokens = [token_in(event) if event is not None else None for event in pair]
            loser, winner = (self.put_of.get((row.path, token)) if token is not None else None for token in tokens)
            if row.reason != "concurrent" or loser is None or winner is None:
                continue
            if tokens[0] in set(self.past(winner)) or tokens[1] in set(self.past(loser)):
                detail = f"{row.region}: {loser.token} against {winner.token}, one of whose authors saw the other"
                yield Violation("false conflict", row.path, detail)
