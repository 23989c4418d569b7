"""A changeover between projections: what was known by the former one is the same by the next, and no change."""

from __future__ import annotations

import json
from dataclasses import replace as replace_of
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import FillConflict, Publish, RecordConflict
from syncer.conflict.changeover import NEWEST, ProjectionsInUse, Works, able_ids, chosen, made_anew, ready
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.table import derived_fields, written_defaults
from syncer.conflict.projection import CARRYING, FORMER, FORMERS, PROJECTIONS
from syncer.conflict.register import Intent, Register, Shown, Stored
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.errors import StateForeign
from syncer.model import Digest, EventType, MetadataChangeEvent, Millis, ResourceKind, Revision, Version
from syncer.replacing import replace
from syncer.stores.contract import Entry
from tests.property.strategies import NOW, PATH_OF_KIND
from tests.unit.registers import BY_HERE, HERE, THERE, at, moment, none_of

KIND: Final = ResourceKind.NAMESPACE
PATH: Final = PATH_OF_KIND[KIND]
FIRST: Final = {kind: formers[-1] for kind, formers in FORMERS.items()}
FORMERLY: Final = ProjectionsInUse({**PROJECTIONS, **FIRST})
GOING: Final = FORMERLY.towards({KIND: "namespace/3"})
DEFAULT: Final = "is_allow_auto_update_schema_with_replicator"
WITHOUT: Final = json.dumps({"message_ttl_in_seconds": 60}).encode()
BY_NAME: Final = json.dumps({"message_ttl_in_seconds": 60, DEFAULT: True}).encode()
OTHER: Final = json.dumps({"message_ttl_in_seconds": 61, DEFAULT: True}).encode()
REVISION: Final = Revision("7")


def former(value: bytes) -> Digest:
    return FIRST[KIND].digest(value)


def newest(value: bytes) -> Digest:
    return PROJECTIONS[KIND].digest(value)


def version(digest: Digest, value: bytes | None = None, time: int = NOW) -> Version:
    return Version(stamp=at(time), by=BY_HERE, seen={BY_HERE: Millis(time)}, digest=digest, value=value)


def register(known: Version, stored: Version | None = None, **more: Any) -> Register:
    stands = None
    if stored is not None:
        stands = Stored(stamp=stored.stamp, by=stored.by, seen=stored.seen, digest=stored.digest, revision=REVISION)
    return Register(path=PATH, known=known, stored=stands, own=Millis(NOW), **more)


def entry(value: bytes, revision: Revision = REVISION) -> Entry:
    return Entry(path=PATH, value=value, revision=revision, modified_at_ms=None)


def going(**settings: Any) -> Replica:
    return Replica(Settings(region=HERE, projections=GOING, **settings))


# -- which one is in use


def test_an_id_names_one_way_to_make_digests() -> None:
    """Where the table of fields makes another one of it, the id has to be another, and the former one to be kept."""
    assert written_defaults(KIND) == {DEFAULT: True}
    assert len(derived_fields(ResourceKind.TOPIC_POLICY)) == 27
    others = {kind for kind in ResourceKind if written_defaults(kind).keys() - derived_fields(kind)}
    assert others == {KIND}
    assert {PROJECTIONS[kind].id for kind in FORMER} == {"namespace/3", "topic-policy/3"}


def test_ids_come_back_as_they_were_told() -> None:
    for each in (NEWEST, FORMERLY, GOING):
        assert NEWEST.resumed(each.kept_as) == each
    assert GOING.ids[KIND] == "namespace/1>namespace/3"
    assert GOING.arrived.ids[KIND] == "namespace/3"
    assert NEWEST.resumed(None) is NEWEST
    with pytest.raises(StateForeign, match=r"compares namespace by namespace/77, which this version does not know"):
        NEWEST.resumed('{"namespace": "namespace/77"}')
    assert NEWEST.others(KIND) == GOING.others(KIND) == (CARRYING[KIND], *FORMERS[KIND])
    assert (FORMERLY.others(KIND), NEWEST.others(ResourceKind.TENANT)) == ((), ())
    back = NEWEST.towards({KIND: "namespace/2"})
    assert back.others(KIND) == (PROJECTIONS[KIND], FIRST[KIND]), "it goes back, and what was left over is found"
    assert NEWEST.towards({KIND: "namespace/1"}).others(KIND) == (PROJECTIONS[KIND],)


OLD, BOTH = frozenset({"namespace/1"}), frozenset({"namespace/1", "namespace/2", "namespace/3"})


def works(in_use: int = 3, able: frozenset[str] = BOTH, ready_: frozenset[str] = BOTH) -> Works:
    return Works(f"namespace/{in_use}", able, ready_)


