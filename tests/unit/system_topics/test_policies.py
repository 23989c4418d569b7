"""Keys and documents of a topic of policies: which path and which value they stand for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncer.errors import ValueInvalid, ValueRefused
from syncer.model import MetaPath
from syncer.paths import classify
from syncer.system_topics.log import GONE
from syncer.system_topics.policies import document_of, event_of, key_of, namespace_of, path_of, topic_of

BASE = "/admin/topic-policies/global"
PATH = MetaPath(f"{BASE}/acme/orders/persistent/in+one%2Ftwo")
KEY = "__G__persistent://acme/orders/in one/two"


def event(policies: Any, **further: Any) -> dict[str, Any]:
    return {"eventType": "TOPIC_POLICY", "actionType": "UPDATE", "topicPoliciesEvent": {"policies": policies}} | further


def test_a_key_and_its_path_name_one_another() -> None:
    assert (key_of(PATH), path_of(KEY), topic_of(PATH)) == (KEY, PATH, KEY.removeprefix("__G__"))
    assert namespace_of(PATH) == "acme/orders"
    assert key_of(MetaPath("/admin/flags")) == ""


@pytest.mark.parametrize(
    "key",
    [
        "persistent://acme/orders/a",
        "__G__topic://acme/orders/a",
        "__G__persistent://acme/orders",
        "__G__persistent://acme//a",
        "__G__persistent://ac\0me/orders/a",
        "__G__persistent://acme/orders/" + "a" * 40_000,
    ],
)
def test_other_keys_stand_for_no_path(key: str) -> None:
    assert path_of(key) is None


@pytest.mark.parametrize(
    "path",
    [
        f"{BASE}/persistent/acme/orders/a",
        f"{BASE}/acme/orders/persistent",
        "/admin/policies/acme/orders/persistent/a/b",
    ],
)
def test_other_paths_are_kept_in_no_topic(path: str) -> None:
    assert namespace_of(path) is None


def test_a_document_is_what_brokers_keep_in_the_store() -> None:
    policies = {
        "messageTTLInSeconds": 5,
        "retentionPolicies": None,
        "backLogQuotaMap": {
            "destination_storage": {"limit": 0, "limitSize": 7, "limitTime": -1},
            "message_age": {"limit": 3},
        },
        "subscriptionPolicies": {"s": {"dispatchRate": None}},
        "replicationClusters": ["a", None],
        "isGlobal": True,
    }
    value = document_of(event(policies))
    assert isinstance(value, bytes)
    assert json.loads(value) == {
        "messageTTLInSeconds": 5,
        "backLogQuotaMap": {
            "destination_storage": {"limit": 7, "limitSize": 7, "limitTime": -1},
            "message_age": {"limit": 3, "limitSize": 3},
        },
        "subscriptionPolicies": {"s": {}},
        "replicationClusters": ["a", None],
        "isGlobal": True,
    }


@pytest.mark.parametrize(
    "empty", [{}, {"isGlobal": True, "backLogQuotaMap": {}, "subscriptionTypesEnabled": [], "publishRate": None}]
)
def test_nothing_stands_where_the_last_policy_was_removed(empty: dict[str, Any]) -> None:
    assert document_of(event(empty)) is None


def test_a_broker_that_deletes_a_topic_removes_no_policy() -> None:
    assert document_of(event(None)) == GONE
    assert document_of(event({"messageTTLInSeconds": 1}, actionType="DELETE")) == GONE
    assert document_of(event({}, actionType="DELETE")) == GONE


@pytest.mark.parametrize("some", [{"deduplicationEnabled": False}, {"messageTTLInSeconds": 0}])
def test_a_policy_that_says_no_is_a_policy(some: dict[str, Any]) -> None:
    assert isinstance(document_of(event(some)), bytes)


@pytest.mark.parametrize(
    "other",
    [event({}, eventType="TRANSACTION_BUFFER_SNAPSHOT"), event({}, topicPoliciesEvent=None), {}, [], "text", 7, None],
)
def test_what_is_no_change_of_policies_is_told_apart(other: object) -> None:
    with pytest.raises(ValueInvalid, match="not a change of topic policies"):
        document_of(other)


def test_policies_of_another_form_are_none() -> None:
    with pytest.raises(ValueInvalid, match="no record"):
        document_of(event("text"))
    assert document_of(event({"backLogQuotaMap": "text"})) == b'{"backLogQuotaMap":"text","isGlobal":true}'
    assert document_of(event({"backLogQuotaMap": {"any": 7}})) == b'{"backLogQuotaMap":{"any":7},"isGlobal":true}'


def test_a_value_goes_out_without_what_brokers_derive() -> None:
    document = {
        "messageTTLInSeconds": 5,
        "messageTTLSet": True,
        "globalPolicies": True,
        "backLogQuotaMap": {
            "destination_storage": {"limitSize": 7, "limitTime": 1},
            "odd": 3,
            "bare": {"limitTime": 2},
        },
    }
    made = event_of(PATH, json.dumps(document).encode())
    assert made["topicPoliciesEvent"] == {
        "domain": "persistent",
        "tenant": "acme",
        "namespace": "orders",
        "topic": "in one/two",
        "policies": {
            "messageTTLInSeconds": 5,
            "isGlobal": True,
            "backLogQuotaMap": {
                "destination_storage": {"limit": 7, "limitSize": 7, "limitTime": 1},
                "odd": 3,
                "bare": {"limitTime": 2},
            },
        },
    }
    assert document_of(event_of(PATH, None)) is None


@pytest.mark.parametrize("value", [b"{", b"[]"])
def test_what_is_no_document_is_refused(value: bytes) -> None:
    with pytest.raises(ValueRefused, match="no JSON"):
        event_of(PATH, value)


def test_quotas_of_another_form_go_out_as_they_are() -> None:
    made = event_of(PATH, b'{"backLogQuotaMap":[{"limit":1}]}')
    assert made["topicPoliciesEvent"]["policies"]["backLogQuotaMap"] == [{"limit": 1}]


@pytest.mark.parametrize("topic", ["orders", "o_r-1", "a.b", "a b", "ü", "a/b", "~", "x" * 201])
def test_a_path_and_its_key_say_the_same_whatever_letters_they_have(topic: str) -> None:
    key = f"__G__persistent://acme/shop/{topic}"
    path = path_of(key)
    assert path is not None
    assert key_of(path) == key
    assert path.startswith("/admin/topic-policies/global/acme/shop/persistent/")
    assert classify(path) is not None
