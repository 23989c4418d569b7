"""Policies of offloading: they stay in their store, whatever comes from elsewhere, and leave it in no form."""

from __future__ import annotations

import json
from dataclasses import replace as replace_of
from typing import Any, Final

import pytest

from syncer.conflict.acts import Act, FillConflict, Publish, Quarantine, RecordConflict
from syncer.conflict.changeover import NEWEST, ProjectionsInUse, made_anew
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import FORMER, OWN_ALONE, PROJECTIONS, WITHHELD, parse
from syncer.conflict.register import Register, Stored, Wish
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.conflict.withholding import carried_entry, carried_value, group_value
from syncer.errors import ValueInvalid
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, ResourceKind, Revision, Version, counter_of
from syncer.plan.diffing import operation
from syncer.plan.operations import Operation, Standing
from syncer.replacing import replace
from syncer.stores.contract import Delete, Entry, Put
from tests.property.strategies import NOW, PATH_OF_KIND
from tests.unit.conflict.test_apply import facts
from tests.unit.registers import BY_HERE, HERE, THERE, at, moment, none_of

NAMESPACE: Final = PATH_OF_KIND[ResourceKind.NAMESPACE]
TOPIC: Final = MetaPath("/admin/topic-policies/global/acme/orders/persistent/t")
SECRET: Final = "Geheimnis"
OWN: Final = {"managedLedgerOffloadBucket": "east", "s3ManagedLedgerOffloadCredentialSecret": SECRET}
FIELD: Final = {NAMESPACE: "offload_policies", TOPIC: "offloadPolicies"}
BY_THERE: Final = counter_of(THERE, 1)
FORMERLY: Final = ProjectionsInUse({**PROJECTIONS, **FORMER})
BOTH: Final = pytest.mark.parametrize("path", [NAMESPACE, TOPIC])


def shared(path: MetaPath, number: int) -> dict[str, Any]:
    """What the group has at a path."""
    if path == TOPIC:
        return {"messageTTLInSeconds": number, "isGlobal": True}
    return {"message_ttl_in_seconds": number}


def encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


def here(path: MetaPath, number: int = 1, own: Any = OWN) -> bytes:
    return encoded({**shared(path, number), FIELD[path]: own})


def entry(path: MetaPath, value: bytes, revision: str = "7") -> Entry:
    return Entry(path=path, value=value, revision=Revision(revision), modified_at_ms=Millis(NOW))


def kind_of(path: MetaPath) -> ResourceKind:
    return ResourceKind.NAMESPACE if path == NAMESPACE else ResourceKind.TOPIC_POLICY


def version(path: MetaPath, value: bytes | None, time: int = NOW, **more: Any) -> Version:
    digest = None if value is None else PROJECTIONS[kind_of(path)].digest(value)
    made: dict[str, Any] = {"stamp": at(time - NOW), "by": BY_HERE, "seen": {BY_HERE: Millis(time)}, "digest": digest}
    return Version(**{**made, "value": value, **more})


def standing(path: MetaPath, value: bytes, time: int = NOW) -> Register:
    known = replace(version(path, value, time), value=None)
    stored = Stored(stamp=known.stamp, by=known.by, seen=known.seen, digest=known.digest, revision=Revision("7"))
    return Register(path=path, known=known, stored=stored, own=Millis(time))


def told(path: MetaPath, value: bytes | None, time: int = NOW + 5) -> MetadataChangeEvent:
    return MetadataChangeEvent(
        type=EventType.DELETED if value is None else EventType.MODIFIED,
        resource=kind_of(path),
        resource_name="acme/orders",
        path=path,
        value=value,
        stamp=at(time - NOW, THERE),
        by=BY_THERE,
        seen={BY_THERE: Millis(time), BY_HERE: Millis(NOW)},
    )


