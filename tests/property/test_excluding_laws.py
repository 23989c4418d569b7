"""Excluded fields: whatever happens, none leaves its store, none is overwritten, and all others end equal.

Three regions with one namespace each. Rules come and go, stores are edited at any moment, events arrive late, in any
order, and more than once. In a region that excludes the field its values are above :data:`OWN`: so it can be told where
each comes from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncer.conflict.acts import Decision, Journal, Moment, Outcome, Publish
from syncer.conflict.completing import completes
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.guards import Facts, Topics
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Limits, Settings, nothing_excluded
from syncer.model import Digest, MetadataChangeEvent, Millis, Region, ResourceKind, Revision
from syncer.replacing import replace
from syncer.stores.contract import Entry, Put, Written
from tests.property.strategies import NOW, PATH_OF_KIND, encoded

PATH: Final = PATH_OF_KIND[ResourceKind.NAMESPACE]
TTL: Final = "message_ttl_in_seconds"
LIMIT: Final = "max_topics_per_namespace"
RULES: Final = Exclusions([Exclusion("/admin/policies/*/*", (TTL,))]).at
REGIONS: Final = ("a", "b", "c")
OWN: Final = 1_000_000
ROUNDS: Final = 30


@dataclass
class Place:
    """A region: its store, what it knows, and what it has yet to send."""

    replica: Replica
    document: dict[str, Any] | None = None
    revision: int = 0
    register: Register = field(default_factory=lambda: Register(path=PATH))
    outbox: list[MetadataChangeEvent] = field(default_factory=list)
    written: list[int | None] = field(default_factory=list)
    """Values of the field that the daemon has written."""

    @property
    def excludes(self) -> bool:
        return bool(self.replica.settings.excluded(PATH))

    def read(self) -> Entry | None:
        if self.document is None:
            return None
        return Entry(
            path=PATH, value=encoded(self.document), revision=Revision(str(self.revision)), modified_at_ms=None
        )

    def edit(self, document: dict[str, Any] | None) -> None:
        self.document, self.revision = document, self.revision + 1


class Group:
    """All of them, and the bus."""

    def __init__(self, excluding: frozenset[str]) -> None:
        self.clock = int(NOW)
        self.bus: list[MetadataChangeEvent] = []
        self.places = {
            name: Place(
                Replica(
                    Settings(
                        region=Region(name),
                        limits=Limits(max_flips=10**6),
                        excluded=RULES if name in excluding else nothing_excluded,
                    )
                )
            )
            for name in REGIONS
        }

    def moment(self, *, by_scan: bool = False) -> Moment:
        self.clock += 1
        return Moment(now=Millis(self.clock), seen_at=Millis(self.clock), first_scan_done=True, by_scan=by_scan)

    def take(self, place: Place, outcome: Outcome) -> None:
        place.register = outcome.register
        for act in outcome.acts:
            assert not (isinstance(act, Journal) and act.decision is Decision.ALARM)
            if isinstance(act, Publish):
                told = json.loads(act.event.value or b"{}").get(TTL)
                assert told is None or told < OWN, "no value of an excluded field leaves its store"
                place.outbox.append(act.event)

    def look(self, place: Place, *, by_scan: bool = False) -> None:
        self.take(place, place.replica.observe(place.register, place.read(), self.moment(by_scan=by_scan)))

    def bring(self, place: Place) -> None:
        self.look(place)
        facts = Facts(
            now=Millis(self.clock),
            outbox_open=bool(place.outbox),
            topics=Topics.NONE,
            clusters=frozenset({"x"}),
        )
        if place.replica.waits(place.register, facts) is not None:
            self.take(place, place.replica.waits(place.register, facts) or Outcome(place.register))
            return
        outcome = place.replica.apply_due(place.register, place.read(), facts, "1.1")
        self.take(place, outcome)
        if outcome.write is None:
            return
        before = None if place.document is None else place.document.get(TTL)
        place.edit(json.loads(outcome.write.value) if isinstance(outcome.write, Put) else None)
        if place.document is not None and place.excludes:
            assert place.document.get(TTL) == before, "what is a store's own stays as it was"
        found = place.read()
        answer = Written(path=PATH, revision=None if found is None else found.revision)
        self.take(place, place.replica.written(place.register, answer, Millis(self.clock)))

    def send(self, place: Place) -> None:
        self.bus += place.outbox
        place.outbox = []

    def hear(self, place: Place, at: int) -> None:
        if self.bus:
            self.take(place, place.replica.fold(place.register, self.bus[at % len(self.bus)], Millis(self.clock)))

    def supply(self, place: Place) -> None:
        """Whoever has the value that a region lacks tells it once more."""
        known = place.register.known
        if known is None or not place.register.value_missing:
            return
        same = next((each for each in self.bus if each.stamp == known.stamp), None)
        if same is not None:
            self.take(place, place.replica.fold(place.register, same, Millis(self.clock)))

    def settle(self) -> None:
        for _ in range(ROUNDS):
            for place in self.places.values():
                self.look(place)
                self.send(place)
            for place in self.places.values():
                for at in range(len(self.bus)):
                    self.hear(place, at)
                self.supply(place)
                self.bring(place)
            if not any(each.register.due or each.outbox for each in self.places.values()):
                return
        raise AssertionError("the regions do not come to rest")

    def check(self) -> None:
        wholes: set[Digest | None] = set()
        for place in self.places.values():
            found = place.read()
            if found is None:
                wholes.add(None)
                continue
            whole = completes(place.register, found.value)
            wholes.add(PROJECTIONS[ResourceKind.NAMESPACE].digest(whole))
            assert (json.loads(whole).get(TTL) or 0) < OWN
        assert len(wholes) == 1, "what regions go by is the same everywhere"
        rest = [each.document and each.document[LIMIT] for each in self.places.values()]
        assert rest[0] == rest[1] == rest[2], "all other fields are the same in the stores"


names = st.sampled_from(REGIONS)
steps = st.one_of(
    st.tuples(st.just("edit"), names, st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.just("look"), names, st.booleans(), st.just(0)),
    st.tuples(st.just("send"), names, st.just(0), st.just(0)),
    st.tuples(st.just("hear"), names, st.integers(0, 30), st.just(0)),
    st.tuples(st.just("bring"), names, st.just(0), st.just(0)),
    st.tuples(st.just("delete"), names, st.just(0), st.just(0)),
)


def play(group: Group, step: tuple[Any, ...]) -> None:
    what, name, one, two = step
    place = group.places[name]
    match what:
        case "edit":
            own = {TTL: one + (OWN if place.excludes else 0)} if one else {}
            document = {LIMIT: two, "replication_clusters": ["x"], **own}
            if document != place.document:
                place.edit(document)
        case "look":
            group.look(place, by_scan=one)
        case "send":
            group.send(place)
        case "hear":
            group.hear(place, one)
        case "bring":
            group.bring(place)
        case _:
            place.edit(None)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(excluding=st.sets(names).map(frozenset), played=st.lists(steps, max_size=40))
def test_no_own_value_leaves_or_is_overwritten_and_the_rest_is_equal(
    excluding: frozenset[str], played: list[tuple[Any, ...]]
) -> None:
    group = Group(excluding)
    for step in played:
        play(group, step)
    group.settle()
    group.check()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    excluding=st.sets(names).map(frozenset),
    then=st.sets(names).map(frozenset),
    before=st.lists(steps, max_size=25),
    missed=st.lists(steps.filter(lambda step: step[0] == "edit"), max_size=2),
    after=st.lists(steps, max_size=15),
)
def test_other_rules_write_and_publish_nothing(
    excluding: frozenset[str],
    then: frozenset[str],
    before: list[tuple[Any, ...]],
    missed: list[tuple[Any, ...]],
    after: list[tuple[Any, ...]],
) -> None:
    group = Group(excluding)
    for step in before:
        play(group, step)
    group.settle()
    stood = {name: place.document for name, place in group.places.items()}
    said = len(group.bus)
    for name, place in group.places.items():
        rules = RULES if name in then else nothing_excluded
        place.replica = Replica(replace(place.replica.settings, excluded=rules))
        group.look(place, by_scan=True)
    group.settle()
    assert {name: place.document for name, place in group.places.items()} == stood
    assert len(group.bus) == said
    for step in (*missed, *after):
        if step[0] == "edit" and step[1] in excluding - then:
            continue  # its values may be shared from now on, or not yet
        play(group, step)
    group.settle()
    group.check()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    then=st.sets(names, min_size=1).map(frozenset),
    before=st.lists(steps, max_size=20),
    edits=st.lists(steps, max_size=4),
)
def test_what_is_edited_while_a_rule_comes_in_does_not_leave(
    then: frozenset[str], before: list[tuple[Any, ...]], edits: list[tuple[Any, ...]]
) -> None:
    group = Group(frozenset())
    for step in before:
        play(group, step)
    group.settle()
    for name in then:
        place = group.places[name]
        place.replica = Replica(replace(place.replica.settings, excluded=RULES))
    stood = {name: place.document for name, place in group.places.items()}
    done = [step for step in edits if step[0] == "edit" and step[1] in then]
    for step in done:  # of its own by now, before the daemon has read anything by the new rule
        play(group, step)
    group.settle()
    group.check()
    for name, place in group.places.items():
        was = stood[name]
        if was is not None and place.document is not None and name not in then:
            assert place.document.get(TTL) == was.get(TTL), "the group's value is neither replaced nor removed"