def test_a_group_goes_by_the_newest_that_all_can_work_by() -> None:
    assert able_ids(KIND) == ("namespace/3", "namespace/2", "namespace/1")
    assert able_ids(ResourceKind.TENANT) == ("tenant/1",)
    assert chosen(KIND, FORMERLY, [works(1), works(1)]) == "namespace/3"
    assert chosen(KIND, NEWEST, []) == "namespace/3"
    assert chosen(KIND, NEWEST, [works(), works(1, OLD, OLD)]) == "namespace/1"
    older = replace_of(FORMERLY, able=OLD)
    assert chosen(KIND, older, [works()]) == "namespace/1"
    dev = frozenset({"namespace/1", "namespace/2"})
    assert chosen(KIND, NEWEST, [works(2, dev, dev), works()]) == "namespace/2", "one of them lacks the newest alone"
    assert chosen(KIND, NEWEST, [works(1, frozenset(), frozenset())]) == "namespace/3", "nothing is common to them"


def test_nobody_goes_up_before_all_know_that_all_can() -> None:
    assert ready(KIND, FORMERLY, [works(1), works(1)]) == BOTH
    assert ready(KIND, FORMERLY, [works(1), None]) == OLD
    assert ready(KIND, NEWEST, [works(), works(1, OLD, OLD)]) == OLD
    assert chosen(KIND, FORMERLY, [works(1, BOTH, OLD)]) == "namespace/1", "that one waits for somebody"
    assert chosen(KIND, FORMERLY, [works(1), None]) == "namespace/1", "this one does"


def test_who_does_not_hear_the_same_members_ends_at_the_same_one_all_the_same() -> None:
    waits = works(1, BOTH, OLD)
    assert chosen(KIND, NEWEST, [waits, waits]) == "namespace/1", "a newcomer does not know for whom they wait"
    assert chosen(KIND, NEWEST, [waits, None]) == "namespace/1", "a region whose database was lost"
    assert chosen(KIND, NEWEST, [None]) == "namespace/3", "nobody to go by"
    assert chosen(KIND, FORMERLY, [works(3, BOTH, OLD)]) == "namespace/1", "and the other one goes back to it"


standings = st.sampled_from([works(1, OLD, OLD), works(1, BOTH, OLD), works(1), works(3), works(3, BOTH, BOTH - OLD)])
"""What a member can tell of itself: it is ready for what it works by."""


@given(one=st.sampled_from([NEWEST, FORMERLY]), others=st.lists(st.none() | standings, max_size=4))
def test_what_is_chosen_is_what_all_heard_can_work_by(one: ProjectionsInUse, others: list[Works | None]) -> None:
    found = chosen(KIND, one, others)
    assert all(other is None or found in other.able for other in others)
    again = one.towards({KIND: found}).arrived
    assert chosen(KIND, again, others) == found, "and stays so as long as nobody says otherwise"


def test_only_kinds_that_go_over_are_concerned() -> None:
    assert GOING.concerns(PATH)
    assert going().goes_over(PATH)
    assert not GOING.concerns(PATH_OF_KIND[ResourceKind.TENANT])
    assert not NEWEST.concerns(PATH)
    assert FORMERLY.towards({KIND: "namespace/1"}).former == {}


# -- digests made anew


def test_a_value_that_stands_where_it_stood_is_no_change() -> None:
    standing = version(former(BY_NAME))
    outcome = going().observe(register(standing, standing), entry(BY_NAME), moment())
    found = outcome.register
    assert (found.stored_digest, found.known and found.known.digest) == (newest(BY_NAME),) * 2
    assert outcome.acts == (FillConflict(path=PATH, digest=former(BY_NAME), value=BY_NAME),)
    assert not found.due


def test_the_same_value_written_again_is_no_change() -> None:
    standing = version(former(BY_NAME))
    outcome = going().observe(register(standing, standing), entry(BY_NAME, Revision("8")), moment())
    assert not outcome.register.due
    assert none_of(outcome, Publish)
    outcome = going().observe(register(standing, standing), entry(WITHOUT, Revision("8")), moment())
    assert outcome.register.stored_digest == newest(WITHOUT) == newest(BY_NAME)


def test_what_kept_fields_complete_is_no_change() -> None:
    standing = version(former(OTHER))
    raw = json.dumps({"message_ttl_in_seconds": 61}).encode()
    kept = KeptFields(gone={DEFAULT: True})
    outcome = going(brokers=Brokers()).observe(register(standing, standing, kept=kept), entry(raw), moment())
    assert outcome.register.stored_digest == newest(OTHER)
    assert not outcome.register.due


def test_what_cannot_be_read_keeps_its_digest() -> None:
    standing = version(former(BY_NAME))
    outcome = going().observe(register(standing, standing), entry(b"no JSON", Revision("8")), moment())
    assert outcome.register.stored_digest == former(BY_NAME)
    assert outcome.register.hold is not None