def clean(*acts: Act) -> None:
    """Nothing that is stored or sent has a secret."""
    for act in acts:
        match act:
            case Publish(event=event):
                assert SECRET.encode() not in (event.value or b"")
            case RecordConflict(value=value) | Quarantine(value=value) | FillConflict(value=value):
                assert SECRET.encode() not in (value or b"")
            case _:
                assert SECRET not in repr(act)


REPLICA: Final = Replica(Settings(region=HERE, brokers=Brokers()))


@BOTH
def test_a_change_of_it_alone_is_no_change(path: MetaPath) -> None:
    outcome = REPLICA.observe(standing(path, here(path)), entry(path, here(path, own={"a": SECRET}), "8"), moment())
    assert none_of(outcome, Publish)
    assert not outcome.register.due


@BOTH
def test_a_change_is_published_without_it(path: MetaPath) -> None:
    outcome = REPLICA.observe(standing(path, here(path)), entry(path, here(path, 2), "8"), moment())
    clean(*outcome.acts)
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert parse(event.value or b"") == shared(path, 2)
    assert outcome.register.kept is None


@BOTH
def test_a_remote_value_leaves_it_as_it_is(path: MetaPath) -> None:
    theirs = encoded({**shared(path, 3), FIELD[path]: {"managedLedgerOffloadBucket": "west", "x": SECRET}})
    folded = REPLICA.fold(standing(path, here(path)), told(path, theirs), Millis(NOW + 9)).register
    assert folded.known is not None
    assert SECRET.encode() not in (folded.known.value or b"")
    outcome = REPLICA.apply_due(folded, entry(path, here(path)), facts(), "b")
    assert isinstance(outcome.write, Put)
    assert parse(outcome.write.value) == {**shared(path, 3), FIELD[path]: OWN}
    clean(*outcome.acts)
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept is None, "what brokers may drop of it is no matter of the group"


def test_a_new_namespace_is_made_without_it() -> None:
    folded = REPLICA.fold(Register(path=NAMESPACE), told(NAMESPACE, here(NAMESPACE)), Millis(NOW + 9)).register
    outcome = REPLICA.apply_due(folded, None, facts(), "b")
    assert isinstance(outcome.write, Put)
    assert FIELD[NAMESPACE] not in parse(outcome.write.value)


@pytest.mark.parametrize("torn", [here(NAMESPACE)[:-9], here(NAMESPACE)[24:]])
def test_what_cannot_be_read_is_withheld_whole(torn: bytes) -> None:
    outcome = REPLICA.observe(standing(NAMESPACE, here(NAMESPACE)), entry(NAMESPACE, torn, "8"), moment())
    clean(*outcome.acts)
    assert any(isinstance(act, Quarantine) and act.value == WITHHELD for act in outcome.acts)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-be"])
def test_what_brokers_read_in_another_encoding_leaves_without_it(encoding: str) -> None:
    value = here(NAMESPACE).decode().encode(encoding)
    assert carried_value(NAMESPACE, value) == carried_value(NAMESPACE, here(NAMESPACE))
    assert carried_value(NAMESPACE, here(NAMESPACE) + here(NAMESPACE)) == carried_value(NAMESPACE, here(NAMESPACE))


def test_an_escaped_name_and_a_second_one_are_found() -> None:
    escaped = b'{"tag":1,"offload\\u005fpolicies":{"x":"Geheimnis"}}'
    twice = b'{"tag":1,"offload_policies":{"x":"Geheimnis"},"offload_policies":null}'
    for value in (escaped, twice):
        assert parse(carried_value(NAMESPACE, value)) == {"tag": 1}
    assert carried_value(NAMESPACE, escaped[:-4]) == WITHHELD
    plain = b'{"tag":"\\u00e9"}'
    assert carried_value(NAMESPACE, plain) is plain
    assert carried_value(NAMESPACE, b'{"tag":"\\u00e9') == b'{"tag":"\\u00e9'
    inner = MetaPath("/admin/policies")
    assert carried_value(inner, escaped) is escaped
    assert carried_entry(inner, (read := entry(inner, b"x")), NEWEST) is read
    assert carried_entry(inner, None) is None


