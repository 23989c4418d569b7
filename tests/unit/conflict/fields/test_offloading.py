"""Every field of policies of offloading, of every version: carried where that is wanted, or kept for a reason."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from syncer.conflict.fields.offloading import CARRIED, FIELDS, STAYS, names_driver, own_part, shared_part
from syncer.conflict.fields.table import VERSIONS, known_fields, parse_version
from syncer.conflict.projection import CARRYING, PROJECTIONS, Projection, parse
from syncer.model import ResourceKind
from tests.property.test_credentials import LOOKS_SECRET

SECRET: Final = "Geheimnis"
DRIVER: Final = {"managedLedgerOffloadDriver": "aws-s3"}
BOTH: Final = pytest.mark.parametrize("kind", FIELDS)


def fields_of(version: str, kind: ResourceKind) -> frozenset[str]:
    below = known_fields(parse_version(version), kind)[FIELDS[kind]]
    assert below is not None
    return frozenset(below)


@BOTH
@pytest.mark.parametrize("version", VERSIONS)
def test_every_field_was_looked_at(version: str, kind: ResourceKind) -> None:
    """Where this fails for a new field: say in one of the two tables whether it is carried, and why."""
    assert fields_of(version, kind) <= CARRIED.keys() | STAYS.keys()


def test_no_entry_is_left_of_a_field_that_no_version_has() -> None:
    known = frozenset().union(*(fields_of(version, kind) for version in VERSIONS for kind in FIELDS))
    assert CARRIED.keys() | STAYS.keys() == known
    assert CARRIED.keys().isdisjoint(STAYS)
    assert all(CARRIED.values())
    assert all(STAYS.values())


def test_no_name_that_looks_like_a_credential_or_a_place_is_carried() -> None:
    for name in CARRIED:
        assert LOOKS_SECRET.search(name) is None
        assert not any(part in name for part in ("Bucket", "Region", "Endpoint", "URI", "Path", "Directory", "Role"))


@BOTH
@pytest.mark.parametrize("name", sorted(CARRIED.keys() | STAYS.keys() | {"aFieldOfANewerVersion"}))
def test_a_text_leaves_in_no_field(name: str, kind: ResourceKind) -> None:
    """Whatever somebody writes there: what is no number stays, also where numbers are carried."""
    projection = CARRYING[kind]
    for node in (SECRET, [SECRET], {"x": SECRET}, {SECRET: 1}):
        value = json.dumps({FIELDS[kind]: {name: node}}).encode()
        assert SECRET.encode() not in projection.carried(value)
        assert SECRET not in json.dumps(projection.project(value))
        assert SECRET.encode() not in projection.overlay(value, None)
        assert parse(projection.overlay(b"{}", value)) == parse(value)


@pytest.mark.parametrize(
    ("name", "value", "carried"),
    [
        ("managedLedgerOffloadThresholdInBytes", 5, True),
        ("managedLedgerOffloadThresholdInBytes", -1, True),
        ("managedLedgerOffloadThresholdInBytes", "07", True),
        ("managedLedgerOffloadThresholdInBytes", "5x", False),
        ("managedLedgerOffloadThresholdInBytes", 1 << 63, False),
        ("managedLedgerOffloadThresholdInBytes", True, False),
        ("managedLedgerOffloadThresholdInBytes", None, False),
        ("managedLedgerOffloadedReadPriority", "TIERED_STORAGE_FIRST", True),
        ("managedLedgerOffloadedReadPriority", "another", False),
        ("managedLedgerOffloadedReadPriority", 5, False),
        ("managedLedgerOffloadDriver", "aws-s3", False),
        ("managedLedgerOffloadDriver", 5, False),
    ],
)
def test_only_what_brokers_can_mean_is_carried(name: str, value: Any, carried: bool) -> None:
    assert shared_part({name: value}) == ({name: value} if carried else {})
    assert own_part({name: value}) == (None if carried else {name: value})


@pytest.mark.parametrize("node", [None, [], "x", 5, {}])
def test_what_has_no_part_is_a_region_s_own(node: Any) -> None:
    assert shared_part(node) == {}
    assert own_part(node) == node


@BOTH
def test_a_field_that_is_there_twice_leaves_as_it_is_read(kind: ResourceKind) -> None:
    name = FIELDS[kind]
    part = '{"managedLedgerOffloadThresholdInBytes":5}'
    value = f'{{"x":1,"{name}":{{"y":"{SECRET}"}},"{name}":{part}}}'.encode()
    assert CARRYING[kind].carried(value) == f'{{"x":1,"{name}":{part}}}'.encode()
    clean = f'{{"x":1,"{name}":{part}}}'.encode()
    assert CARRYING[kind].carried(clean) is clean
    assert PROJECTIONS[kind].carried(clean) == b'{"x":1}'


def planned(projection: Projection, value: Any, target: Any) -> Any:
    found = projection.with_own_withheld(json.dumps(value).encode(), json.dumps(target).encode())
    return None if found is None else parse(found)


def test_what_is_written_by_a_plan_has_the_store_s_own_part() -> None:
    name = FIELDS[ResourceKind.NAMESPACE]
    projection = CARRYING[ResourceKind.NAMESPACE]
    part, own = {"managedLedgerOffloadThresholdInBytes": 5}, {"managedLedgerOffloadBucket": "b"}
    assert planned(projection, {"x": 1, name: part}, {name: own | {"managedLedgerOffloadThresholdInBytes": 6}}) == {
        "x": 1,
        name: own | part,
    }
    assert planned(projection, {"x": 1, name: part}, {name: part}) == {"x": 1, name: part}
    assert planned(projection, {"x": 1, name: part}, {name: "text"}) == {"x": 1, name: part}
    assert planned(projection, {"x": 1}, {name: "text"}) == {"x": 1, name: "text"}


def test_topic_policies_with_a_carried_part_are_a_resource_of_the_group() -> None:
    name, projection = FIELDS[ResourceKind.TOPIC_POLICY], CARRYING[ResourceKind.TOPIC_POLICY]
    part, own = {"managedLedgerOffloadThresholdInBytes": 5}, {"managedLedgerOffloadBucket": "b"}
    assert projection.own_alone(json.dumps({"isGlobal": True, name: own}).encode())
    assert not projection.own_alone(json.dumps({"isGlobal": True, name: own | part}).encode())
    assert projection.left_alone({"isGlobal": True, "x": 1, name: own | part}) == {"isGlobal": True, name: own}
    assert projection.left_alone({"isGlobal": True, "x": 1, name: part}) == {}
    assert projection.left_alone({"isGlobal": True}) == {}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"offload_policies": DRIVER}, True),
        ({"offload_policies": {"managedLedgerOffloadDriver": " "}}, False),
        ({"offload_policies": {"managedLedgerOffloadDriver": None}}, False),
        ({"offload_policies": {"managedLedgerOffloadThresholdInBytes": 5}}, False),
        ({"offload_policies": ["managedLedgerOffloadDriver"]}, False),
        ({"managedLedgerOffloadDriver": "aws-s3"}, False),
        (["managedLedgerOffloadDriver"], False),
    ],
    ids=str,
)
def test_a_namespace_is_offloaded_where_a_driver_is_named(value: Any, names: bool) -> None:
    text = json.dumps(value).encode()
    assert names_driver(text) is names
    assert not names_driver(text[:-1])
