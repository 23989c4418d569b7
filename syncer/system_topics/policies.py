"""Keys and documents of a namespace's topic of policies, and the paths and values that stand for them.

The document is the JSON that brokers keep in the metadata store where they use that service: the same names, null left
out. What they work out of other fields is left out, too.

Source: ``SystemTopicBasedTopicPoliciesService``, ``TopicPolicies``, ``BacklogQuotaImpl`` of Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_plus

import orjson

from syncer.conflict.fields.table import derived_fields
from syncer.errors import ValueInvalid, ValueRefused
from syncer.model import MetaPath, ResourceKind
from syncer.paths import DOMAINS, GLOBAL_TOPIC_POLICIES, classify, topic_name
from syncer.system_topics.log import GONE, TopicGone

SYSTEM_TOPIC: Final = "__change_events"
GLOBAL: Final = "__G__"
_DERIVED: Final = derived_fields(ResourceKind.TOPIC_POLICY)
_POLICY: Final = "TOPIC_POLICY"
_SEGMENTS: Final = 8
"""Of a path, the empty one before its first slash included."""
_PLAIN_NAME: Final = r"([\w-][\w.-]{0,199})"
_PLAIN_KEY: Final = re.compile(
    rf"{GLOBAL}({'|'.join(sorted(DOMAINS))})://{_PLAIN_NAME}/{_PLAIN_NAME}/{_PLAIN_NAME}", re.ASCII
)
"""A key whose path has its very letters: nearly all are so, and need not be taken apart."""


def namespace_of(path: str) -> str | None:
    """The namespace whose topic keeps what stands at a path, ``T/NS``; ``None``: no topic does."""
    parts = path.split("/")
    if len(parts) != _SEGMENTS or not path.startswith(f"{GLOBAL_TOPIC_POLICIES}/") or parts[6] not in DOMAINS:
        return None
    return f"{parts[4]}/{parts[5]}"


def key_of(path: MetaPath) -> str:
    """The key of the messages that a path stands for; empty: no messages do."""
    if namespace_of(path) is None:
        return ""
    tenant, namespace, domain, topic = path.split("/")[4:]
    return f"{GLOBAL}{domain}://{tenant}/{namespace}/{unquote_plus(topic)}"


def topic_of(path: MetaPath) -> str:
    """Full name of the topic whose policies a path holds."""
    return key_of(path).removeprefix(GLOBAL)


def path_of(key: str) -> MetaPath | None:
    """The path that stands for a key; ``None``: the key is no global one, or what it names cannot be a path."""
    if plain := _PLAIN_KEY.fullmatch(key):
        domain, tenant, namespace, topic = plain.groups()
        return MetaPath(f"{GLOBAL_TOPIC_POLICIES}/{tenant}/{namespace}/{domain}/{topic}")
    if not key.startswith(GLOBAL):
        return None
    domain, _, rest = key.removeprefix(GLOBAL).partition("://")
    parts = rest.split("/", 2)
    if domain not in DOMAINS or len(parts) != 3 or not all(parts):
        return None
    path = MetaPath(f"{GLOBAL_TOPIC_POLICIES}/{parts[0]}/{parts[1]}/{domain}/{topic_name(parts[2])}")
    return path if classify(path) is not None and key_of(path) == key else None


def document_of(event: Any) -> bytes | TopicGone | None:  # noqa: ANN401 - what a schema of somebody's makes of his bytes
    """The value that a decoded message stands for.

    Returns:
        ``None``: the last of the topic's global policies was removed.

    Raises:
        ValueInvalid: The message is no change of topic policies.
    """
    change = event.get("topicPoliciesEvent") if isinstance(event, Mapping) else None
    if not isinstance(change, Mapping) or event.get("eventType") != _POLICY:
        raise ValueInvalid("not a change of topic policies")
    policies = change.get("policies")
    if event.get("actionType") == "DELETE" or policies is None:
        return GONE
    if not isinstance(policies, Mapping):
        raise ValueInvalid("the policies of a topic are no record")
    document = _without_null(policies)
    document.pop("isGlobal", None)
    _settle_limits(document)
    if all(isinstance(each, dict | list) and not each for each in document.values()):
        return None
    return orjson.dumps({**document, "isGlobal": True}, option=orjson.OPT_SORT_KEYS)


def event_of(path: MetaPath, value: bytes | None) -> dict[str, Any]:
    """The message that sets a path's value, as brokers write it; ``None``: that removes the last policy.

    Raises:
        ValueRefused: The value is no JSON object.
    """
    domain, _, rest = topic_of(path).partition("://")
    tenant, namespace, topic = rest.split("/", 2)
    policies: dict[str, Any] = {"backLogQuotaMap": {}, "subscriptionPolicies": {}, "subscriptionTypesEnabled": []}
    if value is not None:
        try:
            document = orjson.loads(value)
        except orjson.JSONDecodeError as exc:
            raise ValueRefused(f"no JSON: {exc}") from exc
        if not isinstance(document, dict):
            raise ValueRefused("no JSON object")
        policies = {name: node for name, node in document.items() if name not in _DERIVED}
        _settle_limits(policies)
    return {
        "eventType": _POLICY,
        "actionType": "UPDATE",
        "topicPoliciesEvent": {
            "domain": domain,
            "tenant": tenant,
            "namespace": namespace,
            "topic": topic,
            "policies": {**policies, "isGlobal": True},
        },
    }


def _without_null(node: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, Mapping):
        return {name: _without_null(each) for name, each in node.items() if each is not None}
    return [_without_null(each) for each in node] if isinstance(node, list) else node


def _settle_limits(policies: dict[str, Any]) -> None:
    """A quota says its limit twice, the older word by what the newer one is, as the broker's own getters do."""
    quotas = policies.get("backLogQuotaMap")
    for quota in quotas.values() if isinstance(quotas, dict) else ():
        if isinstance(quota, dict) and (limit := quota.get("limitSize", quota.get("limit"))) is not None:
            quota["limit"] = quota["limitSize"] = limit