# -- topic policies that have nothing else

ALONE: Final = encoded({"isGlobal": True, "backLogQuotaMap": {}, "offloadPolicies": OWN})


def test_topic_policies_with_nothing_else_are_none_of_the_group() -> None:
    outcome = REPLICA.observe(Register(path=TOPIC), entry(TOPIC, ALONE), moment())
    assert outcome.register == Register(path=TOPIC)
    assert none_of(outcome, Publish)
    folded = REPLICA.fold(outcome.register, told(TOPIC, encoded(shared(TOPIC, 3))), Millis(NOW + 9)).register
    written = REPLICA.apply_due(folded, entry(TOPIC, ALONE), facts(), "b").write
    assert isinstance(written, Put)
    assert parse(written.value) == {**shared(TOPIC, 3), "offloadPolicies": OWN}
    assert written.expected == Revision("7")
    projection = PROJECTIONS[ResourceKind.TOPIC_POLICY]
    assert not projection.own_alone(here(TOPIC))
    assert not projection.own_alone(here(TOPIC)[:-1])
    assert not projection.own_alone(b'{"isGlobal":true,"x":"redential"}')
    assert not PROJECTIONS[ResourceKind.NAMESPACE].own_alone(encoded({"offload_policies": OWN}))


def test_the_removal_of_all_others_is_a_delete() -> None:
    outcome = REPLICA.observe(standing(TOPIC, here(TOPIC)), entry(TOPIC, ALONE, "8"), moment())
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert (event.type, event.value) == (EventType.DELETED, None)
    clean(*outcome.acts)


def test_a_remote_delete_leaves_them() -> None:
    folded = REPLICA.fold(standing(TOPIC, here(TOPIC)), told(TOPIC, None), Millis(NOW + 9)).register
    outcome = REPLICA.apply_due(folded, entry(TOPIC, here(TOPIC)), facts(), "b")
    assert isinstance(outcome.write, Put)
    assert parse(outcome.write.value) == {"isGlobal": True, "offloadPolicies": OWN}
    left = REPLICA.written(outcome.register, None, Millis(NOW + 10)).register
    assert not left.due
    again = REPLICA.observe(left, entry(TOPIC, outcome.write.value, "8"), moment())
    assert none_of(again, Publish)
    assert not again.register.due
    bare = encoded(shared(TOPIC, 1))
    gone = REPLICA.apply_due(folded, entry(TOPIC, bare), facts(), "b").write
    assert isinstance(gone, Delete)


def test_a_region_that_has_nothing_else_wins_with_a_delete() -> None:
    known = replace(version(TOPIC, None, NOW), value=None)
    wished = Register(path=TOPIC, known=known, own=Millis(NOW), wish=Wish.REVIVE)
    outcome = REPLICA.apply_due(wished, entry(TOPIC, ALONE), facts(), "b")
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert event.type is EventType.DELETED


# -- plans


@BOTH
def test_a_plan_has_none_and_what_it_writes_keeps_it(path: MetaPath) -> None:
    made = operation(path, here(path), encoded({**shared(path, 2), FIELD[path]: {"x": SECRET}}))
    assert made is not None
    assert SECRET.encode() not in (made.before or b"") + (made.after or b"")
    assert made.standing(here(path, own={"another": SECRET})) is Standing.READY
    assert parse(made.written(here(path)) or b"") == {**shared(path, 2), FIELD[path]: OWN}
    assert parse(made.written(None) or b"") == shared(path, 2)
    assert parse(made.written(here(path)[:-1]) or b"") == shared(path, 2)
    assert operation(path, here(path), encoded(shared(path, 1))) is None


