"""Documents of ownership: the owner, or nobody, or unknown."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.decoding.conflicts import UnitRecord, UnitState
from syncer.balancer.decoding.fields import DocumentFields, FlawNotes
from syncer.balancer.decoding.ownership import broker_of, take_owned, take_ownership_node, take_unit, unit_record
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import LoadFindingKind, Ownership, Tenure
from tests.support.load_documents import FIRST, NOW_MS, STORE, owner, unit


def node(document: dict[str, Any]) -> PictureParts:
    parts = PictureParts()
    take_ownership_node(FIRST, DocumentFields("there", document, parts.notes), STORE, parts)
    return parts


def test_a_node_names_its_owner_by_an_address() -> None:
    assert node(owner()).bundles.owners[FIRST].value == Ownership(Tenure.OWNED, "http://b1:8080")
    assert node({"nativeUrlTls": "pulsar+ssl://b1:6651"}).bundles.owners[FIRST].value.broker == "pulsar+ssl://b1:6651"


@pytest.mark.parametrize("document", [{}, {"httpUrl": 7}, {"httpUrl": ""}])
def test_a_node_without_an_address_names_nobody(document: dict[str, Any]) -> None:
    parts = node(document)
    assert parts.bundles.owners == {}
    assert parts.notes.findings[-1].kind is LoadFindingKind.TORN


def test_an_address_is_that_of_the_broker_that_registered_it() -> None:
    known = {"http://10.0.0.1:8080": "b1:8080"}
    assert broker_of("http://10.0.0.1:8080/", known) == "b1:8080"
    assert broker_of("http://b2:8080", known) == "b2:8080"
    assert broker_of("b3:8080", known) == "b3:8080"
    assert broker_of("http://[", known) == "http://["


@pytest.mark.parametrize(
    ("record", "held"),
    [
        (UnitRecord(state=UnitState.OWNED, target="a", source="b"), Ownership(Tenure.OWNED, "a")),
        (UnitRecord(state=UnitState.SPLITTING, source="b"), Ownership(Tenure.SPLITTING, "b")),
        (UnitRecord(state=UnitState.ASSIGNING, target="a", source="b"), Ownership(Tenure.MOVING, "b", "a")),
        (UnitRecord(state=UnitState.RELEASING, target="a", source="b"), Ownership(Tenure.MOVING, "b", "a")),
        (UnitRecord(state=UnitState.FREE), Ownership(Tenure.FREE, None)),
        (UnitRecord(state=UnitState.INIT), Ownership(Tenure.FREE, None)),
        (UnitRecord(state=UnitState.DELETED), None),
        (UnitRecord(state=UnitState.OWNED), None),
        (UnitRecord(state=UnitState.SPLITTING, target="a"), None),
    ],
)
def test_a_state_says_who_serves_a_bundle(record: UnitRecord, held: Ownership | None) -> None:
    parts = PictureParts()
    take_unit(FIRST, record, STORE, parts)
    found = parts.bundles.owners.get(FIRST)
    assert (None if found is None else found.value) == held


def test_a_state_of_what_is_no_bundle_is_torn() -> None:
    parts = PictureParts()
    take_unit("nonsense", UnitRecord(state=UnitState.OWNED, target="a"), STORE, parts)
    assert parts.bundles.owners == {}
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.TORN]


def test_a_state_has_the_time_of_its_author() -> None:
    parts = PictureParts()
    take_unit(FIRST, UnitRecord(state=UnitState.OWNED, target="a", written_ms=77), STORE, parts)
    assert parts.bundles.owners[FIRST].origin.written_ms == 77


def test_a_message_is_read_as_a_record() -> None:
    notes = FlawNotes()
    document = unit("Releasing", 3, sourceBroker="b2:8080", force=True, splitServiceUnitToDestBroker=None)
    assert unit_record(DocumentFields("there", document, notes)) == UnitRecord(
        state=UnitState.RELEASING, target="b1:8080", source="b2:8080", forced=True, version=3, written_ms=NOW_MS
    )
    assert notes.findings == []


@pytest.mark.parametrize("changed", [{"state": "Nonsense"}, {"state": None}, {"versionId": None}, {"versionId": "1"}])
def test_a_message_with_a_flaw_is_none(changed: dict[str, Any]) -> None:
    notes = FlawNotes()
    assert unit_record(DocumentFields("there", {**unit(), **changed}, notes)) is None
    assert [each.kind for each in notes.findings] == [LoadFindingKind.TORN]


def test_a_bundle_that_two_brokers_own_is_said() -> None:
    parts = PictureParts()
    take_owned("b1:8080", {FIRST: {}, "nonsense": {}}, STORE, parts)
    take_owned("b1:8080", {FIRST: {}}, STORE, parts)
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.TORN]
    take_owned("b2:8080", {FIRST: {}}, STORE, parts)
    assert parts.notes.findings[-1].kind is LoadFindingKind.CONTRADICTION
