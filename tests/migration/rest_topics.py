"""Topics in the admin REST API of a simulated cluster: lists, statistics, subscriptions, schemas."""

from __future__ import annotations

from typing import Final

from tests.migration.clusters.answers import Refusal
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.namespace import base_of
from tests.migration.clusters.topic import Topic
from tests.migration.rest_calls import DONE, Answer, ApiError, Call, Routes
from tests.migration.rest_forms import internal_info, internal_stats, stats
from tests.migration.rest_policies import namespace_of

_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_ALL: Final = "/admin/v2/persistent/{tenant}/{namespace}"
_SCHEMA: Final = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"


def _missing(call: Call) -> ApiError:
    return ApiError(404, f"Topic {call.topic} not found")


def _loaded(call: Call, *, create: bool = False) -> Topic:
    """The topic, loaded if it has to be.

    Raises:
        ApiError: It is not there, or cannot be loaded.
    """
    namespace = namespace_of(call)
    if call.topic in namespace.partitions:
        raise _missing(call)
    cluster = call.api.cluster
    if call.topic not in cluster.ledgers and not create:
        raise _missing(call)
    owner = cluster.owner(call.topic)
    if not isinstance(owner, Broker) or owner.is_blocked:
        raise ApiError(503, "no broker owns the topic's bundle")
    found = owner.load(call.topic, create=create)
    if isinstance(found, Refusal):
        raise ApiError(500, f"TopicMigratedException: {call.topic} already migrated")
    return found


def _parts(call: Call) -> list[Call]:
    """The same call for each partition."""
    count = namespace_of(call).partitions.get(call.topic, 0)
    names = [f"{call.names['topic']}-partition-{number}" for number in range(count)]
    topics = names or [call.names["topic"]]
    return [
        Call(api=call.api, method=call.method, names={**call.names, "topic": name}, query=call.query, body=call.body)
        for name in topics
    ]


def _list(call: Call) -> Answer:
    namespace = namespace_of(call)
    start = f"persistent://{namespace.name}/"
    names = sorted(name for name in call.api.cluster.ledgers if name.startswith(start))
    events = namespace.topic_policies and call.query.get("includeSystemTopic") == "true"
    return 200, [f"{start}__change_events", *names] if events else names


def _none(call: Call) -> Answer:
    namespace_of(call)
    return 200, []


def _partitioned(call: Call) -> Answer:
    return 200, sorted(namespace_of(call).partitions)


def _partitions(call: Call) -> Answer:
    """Blue makes metadata of partitions even where it makes no topics any more."""
    namespace, cluster = namespace_of(call), call.api.cluster
    known = call.topic in namespace.partitions
    if call.method == "GET":
        if not known and call.topic not in cluster.ledgers:
            raise _missing(call)
        return 200, {"partitions": namespace.partitions.get(call.topic, 0)}
    if call.method == "PUT" and (known or call.topic in cluster.ledgers):
        raise ApiError(409, "This topic already exists")
    if call.method != "PUT" and not known:
        raise _missing(call)
    if call.method == "DELETE":
        for each in _parts(call):
            if each.topic in cluster.ledgers:
                _delete(each)
        del namespace.partitions[call.topic]
        return DONE
    if int(call.body) < namespace.partitions.get(call.topic, 0):
        raise ApiError(422, "Desired partitions can't be less than the current partitions")
    namespace.partitions[call.topic] = int(call.body)
    if cluster.redirect(namespace.name) is None:
        for each in _parts(call):
            _loaded(each, create=True)
    return DONE


def _missed_partitions(call: Call) -> Answer:
    if call.topic not in namespace_of(call).partitions:
        raise _missing(call)
    for each in _parts(call):
        if each.topic not in call.api.cluster.ledgers:
            _loaded(each, create=True)
    return DONE


def _topic(call: Call) -> Answer:
    if call.method == "DELETE":
        if call.topic not in call.api.cluster.ledgers:
            raise _missing(call)
        return _delete(call)
    if call.topic in call.api.cluster.ledgers:
        raise ApiError(409, "This topic already exists")
    _loaded(call, create=True)
    return DONE


def _delete(call: Call) -> Answer:
    cluster = call.api.cluster
    topic = cluster.topic(call.topic)
    used = topic is not None and (topic.producers or any(each.consumers for each in topic.subscriptions.values()))
    if used and call.query.get("force") != "true":
        raise ApiError(412, "Topic has active producers/subscriptions")
    broker = cluster.brokers[0] if topic is None else topic.broker
    broker.delete(call.topic)
    return DONE


def _stats(call: Call) -> Answer:
    return 200, stats(_loaded(call))


def _internal_stats(call: Call) -> Answer:
    return 200, internal_stats(_loaded(call))


