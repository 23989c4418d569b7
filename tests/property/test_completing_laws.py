"""Regions of different versions: nobody loses a field that he does not know, what is removed is, and all end equal.

The brokers of each region drop what they do not know at each edit. Events come late, in any order, and more than once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from syncer.conflict.acts import Decision, FillConflict, Journal, Moment, Need, Outcome, Publish, RecordConflict
from syncer.conflict.causality.order import later
from syncer.conflict.completing import completes
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.table import known_fields, parse_version
from syncer.conflict.guards import Facts
from syncer.conflict.projection import PROJECTIONS, parse
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Limits, Settings
from syncer.conflict.shown import look_at
from syncer.model import (
    MetadataChangeEvent,
    Millis,
    Region,
    ResourceKind,
    Revision,
    Stamp,
    TieOrder,
    Version,
    counter_of,
)
from syncer.stores.contract import Entry, Put, Written
from tests.property.strategies import NOW, PATH_OF_KIND, encoded

KIND: Final = ResourceKind.NAMESPACE
PATH: Final = PATH_OF_KIND[KIND]
TTL: Final = "message_ttl_in_seconds"
KEYS: Final = "allowed_topic_property_keys_for_metrics"
SCALING: Final = "scalableTopicAutoScalePolicy"
PROOF: Final = "is_allow_auto_update_schema_with_replicator"
FOREIGN: Final = "of_6_0"
NEWER: Final = (KEYS, SCALING)
"""What some broker here can set and remove; the proof is always written, and nobody can remove what he never knew."""
EDGES: Final = {"2.8.0": {"replicated"}, "5.1.0": {"replicated", TTL, KEYS, PROOF}}
"""Versions that no table here has, and what their brokers keep: the newer one has lost a field, as 5.0.1 did."""
AGES: Final = ("2.8.0", "4.0.8", "4.2.4", "5.0.0-M1", "5.1.0")
ROUNDS: Final = 40
Document = dict[str, Any]


def shaped(numbers: Document) -> Document:
    """Numbers in the forms that brokers can read: of keys a list, of the scaling an object."""

    def form(name: str, number: object) -> object:
        return [str(number)] if name == KEYS else {"maxSegments": number} if name == SCALING else number

    return {name: form(name, number) for name, number in numbers.items()}


def knows(age: str, name: str) -> bool:
    return name in (EDGES[age] if age in EDGES else known_fields(parse_version(age), KIND))


@dataclass
class Place:
    """A region: its brokers, their store, and what its replica has made of it.

    Args:
        view: The whole document that the region stands for, by an oracle that never asks the replica.
    """

    name: str
    age: str
    replica: Replica = field(init=False)
    document: Document | None = None
    revision: int = 0
    modified_at: Millis = NOW
    view: Document | None = None
    register: Register = field(default_factory=lambda: Register(path=PATH))
    outbox: list[MetadataChangeEvent] = field(default_factory=list)
    conflicts: list[RecordConflict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.have(self.age)

    def have(self, age: str) -> None:
        """All brokers are of a version, and the daemon knows it."""
        self.age = age
        brokers = Brokers(parse_version(age))
        limits = Limits(max_flips=10**6)
        self.replica = Replica(Settings(region=Region(self.name), brokers=brokers, limits=limits))

    def put(self, document: Document | None, now: Millis) -> None:
        self.document, self.revision, self.modified_at = document, self.revision + 1, now

    def read(self) -> Entry | None:
        if self.document is None:
            return None
        return Entry(
            path=PATH,
            value=encoded(self.document),
            revision=Revision(str(self.revision)),
            modified_at_ms=self.modified_at,
        )

    def edit(self, change: Document, removed: Iterable[str], now: Millis) -> None:
        """A broker reads, sets and removes fields that it knows, and writes: what it does not know is gone."""
        known = {name: node for name, node in (self.document or {}).items() if knows(self.age, name)}
        view = dict(self.view or {})
        for name, node in change.items():
            if knows(self.age, name):
                known[name] = view[name] = node
        for name in removed:
            if knows(self.age, name) and name in known:
                del known[name]
                if self.age not in EDGES:  # there, whether the broker has dropped it cannot be told
                    del view[name]
        if knows(self.age, PROOF):
            known.setdefault(PROOF, False)
            view.setdefault(PROOF, False)
        self.view = view
        self.put(known, now)


class Group:
    """Some regions and a bus. Each method is one step of one of them."""

    def __init__(self, ages: Sequence[str]) -> None:
        self.clock = int(NOW)
        self.places = [Place(name, age) for name, age in zip("abc", ages, strict=False)]
        self.bus: list[MetadataChangeEvent] = []
        self.published: dict[Stamp, MetadataChangeEvent] = {}
        self.first_scan_done = False

    def begin_equal(self, document: Document) -> None:
        """All have the same value, made by the first one, and have settled on it."""
        stamp = Stamp(Millis(NOW), Region("a"))
        by = counter_of(Region("a"), 1)
        digest = PROJECTIONS[KIND].digest(encoded(document))
        version = Version(stamp=stamp, by=by, seen={by: stamp.updated_at_ms}, digest=digest)
        for place in self.places:
            brokers = place.replica.settings.brokers
            assert brokers is not None
            part = brokers.newer(KIND, document)
            place.put(dict(document), Millis(NOW))
            place.view = dict(document)
            place.register = replace(
                Register(path=PATH, known=version, kept=KeptFields(part) if part else None).sit(version, Revision("1")),
                own=stamp.updated_at_ms if place.name == "a" else Millis(0),
            )
        self.first_scan_done = True

    @property
    def now(self) -> Millis:
        return Millis(self.clock)

    def keep(self, place: Place, outcome: Outcome) -> None:
        place.register = outcome.register
        for act in outcome.acts:
            match act:
                case Publish(event=event):
                    assert event.stamp not in self.published, "a stamp names one value for ever"
                    self.published[event.stamp] = event
                    place.outbox.append(event)
                case RecordConflict():
                    place.conflicts.append(act)
                case FillConflict(digest=digest, value=value):
                    place.conflicts = [
                        replace(row, value=value) if row.value is None and row.loser_digest == digest else row
                        for row in place.conflicts
                    ]
                case Journal(decision=decision):
                    assert decision is not Decision.ALARM
                case _:
                    raise AssertionError(act)

    def observe(self, place: Place, *, by_scan: bool = False) -> None:
        """Read; where an absence is to be judged ask all brokers, and read again."""
        seen = Moment(now=self.now, seen_at=self.now, first_scan_done=self.first_scan_done, by_scan=by_scan)
        outcome = place.replica.observe(place.register, place.read(), seen)
        if outcome.need is Need.BROKERS:
            assert outcome.register == place.register
            outcome = place.replica.observe(place.register, place.read(), replace(seen, vouched=True))
        assert outcome.need is not Need.BROKERS
        self.keep(place, outcome)

    def take(self, place: Place, event: MetadataChangeEvent) -> None:
        self.keep(place, place.replica.fold(place.register, event, self.now))

    def bring(self, place: Place) -> None:
        """Read, decide, write."""
        self.observe(place)
        facts = Facts(now=self.now, outbox_open=bool(place.outbox))
        register = place.register
        if not (register.due or place.replica.owes(register)):
            return
        outcome = place.replica.apply_due(register, place.read(), facts, "batch")
        self.keep(place, outcome)
        intent = outcome.register.intent
        if outcome.write is None or intent is None:
            return
        assert isinstance(outcome.write, Put)
        place.put(parse(outcome.write.value), self.now)
        if intent.version.stamp in self.published and outcome.register.due:
            told = self.published[intent.version.stamp].value
            assert told is not None
            place.view = parse(told)
        written = Written(path=PATH, revision=Revision(str(place.revision)))
        self.keep(place, place.replica.written(place.register, written, self.now))

    def flush(self, place: Place) -> None:
        self.bus += place.outbox
        place.outbox = []

    def settle(self) -> None:
        """Nobody edits any more; the bus delivers everything to everybody, until nothing is due."""
        for _ in range(ROUNDS):
            for place in self.places:
                self.observe(place)
                self.flush(place)
            self.first_scan_done = True
            for place in self.places:
                for event in reversed(self.bus):
                    self.take(place, event)
                if place.register.hold is not None:
                    look = look_at(place.register, place.register.hold)
                    self.keep(place, place.replica.confirm(place.register, look))
                self.bring(place)
            if not any(self.busy(place) for place in self.places):
                return
        raise AssertionError("the regions do not come to rest")

    def busy(self, place: Place) -> bool:
        register = place.register
        unread = register.stored is None or register.stored.revision is None
        return register.due or bool(place.outbox) or unread or place.replica.owes(register)

    def check_equal(self) -> Document:
        """All regions stand for one value, which is that of the greatest stamp; the value."""
        known = {(place.register.known.stamp, place.register.known.digest) for place in self.places_known()}
        assert len(known) == 1
        assert {place.register.stored_digest for place in self.places} == {digest for _, digest in known}
        wholes = []
        for place in self.places:
            entry = place.read()
            assert entry is not None
            whole = completes(place.register, entry.value)
            assert PROJECTIONS[KIND].digest(whole) == place.register.stored_digest, "what is kept is what it stands for"
            wholes.append(parse(whole))
            lost = {name for name in wholes[-1] if knows(place.age, name) and name not in (place.document or {})}
            assert not lost or place.age in EDGES, "who knows a field has it"
        if self.published:
            greatest, *others = self.published
            for stamp in others:
                greatest = stamp if later(stamp, greatest, TieOrder.SMALLER_REGION) else greatest
            assert {stamp for stamp, _ in known} <= {greatest, Stamp(Millis(NOW), Region("a"))}
        assert all(whole == wholes[0] for whole in wholes)
        return wholes[0]

    def places_known(self) -> list[Any]:
        assert all(place.register.known is not None for place in self.places)
        return self.places


numbers = st.integers(0, 3)
choices = st.sampled_from(range(3))
changes = st.dictionaries(st.sampled_from([TTL, KEYS, SCALING]), st.integers(0, 9), max_size=2).map(shaped)
removals = st.sets(st.sampled_from([TTL, KEYS, SCALING]), max_size=2)
WHOLE: Final = shaped({TTL: 1, KEYS: 2, SCALING: 3, PROOF: False, FOREIGN: 4})


class MixedGroup(RuleBasedStateMachine):
    """All have begun equal. Whatever a region publishes is the edit of its own broker over all that it stands for."""

    group: Group

    @initialize(
        ages=st.lists(st.sampled_from(AGES), min_size=2, max_size=3), fields=st.sets(st.sampled_from(list(WHOLE)))
    )
    def begin(self, ages: list[str], fields: set[str]) -> None:
        self.group = Group(ages)
        self.group.begin_equal({name: node for name, node in WHOLE.items() if name in fields} | {"replicated": True})

    def place(self, number: int) -> Place:
        return self.group.places[number % len(self.group.places)]

    def observe(self, place: Place) -> None:
        before = set(self.group.published)
        self.group.observe(place)
        for stamp in self.group.published.keys() - before:
            told = self.group.published[stamp].value
            assert told is not None
            assert parse(told) == place.view

    @rule(number=choices, change=changes, removed=removals, step=numbers)
    def a_broker_edits(self, number: int, change: Document, removed: set[str], step: int) -> None:
        self.group.clock += step
        place = self.place(number)
        hidden = {name for name in place.view or () if knows(place.age, name) and name not in (place.document or ())}
        edge = place.age in EDGES
        place.edit(change, removed - hidden - (change.keys() if edge else set()), self.group.now)
        if edge or hidden & change.keys():  # else it could be removed before anybody has seen that it was there
            self.observe(place)

    @rule(number=choices)
    def the_store_is_read(self, number: int) -> None:
        self.observe(self.place(number))

    @rule(number=choices)
    def a_broker_rewrites_and_changes_nothing(self, number: int) -> None:
        self.place(number).edit({}, (), self.group.now)

    @rule(number=choices)
    def the_bus_acknowledges(self, number: int) -> None:
        self.group.flush(self.place(number))

    @precondition(lambda self: self.group.bus)
    @rule(number=choices, data=st.data())
    def an_event_arrives(self, number: int, data: st.DataObject) -> None:
        self.group.take(self.place(number), data.draw(st.sampled_from(self.group.bus)))

    @rule(number=choices)
    def the_store_is_brought_to_what_is_known(self, number: int) -> None:
        place = self.place(number)
        self.observe(place)
        self.group.bring(place)

    @rule(number=choices, age=st.sampled_from(AGES))
    def the_brokers_become_newer(self, number: int, age: str) -> None:
        """All that the store holds is read once before anything that lacks there counts."""
        place = self.place(number)
        if parse_version(age) > parse_version(place.age):  # type: ignore[operator]  # both are versions
            self.observe(place)
            place.have(age)
            self.group.observe(place, by_scan=True)
            self.group.bring(place)

    @invariant()
    def what_is_kept_and_what_is_there_is_what_it_stands_for(self) -> None:
        for place in self.group.places:
            stored, entry = place.register.stored, place.read()
            if stored is not None and entry is not None and stored.revision == entry.revision:
                assert PROJECTIONS[KIND].digest(completes(place.register, entry.value)) == stored.digest

    def teardown(self) -> None:
        for place in self.group.places:
            self.observe(place)
        self.group.settle()
        final = self.group.check_equal()
        for place in self.group.places:
            assert place.view == final


found = st.fixed_dictionaries(
    {TTL: st.integers(0, 1)}, optional={name: st.integers(0, 1) for name in (*NEWER, FOREIGN)}
).map(shaped)


@st.composite
def first_contacts(draw: st.DrawFn) -> tuple[Group, list[Document]]:
    """Regions that have never met; each has what its brokers may have written, or a peer's tool."""
    ages = draw(st.lists(st.sampled_from(AGES), min_size=2, max_size=3))
    return Group(ages), [draw(found) for _ in ages]


