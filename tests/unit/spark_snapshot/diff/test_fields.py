"""Which fields differ: exact places, the replicated part apart from the local one."""

from __future__ import annotations

import json
from typing import Any

from spark_snapshot.diff.fields import FieldDifference, differences
from syncer.model import ResourceKind


def doc(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_a_place_is_a_pointer_and_the_values_are_json() -> None:
    found = differences(
        ResourceKind.NAMESPACE,
        {
            "east": doc(auth_policies={"destination_auth": {"persistent://a/b~1": {"role": ["consume"]}}}, ttl=60),
            "west": doc(auth_policies={"destination_auth": {"persistent://a/b~1": {"role": ["produce"]}}}, ttl=60),
        },
    )
    assert found.replicated == (
        FieldDifference(
            pointer="/auth_policies/destination_auth/persistent:~1~1a~1b~01/role",
            values={"east": '["consume"]', "west": '["produce"]'},
        ),
    )
    assert found.local == ()


def test_local_fields_stand_apart() -> None:
    found = differences(
        ResourceKind.NAMESPACE,
        {"east": doc(bundles={"numBundles": 4}, ttl=1), "west": doc(bundles={"numBundles": 8}, ttl=2)},
    )
    assert [each.pointer for each in found.replicated] == ["/ttl"]
    assert [each.pointer for each in found.local] == ["/bundles/numBundles"]


def test_the_order_of_a_set_is_no_difference_and_that_of_a_list_is() -> None:
    found = differences(
        ResourceKind.NAMESPACE,
        {
            "east": doc(replication_clusters=["a", "b"], entry_filters=["x", "y"]),
            "west": doc(replication_clusters=["b", "a"], entry_filters=["y", "x"]),
        },
    )
    assert [each.pointer for each in found.replicated] == ["/entry_filters"]


def test_an_absent_field_is_not_null() -> None:
    found = differences(ResourceKind.TENANT, {"east": doc(a=None), "north": doc(), "west": doc(a=None)})
    assert found.replicated == (FieldDifference(pointer="/a", values={"east": "null", "north": None, "west": "null"}),)


def test_a_document_against_a_number_differs_as_a_whole() -> None:
    found = differences(ResourceKind.TENANT, {"east": doc(a={"b": 1}), "west": doc(a=1)})
    assert found.replicated == (FieldDifference(pointer="/a", values={"east": '{"b": 1}', "west": "1"}),)


def test_integers_beyond_64_bits_are_exact() -> None:
    found = differences(
        ResourceKind.TENANT, {"east": b'{"a": 123456789012345678901}', "west": b'{"a": 123456789012345678902}'}
    )
    assert found.replicated[0].values == {"east": "123456789012345678901", "west": "123456789012345678902"}


def test_what_cannot_be_read_is_named_and_takes_no_part() -> None:
    found = differences(ResourceKind.TENANT, {"east": b"\xff", "north": doc(a=1), "west": doc(a=1)})
    assert found.unreadable == ("east",)
    assert found.replicated == found.local == ()


def test_one_value_differs_from_nothing() -> None:
    assert differences(ResourceKind.TENANT, {"east": doc(a=1)}).replicated == ()