def _internal_info(call: Call) -> Answer:
    """Read from the store: nothing is loaded, whoever is asked; what is not there is a failure of the broker."""
    ledgers = call.api.cluster.ledgers
    if namespace_of(call).partitions.get(call.topic):
        parts = {each.topic: ledgers[each.topic] for each in _parts(call) if each.topic in ledgers}
        return 200, {"version": 0, "partitions": {name: internal_info(ledger) for name, ledger in parts.items()}}
    if call.topic not in ledgers:
        raise ApiError(500, "HTTP 500 Internal Server Error")
    return 200, internal_info(ledgers[call.topic])


def _properties(call: Call) -> Answer:
    topic = _loaded(call)
    return 200, {"migrated": "true"} if topic.ledger.marked else {}


def _unload(call: Call) -> Answer:
    for each in _parts(call):
        topic = call.api.cluster.topic(each.topic)
        if topic is None and each.topic not in call.api.cluster.ledgers:
            raise _missing(call)
        if topic is not None:
            topic.broker.unload(each.topic)
    return DONE


def _terminate(call: Call) -> Answer:
    """An operator's own end of a topic: it never shows that it was migrated."""
    topic = _loaded(call)
    topic.terminate()
    last = topic.ledger.terminated = topic.ledger.last
    return 200, {"ledgerId": last.ledger, "entryId": last.entry, "partitionIndex": -1}


def _subscriptions(call: Call) -> Answer:
    return 200, sorted({name for each in _parts(call) for name in _loaded(each).subscriptions})


def _subscription(call: Call) -> Answer:
    """Made on a partitioned topic as a whole, a subscription is never a replicated one."""
    name = call.names["subscription"]
    override = namespace_of(call).policies.get("autoTopicCreationOverride") or {}
    creates = call.method == "PUT" and override.get("allowAutoTopicCreation", True)
    parts = _parts(call)
    topics = [_loaded(each, create=creates) for each in parts]
    there = [topic for topic in topics if name in topic.subscriptions]
    if call.method == "PUT":
        if len(there) == len(topics):
            raise ApiError(409, "Subscription already exists for topic")
        at = (call.body or {}).get("ledgerId", -1)
        for topic in topics:
            if name not in topic.subscriptions:
                made = topic.broker.subscribe(topic, name, earliest=at < 0)
                made.cursor.properties.update((call.body or {}).get("properties") or {})
                made.cursor.replicated = call.query.get("replicated") == "true" and topic.name == call.topic
        return DONE
    if not there:
        raise ApiError(404, f"Subscription {name} not found for topic {call.topic}")
    if any(topic.subscriptions[name].consumers for topic in there):
        raise ApiError(412, "Subscription has active connected consumers")
    for topic in there:
        topic.broker.unsubscribe(topic, name)
    return DONE


def _skip_all(call: Call) -> Answer:
    subscription = _loaded(call).subscriptions.get(call.names["subscription"])
    if subscription is None:
        raise ApiError(404, f"Subscription {call.names['subscription']} not found for topic {call.topic}")
    subscription.skip()
    return DONE


def _schema(call: Call) -> Answer:
    schemas = namespace_of(call).schemas
    found = schemas.get(base_of(call.topic))
    if call.method == "POST":
        version = 0 if found is None else int(found["version"]) + 1
        schemas[base_of(call.topic)] = {**call.body, "version": version}
        return 200, {"version": {"version": version}}
    if found is None:
        raise ApiError(404, "Schema not found")
    return 200, found


def _schemas(call: Call) -> Answer:
    found = namespace_of(call).schemas.get(base_of(call.topic))
    return 200, {"getSchemaResponses": [] if found is None else [found]}


def add_to(routes: Routes) -> None:
    """Add these calls to a table."""
    for methods, path, answering in (
        ("GET", _ALL, _list),
        ("GET", "/admin/v2/non-persistent/{tenant}/{namespace}", _none),
        ("GET", "/admin/v2/non-persistent/{tenant}/{namespace}/partitioned", _none),
        ("GET", f"{_ALL}/partitioned", _partitioned),
        ("GET|PUT|POST|DELETE", f"{_ONE}/partitions", _partitions),
        ("POST", f"{_ONE}/createMissedPartitions", _missed_partitions),
        ("PUT|DELETE", _ONE, _topic),
        ("GET", f"{_ONE}/stats", _stats),
        ("GET", f"{_ONE}/internalStats", _internal_stats),
        ("GET", f"{_ONE}/internal-info", _internal_info),
        ("GET", f"{_ONE}/properties", _properties),
        ("PUT", f"{_ONE}/unload", _unload),
        ("POST", f"{_ONE}/terminate", _terminate),
        ("GET", f"{_ONE}/subscriptions", _subscriptions),
        ("PUT|DELETE", f"{_ONE}/subscription/{{subscription}}", _subscription),
        ("POST", f"{_ONE}/subscription/{{subscription}}/skip_all", _skip_all),
        ("GET|POST", f"{_SCHEMA}/schema", _schema),
        ("GET", f"{_SCHEMA}/schemas", _schemas),
    ):
        routes.on(methods, path)(answering)