def play(group: Group, steps: list[tuple[int, str]], data: st.DataObject) -> None:
    """Have regions read, say, hear what data draw, and bring their stores up to it, one step after the other."""
    for number, step in steps:
        place = group.places[number % len(group.places)]
        match step:
            case "read":
                group.observe(place)
            case "said":
                group.flush(place)
            case "told" if group.bus:
                group.take(place, data.draw(st.sampled_from(group.bus)))
            case "brought":
                group.bring(place)


@settings(max_examples=2 * settings().max_examples)
@given(case=first_contacts(), data=st.data())
def test_first_contact_loses_no_newer_field_in_whatever_order_regions_meet(
    case: tuple[Group, list[Document]], data: st.DataObject
) -> None:
    group, documents = case
    for place, document in zip(group.places, documents, strict=True):
        place.put(document, Millis(NOW - 5))
    steps = data.draw(st.lists(st.tuples(choices, st.sampled_from(["read", "said", "told", "brought"])), max_size=14))
    play(group, steps, data)
    group.settle()
    final = group.check_equal()
    for document in documents:
        assert {name for name in document if name != TTL} <= final.keys()
    assert all(stamp.is_baseline for stamp in group.published), "nobody has changed anything"
    assert final[TTL] in {document[TTL] for document in documents}
    for place in group.places:
        for row in place.conflicts:
            assert row.value is not None or row.loser_digest == place.register.stored_digest, "kept whole"


