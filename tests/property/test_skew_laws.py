"""Whatever messages come: nothing is carried further ahead of the clock than the law allows, and nothing honest waits.

The law is that of :mod:`syncer.conflict.causality.skew`: no known version ever has a lead over the clock of more than
the greater of the allowed skew and the lead that an operator let pass, and 10 ms for each successor folded beyond the
skew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import HoldEvent
from syncer.conflict.causality.order import later
from syncer.conflict.causality.skew import SUCCESSOR_MS
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.model import Counter, MetadataChangeEvent, Millis, Region, Stamp, TieOrder, counter_of
from tests.property.strategies import NOW, TENANT, tenant_event, tenant_value

SKEW = 30_000
FAR = 10**10


@dataclass
class Shelf:
    """A region that hears, holds, and looks again at what it holds, as the shell does."""

    replica: Replica = field(default_factory=lambda: Replica(Settings(region=Region("here"))))
    register: Register = field(default_factory=lambda: Register(path=TENANT))
    now: int = NOW
    held: dict[Stamp, tuple[MetadataChangeEvent, int]] = field(default_factory=dict)
    granted: int = 0
    """How many versions were folded beyond the skew."""
    lead: int = SKEW
    """The greatest that an operator has let pass."""

    def hear(self, event: MetadataChangeEvent) -> None:
        outcome = self.replica.fold(self.register, event, Millis(self.now))
        holds = [act for act in outcome.acts if isinstance(act, HoldEvent)]
        if holds:
            first = self.held.get(event.stamp, (event, holds[0].until))[1]
            self.held[event.stamp] = (event, min(first, holds[0].until))
        self.take(outcome.register, event)

    def release(self, event: MetadataChangeEvent) -> None:
        del self.held[event.stamp]
        outcome = self.replica.fold(self.register, event, Millis(self.now), released=True)
        self.take(outcome.register, event)

    def confirm(self, event: MetadataChangeEvent) -> None:
        """An operator lets it pass."""
        self.lead = max(self.lead, event.stamp.updated_at_ms - self.now)
        self.release(event)

    def take(self, register: Register, event: MetadataChangeEvent) -> None:
        before, known = self.register.known, register.known
        if known is not None and (before is None or before.stamp != known.stamp):
            self.granted += event.stamp.updated_at_ms > self.now + SKEW
        self.register = register

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.look()

    def look(self) -> None:
        """First what has its moment, then what is near enough to what is known by now."""
        for event, until in sorted(self.held.values(), key=lambda each: each[0].stamp.updated_at_ms):
            soon = self.replica.admitted_at(self.register, event, Millis(self.now))
            if min(soon, until) <= self.now:
                self.release(event)
            else:
                self.held[event.stamp] = (event, min(soon, until))

    def lawful(self) -> None:
        known = self.register.known
        if known is not None:
            lead = known.stamp.updated_at_ms - self.now
            assert lead <= self.lead + SUCCESSOR_MS * self.granted


names = st.sampled_from(["a", "b", "here"])


@st.composite
def messages(draw: st.DrawFn, shelf: Shelf) -> MetadataChangeEvent:
    """Anything that anybody can say about the path, as near to the limits as one likes."""
    known = shelf.register.known
    near = [shelf.now, shelf.now + SKEW]
    if known is not None:
        near.append(known.stamp.updated_at_ms)
    time = draw(st.sampled_from(near)) + draw(st.one_of(st.integers(-12, 12), st.integers(-FAR, FAR)))
    stamp = Stamp(Millis(max(time, 1)), Region(draw(names)))
    seen = {counter_of(stamp.region, 1): stamp.updated_at_ms}
    if known is not None and draw(st.booleans()):
        seen = {**known.seen, known.by: known.stamp.updated_at_ms, **seen}
    if draw(st.booleans()):
        seen = {Counter(f"{draw(names)}~1"): Millis(max(1, shelf.now + draw(st.integers(-FAR, FAR)))), **seen}
    return tenant_event(tenant_value(draw(st.integers(0, 3))), stamp, seen)


@given(case=st.data())
def test_no_sequence_of_messages_carries_a_path_further_ahead(case: st.DataObject) -> None:
    shelf = Shelf()
    for _ in range(case.draw(st.integers(1, 25))):
        match case.draw(st.sampled_from(["hear", "hear", "hear", "wait", "again", "confirm"])):
            case "hear":
                shelf.hear(case.draw(messages(shelf)))
            case "wait":
                shelf.wait(case.draw(st.integers(0, 5_000)))
            case "again" if shelf.held:
                shelf.hear(case.draw(st.sampled_from([event for event, _ in shelf.held.values()])))
            case "confirm" if shelf.held:
                shelf.confirm(case.draw(st.sampled_from([event for event, _ in shelf.held.values()])))
        shelf.lawful()


@given(
    steps=st.lists(st.integers(1, 3), min_size=1, max_size=60),
    authors=st.lists(names, min_size=60, max_size=60),
    lead=st.integers(SKEW + 1, FAR),
    case=st.data(),
)
def test_honest_edits_of_a_path_that_lies_ahead_arrive_in_any_order_and_whatever_is_lost(
    steps: list[int], authors: list[str], lead: int, case: st.DataObject
) -> None:
    """Nobody waits longer than the last one that is heard is beyond what is known; no operator has to do anything."""
    shelf = Shelf()
    stamp = Stamp(Millis(NOW + lead), Region("a"))
    seen = {counter_of(stamp.region, 1): stamp.updated_at_ms}
    first = tenant_event(tenant_value(0), stamp, seen)
    shelf.hear(first)
    shelf.confirm(first)
    chain = []
    for number, (step, author) in enumerate(zip(steps, authors, strict=False), 1):
        stamp = Stamp(Millis(stamp.updated_at_ms + step), Region(author))
        seen = {**seen, counter_of(stamp.region, 1): stamp.updated_at_ms}
        chain.append(tenant_event(tenant_value(number), stamp, seen))
    heard = case.draw(st.permutations(chain))[: case.draw(st.integers(1, len(chain)))]
    for event in heard:
        shelf.hear(event)
        shelf.look()
    greatest = heard[0]
    for event in heard:
        greatest = event if later(event.stamp, greatest.stamp, TieOrder.SMALLER_REGION) else greatest
    shelf.wait(max(0, greatest.stamp.updated_at_ms - first.stamp.updated_at_ms - SUCCESSOR_MS))
    assert shelf.held == {}
    assert shelf.register.known is not None
    assert shelf.register.known.stamp == greatest.stamp