def test_a_plan_for_topic_policies_with_nothing_else() -> None:
    assert group_value(TOPIC, None) is None
    assert operation(TOPIC, ALONE, None) is None
    made = Operation(path=TOPIC, before=encoded(shared(TOPIC, 1)), after=None)
    assert parse(made.written(here(TOPIC)) or b"") == {"isGlobal": True, "offloadPolicies": OWN}
    assert made.written(encoded(shared(TOPIC, 1))) is None
    assert made.written(None) is None
    assert made.standing(ALONE) is Standing.ALREADY
    with pytest.raises(ValueInvalid, match="may hold a secret"):
        Operation(path=TOPIC, before=None, after=WITHHELD).written(None)
    assert OWN_ALONE not in (ALONE, WITHHELD)


# -- beside an older daemon


@BOTH
def test_beside_an_older_daemon_it_is_the_groups(path: MetaPath) -> None:
    older = Replica(Settings(region=HERE, projections=FORMERLY))
    outcome = older.observe(Register(path=path), entry(path, here(path)), moment())
    (event,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
    assert parse(event.value or b"") == {**shared(path, 1), FIELD[path]: OWN}


@BOTH
def test_once_all_are_new_it_is_each_region_s_own_and_that_is_no_change(path: MetaPath) -> None:
    value, projection = here(path), FORMER[kind_of(path)]
    known = version(path, value, digest=projection.digest(value))
    stored = Stored(stamp=known.stamp, by=known.by, seen=known.seen, digest=known.digest, revision=Revision("7"))
    going = Replica(Settings(region=HERE, projections=FORMERLY.towards({kind_of(path): PROJECTIONS[kind_of(path)].id})))
    register = Register(path=path, known=known, stored=stored, own=Millis(NOW))
    outcome = going.observe(register, entry(path, value, "8"), moment())
    assert none_of(outcome, Publish)
    clean(*outcome.acts)
    assert outcome.register.known is not None
    assert outcome.register.stored_digest == outcome.register.known.digest == PROJECTIONS[kind_of(path)].digest(value)
    settled = replace(register, known=replace(known, value=None))
    for revision in ("7", "8"):
        found = going.observe(settled, entry(path, value, revision), moment())
        assert none_of(found, Publish)
        clean(*found.acts)
        assert found.register.stored_digest == PROJECTIONS[kind_of(path)].digest(value)
    later = REPLICA.observe(settled, entry(path, value, "8"), moment())
    assert none_of(later, Publish), "what was left over is found later"
    due = replace(register, stored=None)
    made, _ = made_anew(NEWEST, due, ())
    assert made.known is not None
    assert parse(made.known.value or b"") == shared(path, 1)
    told_whole = replace_of(told(path, value), stamp=known.stamp, by=known.by, seen=known.seen)
    folded = going.fold(replace(register, known=replace(known, value=None)), told_whole, Millis(NOW + 9))
    assert folded.register.known is not None
    assert folded.register.known.digest == PROJECTIONS[kind_of(path)].digest(value)
    assert none_of(folded, RecordConflict)


def test_what_was_kept_of_it_completes_nothing_any_more() -> None:
    kept = KeptFields(gone={FIELD[NAMESPACE]: {"newer": SECRET}})
    register = replace(standing(NAMESPACE, here(NAMESPACE)), kept=kept)
    outcome = REPLICA.observe(register, entry(NAMESPACE, here(NAMESPACE, 2), "8"), moment())
    clean(*outcome.acts)
    assert outcome.register.kept is None
    assert SECRET not in repr(outcome.register)


def test_an_exclusion_of_it_is_taken_and_serves_beside_older_daemons_alone() -> None:
    rules = Exclusions([Exclusion("/admin/policies/acme/*", (FIELD[NAMESPACE],))])
    beside = Replica(Settings(region=HERE, projections=FORMERLY, excluded=rules.at))
    outcome = beside.observe(Register(path=NAMESPACE), entry(NAMESPACE, here(NAMESPACE)), moment())
    clean(*outcome.acts)
    later = Replica(Settings(region=HERE, excluded=rules.at))
    found = later.observe(standing(NAMESPACE, here(NAMESPACE)), entry(NAMESPACE, here(NAMESPACE, 2), "8"), moment())
    assert found.register.kept is None
    clean(*found.acts)
