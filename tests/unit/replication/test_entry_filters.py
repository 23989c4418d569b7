"""Entry filters that policies of the own store name: kept as the store was last read, and told by what brokers have."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from syncer.conflict.deletes.collected import BrokerCollection, CollectionTold
from syncer.conflict.fields.entry_filters import BrokerFilters
from syncer.model import MetaPath, Millis
from syncer.replication import entry_filters
from syncer.replication.control.report import report
from syncer.replication.entry_filters import KEPT, MISSING, NamedFilters
from tests.support.parts import parts_of
from tests.unit.replication.local.deletes.test_holding import NAMESPACE, OTHER, CollectingRegion

POLICIES: Final = {"replication_clusters": ["here"]}
NAMED: Final = {**POLICIES, "entryFilters": {"entryFilterNames": "jms"}}


def told(**brokers: BrokerFilters) -> CollectionTold:
    return CollectionTold(brokers={name: BrokerCollection(filters=each) for name, each in brokers.items()})


def condition(region: CollectingRegion) -> str | None:
    found: Any = report(parts_of(region.driver).control, Millis(region.now))["conditions"]
    return {each["code"]: each["message"] for each in found}.get(MISSING)


def write(region: CollectingRegion, document: dict[str, Any]) -> None:
    region.put(NAMESPACE, document)
    region.driver.noticed([NAMESPACE], Millis(region.now))
    region.work()


def test_a_filter_that_a_broker_does_not_apply_is_told_until_no_policy_names_it() -> None:
    region = CollectingRegion()
    assert region.told(told(b0=BrokerFilters()))
    assert condition(region) is None
    write(region, NAMED)
    message = condition(region)
    assert message is not None
    assert message.startswith(
        f"policies name entry filters that brokers here do not apply: 'jms', named by '{NAMESPACE}'; "
        "allowOverrideEntryFilters is false at b0, and entryFilterNames does not list them there."
    )
    write(region, POLICIES)
    assert condition(region) is None


def test_nothing_is_told_before_the_brokers_were_asked_or_where_nothing_can_be_known() -> None:
    region = CollectingRegion()
    write(region, NAMED)
    assert condition(region) is None
    for each in (
        CollectionTold(trouble="b0 does not answer"),
        told(b0=BrokerFilters(overridable=True, directory=True)),
    ):
        region.now += 120_000
        assert region.told(each)
        assert condition(region) is None
    region.now += 120_000
    assert region.told(told(b0=BrokerFilters(overridable=True)))
    assert "entryFiltersDirectory is empty at b0" in (condition(region) or "")


def test_a_scan_finds_what_is_named_and_what_is_gone() -> None:
    region = CollectingRegion()
    region.put(NAMESPACE, NAMED)
    assert region.told(told(b0=BrokerFilters()))
    region.scan()
    assert condition(region) is not None
    region.scan()
    assert condition(region) is not None, "a scan that meets it again lets it stand"
    del region.entries[NAMESPACE]
    region.scan()
    assert condition(region) is None


def test_a_policy_that_is_deleted_names_nothing() -> None:
    region = CollectingRegion()
    write(region, NAMED)
    assert region.told(told(b0=BrokerFilters()))
    assert condition(region) is not None
    region.delete(NAMESPACE)
    assert condition(region) is None


def test_policies_are_kept_up_to_a_bound_and_the_first_are_named() -> None:
    named, value = NamedFilters(), json.dumps(NAMED).encode()
    for number in range(KEPT + 5):
        named.look_at(MetaPath(f"/admin/policies/t/n{number:04}"), value)
    named.look_at(OTHER, value)
    ((code, message),) = named.conditions(told(b0=BrokerFilters(), b1=BrokerFilters(overridable=True)))
    assert code == entry_filters.MISSING
    assert (
        "named by '/admin/policies/t/n0000', '/admin/policies/t/n0001', '/admin/policies/t/n0002' and 997 more"
        in message
    )
    assert "allowOverrideEntryFilters is false at b0 and entryFiltersDirectory is empty at b1" in message


@pytest.mark.parametrize(
    ("path", "value", "told_of"),
    [
        (NAMESPACE, json.dumps(NAMED).encode(), True),
        (MetaPath("/admin/topic-policies/global/acme/orders/persistent/created"), json.dumps(NAMED).encode(), True),
        (MetaPath("/admin/policies/acme"), json.dumps(NAMED).encode(), False),
        (MetaPath("/admin/policies/acme/orders/more"), json.dumps(NAMED).encode(), False),
        (NAMESPACE, b'{"entryFilters":', False),
        (NAMESPACE, b"", False),
    ],
)
def test_only_policies_of_namespaces_and_topics_name_filters(path: MetaPath, value: bytes, told_of: bool) -> None:
    named = NamedFilters()
    named.look_at(path, value)
    assert bool(named.conditions(told(b0=BrokerFilters()))) == told_of


def test_what_was_found_stands_until_a_policy_or_an_answer_is_another() -> None:
    named, answer = NamedFilters(), told(b0=BrokerFilters())
    named.look_at(NAMESPACE, json.dumps(NAMED).encode())
    found = named.conditions(answer)
    named.look_at(NAMESPACE, json.dumps({**NAMED, "message_ttl_in_seconds": 1}).encode())
    assert named.conditions(answer) is found
    assert named.conditions(told(b0=BrokerFilters(used=frozenset({"jms"})))) == []
    named.look_at(NAMESPACE, b"")
    assert named.conditions(answer) == []
