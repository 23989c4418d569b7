"""Policies of offloading where all regions are set to carry a part of them: what is shared, what stays, and when."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import FillConflict, Need, Publish, RecordConflict
from syncer.conflict.changeover import ABLE_TO_CARRY, MOST, NEWEST, ProjectionsInUse, Works, chosen, preferred_ids
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.offloading import CARRIED, FIELDS, own_part, shared_part
from syncer.conflict.projection import CARRYING, PROJECTIONS, parse
from syncer.conflict.register import Register, Stored
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.conflict.withholding import carried_entry, carried_value, shares_more
from syncer.model import Digest, EventType, MetadataChangeEvent, Millis, ResourceKind, Revision, Version, counter_of
from syncer.replacing import replace
from syncer.stores.contract import Entry, Put
from tests.property.strategies import NOW, PATH_OF_KIND, documents, encoded, nodes
from tests.unit.conflict.test_apply import facts
from tests.unit.registers import BY_HERE, HERE, THERE, at, moment, none_of

KIND: Final = ResourceKind.NAMESPACE
PATH: Final = PATH_OF_KIND[KIND]
FIELD: Final = FIELDS[KIND]
PLAIN, CARRY = PROJECTIONS[KIND], CARRYING[KIND]
PART: Final = {"managedLedgerOffloadThresholdInBytes": 5}
OTHER: Final = {"managedLedgerOffloadThresholdInBytes": 6}
OWN: Final = {"managedLedgerOffloadBucket": "east", "s3ManagedLedgerOffloadCredentialSecret": "Geheimnis"}
IDS: Final = {kind: each.id for kind, each in CARRYING.items()}
SET: Final = replace(NEWEST, able=ABLE_TO_CARRY)
GOING: Final = SET.towards(IDS)
BY_THERE: Final = counter_of(THERE, 1)


def carrying(projections: ProjectionsInUse = MOST, **settings: Any) -> Replica:
    return Replica(Settings(region=HERE, projections=projections, **settings))


def value(number: int = 1, part: dict[str, Any] | None = None, own: dict[str, Any] | None = None) -> bytes:
    policies = {**(own or {}), **(part or {})}
    return json.dumps({"message_ttl_in_seconds": number, **({FIELD: policies} if policies else {})}).encode()


def entry(text: bytes, revision: str = "7") -> Entry:
    return Entry(path=PATH, value=text, revision=Revision(revision), modified_at_ms=Millis(NOW))


def standing(digest: Digest, time: int = NOW) -> Register:
    known = Version(stamp=at(time - NOW), by=BY_HERE, seen={BY_HERE: Millis(time)}, digest=digest)
    stored = Stored(stamp=known.stamp, by=known.by, seen=known.seen, digest=digest, revision=Revision("7"))
    return Register(path=PATH, known=known, stored=stored, own=Millis(time))


def told(text: bytes, time: int = NOW + 5, **more: Any) -> MetadataChangeEvent:
    event = MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=KIND,
        resource_name="acme/orders",
        path=PATH,
        value=text,
        stamp=at(time - NOW, THERE),
        by=BY_THERE,
        seen={BY_THERE: Millis(time), BY_HERE: Millis(NOW)},
    )
    return replace(event, **more)


policies = st.dictionaries(
    st.sampled_from([*CARRIED, "managedLedgerOffloadBucket", "x"]), nodes | st.integers(), max_size=5
)
offloading = documents().flatmap(
    lambda document: (policies | nodes).map(lambda node: {**document, FIELD: node}) | st.just(document)
)
BOTH: Final = st.sampled_from([*CARRYING])


def placed(kind: ResourceKind, document: dict[str, Any]) -> bytes:
    """A document with the policies of offloading where a kind has them."""
    return encoded({FIELDS[kind] if name == FIELD else name: node for name, node in document.items()})


# -- laws


@given(kind=BOTH, author=offloading, target=offloading)
def test_an_overlay_carries_the_part_and_leaves_all_else(
    kind: ResourceKind, author: dict[str, Any], target: dict[str, Any]
) -> None:
    projection, name = CARRYING[kind], FIELDS[kind]
    here, there = placed(kind, target), placed(kind, author)
    laid = projection.overlay(there, here)
    assert projection.project(laid) == projection.project(there)
    assert projection.digest(laid) == projection.digest(there)
    node = parse(laid).get(name)
    assert shared_part(node) == shared_part(parse(there).get(name))
    before = own_part(parse(here).get(name))
    if isinstance(before, dict):
        kept = {each: found for each, found in before.items() if each not in shared_part(node)}
        assert {each: found for each, found in (own_part(node) or {}).items() if each in kept} == kept  # type: ignore[attr-defined] # an object


@given(kind=BOTH, document=offloading)
def test_what_leaves_has_the_digest_of_the_whole_and_no_other_field(
    kind: ResourceKind, document: dict[str, Any]
) -> None:
    projection, text = CARRYING[kind], placed(kind, document)
    left = projection.carried(text)
    assert projection.digest(left) == projection.digest(text)
    assert (parse(left).get(FIELDS[kind]) or {}) == shared_part(parse(text).get(FIELDS[kind]))
    assert projection.carried(left) is left


@given(kind=BOTH, one=offloading, other=offloading)
def test_it_tells_apart_whatever_the_newest_does(
    kind: ResourceKind, one: dict[str, Any], other: dict[str, Any]
) -> None:
    left, right = placed(kind, one), placed(kind, other)
    if CARRYING[kind].digest(left) == CARRYING[kind].digest(right):
        assert PROJECTIONS[kind].digest(left) == PROJECTIONS[kind].digest(right)


# -- which one is in use


def works(projection: str = "namespace/3", *, able: bool = True, ready: bool = True) -> Works:
    can = frozenset(preferred_ids(KIND))
    less = can - {CARRY.id}
    return Works(projection, can if able else less, can if ready and able else less)


def test_a_group_carries_while_all_members_are_set_to() -> None:
    assert preferred_ids(KIND) == ("namespace/3+offload", "namespace/3", "namespace/2", "namespace/1")
    assert chosen(KIND, SET, []) == CARRY.id
    assert chosen(KIND, SET, [works(), works(CARRY.id)]) == CARRY.id
    assert chosen(KIND, SET, [works(), works(able=False)]) == PLAIN.id
    assert chosen(KIND, SET, [works(), works(ready=False)]) == PLAIN.id, "that one waits for somebody"
    assert chosen(KIND, NEWEST, [works(CARRY.id)]) == PLAIN.id, "this one is not set to"
    assert chosen(KIND, MOST, [works(able=False)]) == PLAIN.id, "one was set otherwise"
    assert chosen(KIND, MOST, [works(CARRY.id), None]) == CARRY.id, "one whose database was lost"
    assert chosen(KIND, MOST, [works(), None]) == PLAIN.id
    older = SET.towards({KIND: "namespace/2"}).arrived
    assert chosen(KIND, older, [works()]) == PLAIN.id, "nobody goes further than to the newest at once"


def test_a_region_that_is_set_otherwise_carries_nothing_from_its_start() -> None:
    assert SET.resumed(MOST.kept_as) == MOST
    left = NEWEST.resumed(MOST.kept_as)
    assert left.ids[KIND] == f"{CARRY.id}>{PLAIN.id}"
    assert not left.shares
    assert MOST.shares
    assert SET.resumed(GOING.kept_as) == GOING
    assert not GOING.shares
    assert GOING.giving_up([KIND]).ids[KIND] == f"{CARRY.id}>{PLAIN.id}"
    assert GOING.giving_up([KIND]).ids[ResourceKind.TOPIC_POLICY] == GOING.ids[ResourceKind.TOPIC_POLICY]
    assert CARRY not in NEWEST.towards({KIND: "namespace/2"}).others(KIND)


# -- while a group goes over


def test_nothing_more_leaves_before_all_are_there() -> None:
    going = carrying(GOING)
    text = value(1, PART, OWN)
    before = standing(PLAIN.digest(text))
    assert going.observe(before, entry(text), moment()).acts == ()
    changed = going.observe(before, entry(value(2, OTHER, OWN), "8"), moment())
    (event,) = [act.event for act in changed.acts if isinstance(act, Publish)]
    assert event.value is not None
    assert parse(event.value) == {"message_ttl_in_seconds": 2}
    restored = going.restore(before, value(3, PART), {}, Millis(NOW))
    assert restored.register.known is not None
    assert parse(restored.register.known.value or b"") == {"message_ttl_in_seconds": 3}
    met = going.fold(before, told(value(1, OTHER)), Millis(NOW + 9)).register
    assert met.known is not None
    assert met.known.digest == CARRY.digest(value(1, OTHER)), "what the others share is kept, for later"
    assert met.due


def test_what_stands_is_shared_at_the_time_after_its_own() -> None:
    text = value(1, PART, OWN)
    before = standing(PLAIN.digest(text))
    outcome = carrying().observe(before, entry(text), moment())
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert parse(event.value or b"") == {"message_ttl_in_seconds": 1, FIELD: PART}
    assert event.stamp == at(1)
    assert any(isinstance(act, FillConflict) and act.digest == PLAIN.digest(text) for act in outcome.acts)
    assert carrying().observe(outcome.register, entry(text), moment()).acts == ()
    assert carrying().shares_more(before, entry(text))
    assert not carrying().shares_more(outcome.register, entry(text))


def test_of_two_parts_one_stands_and_the_other_is_kept() -> None:
    text = value(1, PART, OWN)
    met = carrying().fold(standing(PLAIN.digest(text)), told(value(1, OTHER), NOW + 5), Millis(NOW + 9)).register
    waits = carrying().apply_due(met, entry(text), facts(), "b")
    assert (waits.write, waits.need) == (None, Need.READ), "what stands there is shared first"
    outcome = carrying().observe(met, entry(text), moment())
    (lost,) = [act for act in outcome.acts if isinstance(act, RecordConflict)]
    assert parse(lost.value or b"") == {"message_ttl_in_seconds": 1, FIELD: PART}
    assert outcome.register.due
    written = carrying().apply_due(outcome.register, entry(text), facts(), "b").write
    assert isinstance(written, Put)
    assert parse(written.value) == {"message_ttl_in_seconds": 1, FIELD: {**OWN, **OTHER}}


def test_the_same_part_is_nobodys_change() -> None:
    text = value(1, PART, OWN)
    met = carrying().fold(standing(PLAIN.digest(text)), told(value(1, PART), NOW + 5), Millis(NOW + 9)).register
    outcome = carrying().observe(met, entry(text), moment())
    assert none_of(outcome, Publish)
    assert none_of(outcome, RecordConflict)
    assert not outcome.register.due


def test_a_region_that_does_not_publish_keeps_its_part_as_a_conflict() -> None:
    text = value(1, PART, OWN)
    outcome = carrying().observe(standing(PLAIN.digest(text)), entry(text), moment(), publishes=False)
    assert none_of(outcome, Publish)
    (lost,) = [act for act in outcome.acts if isinstance(act, RecordConflict)]
    assert parse(lost.value or b"")[FIELD] == PART


def test_once_one_is_set_otherwise_the_part_is_each_region_s_own_and_that_is_no_change() -> None:
    text = value(1, PART, OWN)
    back = carrying(NEWEST.resumed(MOST.kept_as))
    outcome = back.observe(standing(CARRY.digest(text)), entry(text), moment())
    assert none_of(outcome, Publish)
    assert outcome.register.stored_digest == PLAIN.digest(text)
    met = back.fold(outcome.register, told(value(2, OTHER)), Millis(NOW + 9)).register
    written = back.apply_due(met, entry(text), facts(), "b").write
    assert isinstance(written, Put)
    assert parse(written.value) == {"message_ttl_in_seconds": 2, FIELD: {**OWN, **PART}}


# -- while all carry


def test_a_change_of_the_part_alone_is_a_change() -> None:
    before = standing(CARRY.digest(value(1, PART)))
    outcome = carrying().observe(before, entry(value(1, OTHER, OWN), "8"), moment())
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert parse(event.value or b"") == {"message_ttl_in_seconds": 1, FIELD: OTHER}
    own = carrying().observe(before, entry(value(1, PART, {"managedLedgerOffloadBucket": "x"}), "8"), moment())
    assert none_of(own, Publish)


def test_a_new_namespace_is_made_with_the_part_alone() -> None:
    folded = carrying().fold(Register(path=PATH), told(value(1, PART, OWN)), Millis(NOW + 9)).register
    written = carrying().apply_due(folded, None, facts(), "b").write
    assert isinstance(written, Put)
    assert parse(written.value)[FIELD] == PART


def test_a_namespace_can_be_excluded_all_the_same() -> None:
    rules = Exclusions([Exclusion("/admin/policies/acme/*", (FIELD,))])
    outcome = carrying(excluded=rules.at).observe(Register(path=PATH), entry(value(1, PART, OWN)), moment())
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert parse(event.value or b"") == {"message_ttl_in_seconds": 1}


def test_a_field_that_brokers_here_do_not_know_is_kept() -> None:
    newer = {"managedLedgerOffloadThresholdInSeconds": 7}
    region = carrying(brokers=Brokers())
    folded = region.fold(Register(path=PATH), told(value(1, {**PART, **newer}, OWN)), Millis(NOW + 9)).register
    outcome = region.apply_due(folded, None, facts(), "b")
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept is not None
    assert outcome.register.intent.kept.store == {FIELD: newer}
    landed = region.written(outcome.register, None, Millis(NOW + 10)).register
    read = region.observe(landed, entry(value(2, PART, OWN), "8"), moment())
    (event,) = [act.event for act in read.acts if isinstance(act, Publish)]
    assert parse(event.value or b"")[FIELD] == {**PART, **newer}


@pytest.mark.parametrize("text", [b"{", value(1)])
def test_what_has_no_part_is_not_looked_at_again(text: bytes) -> None:
    assert not shares_more(standing(PLAIN.digest(value(1))), entry(text), MOST)
    assert not shares_more(standing(PLAIN.digest(value(1))), entry(text + b'"offload_policies"'), MOST)
    assert not shares_more(Register(path=PATH), entry(value(1, PART)), MOST)
    assert not shares_more(standing(PLAIN.digest(value(1))), entry(value(1, PART)), NEWEST)
    assert carried_entry(PATH, entry(value(1, PART)), GOING) == entry(carried_value(PATH, value(1, PART)))
