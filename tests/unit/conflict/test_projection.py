"""Values as Pulsar's brokers write them, numbers at the edges, and what is refused."""

from __future__ import annotations

import json

import orjson
import pytest

from syncer.conflict.projection import FORMERS, PROJECTIONS, canonical, json_in, json_of, parse, plain
from syncer.errors import ValueInvalid
from syncer.model import ResourceKind

NAMESPACE, TENANT = PROJECTIONS[ResourceKind.NAMESPACE], PROJECTIONS[ResourceKind.TENANT]
BIG = b'"big":12345678901234567890123'


def test_every_kind_has_a_projection_with_an_id_of_its_own() -> None:
    assert set(PROJECTIONS) == set(ResourceKind)
    assert len({projection.id for projection in PROJECTIONS.values()}) == len(PROJECTIONS)


def test_digests_are_fixed_for_ever() -> None:
    """All regions compare them: whoever changes one must give the projection a new id."""
    value = '{"z":[1,2.5,1e22,-0.0],"allowedClusters":["b","a","b"],"é":"\U0001f600","n":18446744073709551616}'.encode()
    assert canonical(TENANT.project(value)).decode() == (
        '{"allowedClusters":["a","b"],"n":18446744073709551616,"z":[1,2.5,1e+22,-0.0],"é":"\U0001f600"}'
    )
    assert (
        TENANT.digest(b'{"adminRoles":["admin"],"allowedClusters":["a","b"]}').hex()
        == "961f76d473f0152932e4b9d2c4082fd7"
    )


def test_a_namespace_is_born_with_the_authors_split_and_nothing_else_local() -> None:
    author = b'{"bundles":{"numBundles":4},"migrated":true,"deleted":true,"clusterThatCanDeleteNamespace":"a","x":1}'
    assert NAMESPACE.overlay(author, None) == b'{"x":1,"bundles":{"numBundles":4},"deleted":false,"migrated":false}'


def test_a_namespace_keeps_its_own_local_fields() -> None:
    """A broker's GET writes live bundles and the mark of a migration into the stored policies; neither may cross."""
    author = b'{"bundles":{"numBundles":4},"migrated":true,"x":2}'
    target = b'{"x":1,"bundles":{"numBundles":64},"migrated":false,"gone":1}'
    assert NAMESPACE.overlay(author, target) == b'{"x":2,"bundles":{"numBundles":64},"migrated":false}'


def test_json_keeps_the_order_of_fields_and_every_integer() -> None:
    text = b'{"z":[1,null],"a":12345678901234567890123}'
    assert json_of(json_in(text)) == text


def test_what_has_no_secrets_is_carried_as_it_is() -> None:
    for value in (b'{"migrated":true, "x":2}', b"no JSON"):
        assert NAMESPACE.carried(value) is value


def test_a_clusters_migration_never_crosses() -> None:
    cluster = PROJECTIONS[ResourceKind.CLUSTER]
    author = b'{"serviceUrl":"http://h:1","migrated":true,"migratedClusterUrl":{"serviceUrl":"http://g:1"}}'
    assert cluster.overlay(author, None) == b'{"serviceUrl":"http://h:1"}'


def test_a_set_is_sorted_without_what_is_twice_and_left_alone_where_not_all_of_it_is_text() -> None:
    projection = PROJECTIONS[ResourceKind.TENANT]
    for given, sorted_ in (
        (["b", "a"], ["a", "b"]),
        (["b", "a", "b"], ["a", "b"]),
        (["b"], ["b"]),
        ([2, "b", "a"], [2, "b", "a"]),
        ([2, 1], [2, 1]),
    ):
        assert projection.project(orjson.dumps({"adminRoles": given})) == {"adminRoles": sorted_}


@pytest.mark.parametrize(
    "value",
    [
        b'{"auth_policies":7}',
        b'{"auth_policies":{"destination_auth":{"topic":"none","other":{"role":["b","a"]}}}}',
        b'{"auth_policies":{"namespace_auth":{"role":"all","other":[],"third":["b",1]}}}',
        b'{"replication_clusters":null}',
    ],
)
def test_what_is_no_set_where_one_is_due_stays_as_it_is(value: bytes) -> None:
    kept = NAMESPACE.project(value)
    assert kept == orjson.loads(value.replace(b'["b","a"]', b'["a","b"]'))


def test_arrays_that_are_no_sets_keep_their_order() -> None:
    assert TENANT.digest(b'{"other":["a","b"]}') != TENANT.digest(b'{"other":["b","a"]}')
    assert TENANT.digest(b'{"adminRoles":["b","a",1]}') != TENANT.digest(b'{"adminRoles":["a","b",1]}')
    assert NAMESPACE.digest(b'{"auth_policies":["b","a"]}') != NAMESPACE.digest(b'{"auth_policies":["a","b"]}')