def event(value: bytes, time: int = NOW) -> MetadataChangeEvent:
    return MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=KIND,
        resource_name="acme/orders",
        path=PATH,
        value=value,
        stamp=at(time),
        by=BY_HERE,
        seen={BY_HERE: Millis(time)},
        sender="db",
        sequence=1,
    )


def test_an_event_that_comes_again_is_the_same_version() -> None:
    standing = version(former(BY_NAME))
    outcome = going().fold(register(standing, standing), event(BY_NAME), NOW)
    assert outcome.register.known is not None
    assert outcome.register.known.digest == newest(BY_NAME)
    assert outcome.acts == (FillConflict(path=PATH, digest=former(BY_NAME), value=BY_NAME),)


def test_wherever_a_digest_stands_it_is_made_anew() -> None:
    due, stands = version(former(OTHER), OTHER, NOW + 5), version(former(BY_NAME))
    intent = Intent(batch="b", version=replace(due, value=None), expected=REVISION)
    shown = Shown(known=due.stamp, stored=stands.stamp, digest=former(BY_NAME))
    before = register(due, stands, intent=intent, shown=shown, left=former(OTHER))
    found, acts = made_anew(GOING, before, (BY_NAME,))
    assert found.known is not None
    assert found.intent is not None
    assert found.shown is not None
    assert (found.known.digest, found.intent.version.digest, found.left) == (newest(OTHER),) * 3
    assert (found.stored_digest, found.shown.digest) == (newest(BY_NAME),) * 2
    assert acts == (FillConflict(path=PATH, digest=former(BY_NAME), value=BY_NAME),)
    assert made_anew(GOING, found, (BY_NAME,)) == (found, ()), "it is done once"
    assert made_anew(NEWEST, before, (BY_NAME,)) == (found, acts), "what was left over is found later, too"
    tenant = Register(path=PATH_OF_KIND[ResourceKind.TENANT])
    assert made_anew(NEWEST, tenant, (BY_NAME,)) == (tenant, ())


def test_what_is_at_hand_decides_what_is_made_anew() -> None:
    before = register(version(former(OTHER)), version(former(BY_NAME)))
    unreadable = BY_NAME[:-1]
    assert made_anew(GOING, before, (None, b"no JSON", unreadable, WITHOUT)) == (before, ())
    assert made_anew(GOING, Register(path=PATH), (OTHER,)) == (Register(path=PATH), ())


@given(value=st.sampled_from([WITHOUT, BY_NAME, OTHER]), stood=st.sampled_from([WITHOUT, BY_NAME, OTHER]))
def test_a_read_is_a_change_where_the_former_one_tells_the_values_apart(value: bytes, stood: bytes) -> None:
    """What stood there is at hand no more: whether the next one tells it apart from this, nobody can say."""
    standing = version(former(stood))
    outcome = going().observe(register(standing, standing), entry(value, Revision("8")), moment())
    assert outcome.register.stored_digest == newest(value)
    assert none_of(outcome, Publish) is (former(stood) in {former(value), newest(value)})


def test_a_value_that_could_not_be_read_meanwhile_is_no_change_afterwards() -> None:
    """Nothing is left to go over when it can be read again."""
    arrived = Replica(Settings(region=HERE, projections=NEWEST))
    standing = version(former(BY_NAME))
    unread = arrived.observe(register(standing, standing), entry(b"no JSON", Revision("8")), moment()).register
    outcome = arrived.observe(unread, entry(BY_NAME, Revision("9")), moment())
    assert none_of(outcome, Publish)
    assert outcome.acts == (FillConflict(path=PATH, digest=former(BY_NAME), value=BY_NAME),)
    assert (outcome.register.stored_digest, outcome.register.hold) == (newest(BY_NAME), None)
    changed = arrived.observe(unread, entry(OTHER, Revision("9")), moment())
    assert not none_of(changed, Publish)


def test_what_the_former_one_tells_apart_is_a_change_as_long_as_it_is_in_use() -> None:
    """The newer one forgives the default by name: by that the value would pass for the one that stood there."""
    before = Replica(Settings(region=HERE, projections=FORMERLY))
    standing = version(former(WITHOUT))
    outcome = before.observe(register(standing, standing), entry(BY_NAME, Revision("8")), moment())
    assert not none_of(outcome, Publish)


def test_a_listed_version_of_the_other_projection_is_the_same_version() -> None:
    arrived = Replica(Settings(region=HERE, projections=NEWEST))
    outcome = arrived.fold(register(version(former(BY_NAME))), event(BY_NAME), NOW)
    assert outcome.register.known is not None
    assert outcome.register.known.digest == newest(BY_NAME)
    assert none_of(outcome, RecordConflict)


def test_an_older_version_is_folded_as_ever() -> None:
    standing = version(former(BY_NAME))
    older = replace(event(WITHOUT), stamp=at(-9, THERE))
    outcome = going().fold(register(standing, standing), older, NOW)
    assert outcome.register.known is not None
    assert outcome.register.known.stamp == standing.stamp