@settings(max_examples=settings().max_examples)
@given(case=first_contacts(), order=st.permutations(range(3)))
def test_first_contact_of_values_that_differ_in_newer_fields_alone_needs_no_operator(
    case: tuple[Group, list[Document]], order: list[int]
) -> None:
    """Each has what the others lack, and nobody has another value of anything."""
    group, documents = case
    for place, document in zip(group.places, documents, strict=True):
        place.put(shaped({**dict.fromkeys(document, 1), TTL: 1}), Millis(NOW - 5))
    for number in order:
        if number < len(group.places):
            place = group.places[number]
            for event in group.bus:
                group.take(place, event)
            group.observe(place)
            group.flush(place)
    group.first_scan_done = True
    for _ in range(ROUNDS):
        for place in group.places:
            for event in group.bus:
                group.take(place, event)
            group.observe(place)
            group.flush(place)
    for place in group.places:
        while group.busy(place):
            group.bring(place)
        assert place.register.hold is None
        assert not place.register.due
    assert group.check_equal() == shaped({name: 1 for document in documents for name in document} | {TTL: 1})


@settings(max_examples=2 * settings().max_examples)
@given(ages=st.lists(st.sampled_from(AGES), min_size=1, max_size=2), others=st.lists(found, min_size=2), data=st.data())
def test_what_was_removed_never_rises_by_the_first_contact_with_others(
    ages: list[str], others: list[Document], data: st.DataObject
) -> None:
    """They have it of their own, or of what this region had at first."""
    name = data.draw(st.sampled_from("abc"[: len(ages) + 1]), "who removes")
    group = Group([*ages, "5.0.0-M1"])
    remover = group.places["abc".index(name)]
    remover.have("5.0.0-M1")
    for place, document in zip(group.places, [*others, {TTL: 1}], strict=False):
        more = shaped({SCALING: 1, PROOF: False}) if place is remover else {}
        place.put({**document, **more}, Millis(NOW - 5))
    group.observe(remover)
    steps = st.lists(st.tuples(choices, st.sampled_from(["read", "said", "told", "brought"])), max_size=10)
    removed = False
    for part in (data.draw(steps), data.draw(steps)):
        play(group, part, data)
        if not removed:
            group.first_scan_done = removed = True
            for place in group.places:
                group.observe(place)
            group.clock += 9
            document = dict(remover.document or {})
            document.pop(SCALING, None)
            remover.put({**document, PROOF: False}, group.now)
            group.observe(remover)
    group.settle()
    assert SCALING not in group.check_equal()


@pytest.mark.parametrize("removing", [0, 1])
def test_a_removal_by_who_knows_it_arrives_everywhere(removing: int) -> None:
    group = Group(["5.0.0-M1", "5.0.0-M1", "4.0.8"])
    group.begin_equal(WHOLE)
    group.places[2].edit({TTL: 7}, (), group.now)
    group.observe(group.places[2])
    group.settle()
    group.clock += 9
    group.places[removing].edit({}, [SCALING], group.now)
    group.settle()
    group.places[2].edit({TTL: 8}, (), group.now)
    group.settle()
    assert group.check_equal() == shaped({TTL: 8, KEYS: 2, PROOF: False, FOREIGN: 4})


TestMixedGroup = MixedGroup.TestCase
TestMixedGroup.settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=20)