def test_integers_are_kept_exactly_wherever_they_stand() -> None:
    for before in range(9):
        for number in (10**18, 2**64, 10**19 + 7, 10**25 + 1):
            assert parse(b'{"n":' + b" " * before + b"%d}" % number) == {"n": number}


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40])
def test_integers_are_kept_exactly(number: int) -> None:
    value = b'{"n":%d}' % number
    assert parse(value) == {"n": number}
    assert canonical(parse(value)) == value
    assert TENANT.digest(value) != TENANT.digest(b'{"n":%d}' % (number + 1))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b'{"a":NaN}x',
        b'{"a":Infinity}',
        b'{"a":1e400}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("exactly", [False, True], ids=["plain", "with-a-big-integer"])
def test_what_is_no_json_object_is_refused_whichever_parser_reads_it(value: bytes, exactly: bool) -> None:
    if exactly:
        value = value.replace(b'{"a"', b"{" + BIG + b',"a"').replace(b"[]", b"[1234567890123456789]")
    with pytest.raises(ValueInvalid, match="JSON"):
        TENANT.digest(value)


@pytest.mark.parametrize(
    "value", [b'{"a":1}x', b'{"a":1}{}', b'\xef\xbb\xbf{"a":1}', b'{"a":1}\xff', '{"a":1}'.encode("utf-16")]
)
def test_what_brokers_read_though_it_is_no_plain_json_leaves_as_plain_json(value: bytes) -> None:
    assert TENANT.digest(value) == TENANT.digest(b'{"a":1}')
    assert plain(value) in {b'{"a":1}', b'{"a":1}{}'}, "one that ends like an object is not looked into"
    assert parse(PROJECTIONS[ResourceKind.NAMESPACE].carried(value)) == {"a": 1}
    assert plain(b"no json") == b"no json"


def test_no_secret_leaves_behind_the_end_of_a_value() -> None:
    value = b'{"a":1}{"offload_policies":{"s3ManagedLedgerOffloadCredentialSecret":"x"}}'
    assert PROJECTIONS[ResourceKind.NAMESPACE].carried(value) == b'{"a":1}'


@pytest.mark.parametrize("value", [b'{"a":NaN,%s}' % BIG, b'{"a":-Infinity,%s}' % BIG, b'{"a":-1e999,%s}' % BIG])
def test_numbers_that_json_does_not_have_are_refused_by_the_exact_parser(value: bytes) -> None:
    with pytest.raises(ValueInvalid):
        parse(value)


def test_a_document_nested_beyond_the_serialisers_is_refused() -> None:
    depth = 100_000
    node: dict[str, object] = {}
    for _ in range(depth):
        node = {"a": node}
    with pytest.raises(ValueInvalid, match="cannot be written"):
        canonical(node)
    while node:  # taken apart from the outside, without recursion
        node = node.pop("a")  # type: ignore[assignment]  # as built above


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"\xff", "no JSON: not UTF-8"),
        (b'{"a":"\xff"}', "no JSON: not UTF-8"),
        (b'{"a":1234567890123456789012,"b":"\xff"}', "no JSON: not UTF-8"),
        (b"[]", "a JSON object is due, found an array"),
        (b'"x"', "a JSON object is due, found a text"),
        (b"1", "a JSON object is due, found a number"),
        (b"1.5", "a JSON object is due, found a number"),
        (b"true", "a JSON object is due, found a truth value"),
        (b"null", "a JSON object is due, found null"),
        (b"[" * 50_000 + b"0" * 19 + b"]" * 50_000, "no JSON: nested too deeply"),
    ],
)
def test_a_value_that_is_no_document_is_named_in_words_of_the_format(value: bytes, fault: str) -> None:
    with pytest.raises(ValueInvalid) as caught:
        parse(value)
    assert caught.value.message == fault


def test_a_text_that_no_bytes_can_carry_is_not_utf_8() -> None:
    with pytest.raises(ValueInvalid, match="cannot be written as JSON: not UTF-8"):
        canonical({"a": "\ud800"})


def test_what_brokers_derive_is_neither_compared_nor_written() -> None:
    projection = PROJECTIONS[ResourceKind.TOPIC_POLICY]
    bare = {"messageTTLInSeconds": 60, "isGlobal": True}
    derived = {"messageTTLSet": True, "globalPolicies": True, "replicationClustersSet": ["east"]}
    written, other = json.dumps({**bare, **derived}).encode(), json.dumps({**derived, "messageTTLSet": False}).encode()
    assert projection.digest(written) == projection.digest(json.dumps(bare).encode())
    assert json.loads(projection.overlay(written, None)) == bare
    assert json.loads(projection.overlay(written, other)) == bare
    assert FORMERS[ResourceKind.TOPIC_POLICY][-1].project(written) == {**bare, **derived}


def test_a_default_by_name_is_as_good_as_none_and_stays_where_it_is() -> None:
    projection, name = PROJECTIONS[ResourceKind.NAMESPACE], "is_allow_auto_update_schema_with_replicator"
    bare, by_name = json.dumps({"message_ttl_in_seconds": 60}).encode(), json.dumps({name: True}).encode()
    assert projection.project(by_name) == {}
    assert json.loads(projection.overlay(bare, by_name)) == {"message_ttl_in_seconds": 60, name: True}
    assert json.loads(projection.overlay(bare, json.dumps({name: False}).encode())) == {"message_ttl_in_seconds": 60}
    assert projection.project(json.dumps({name: 1}).encode()) == {name: 1}, "one is not true"
