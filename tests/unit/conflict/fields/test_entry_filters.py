"""Entry filters: which are named by policies, and which of them are known to have no effect at a broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.fields.entry_filters import (
    NAME_CHARACTERS,
    NAMES_OF_POLICY,
    BrokerFilters,
    FilterLack,
    MissingFilters,
    filters_named,
    missing_filters,
)
from syncer.model import MetaPath

SPACE = MetaPath("/admin/policies/acme/orders")
OTHER = MetaPath("/admin/policies/acme/other")
TOPIC = MetaPath("/admin/topic-policies/global/acme/orders/persistent/created")
DEFAULTS = {"entryFilterNames": "[]", "allowOverrideEntryFilters": "false", "entryFiltersDirectory": ""}
"""As a broker of Pulsar 4.0.8 tells them."""

FIRST = {f"f{at:05}" for at in range(NAMES_OF_POLICY)}
LONG = {"b" * NAME_CHARACTERS}


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"entryFilters": {"entryFilterNames": "jms"}}, {"jms"}),
        ({"entryFilters": {"entryFilterNames": " jms, tenants,,"}}, {"jms", "tenants"}),
        ({"entryFilters": {"entryFilterNames": ""}}, set()),
        ({"entryFilters": {"entryFilterNames": 7}}, set()),
        ({"entryFilters": "jms"}, set()),
        ({"replication_clusters": []}, set()),
        ({"entryFilters": {"entryFilterNames": ",".join(f"f{at:05}" for at in range(90_000, -1, -1))}}, FIRST),
        (
            {"entryFilters": {"entryFilterNames": ",".join(["a" * (NAME_CHARACTERS + 1), *LONG])}},
            LONG,
        ),
    ],
)
def test_the_filters_that_a_policy_names(document: dict[str, object], names: set[str]) -> None:
    assert filters_named(document) == names


@pytest.mark.parametrize(
    ("settings", "lack"),
    [
        ({}, FilterLack.IGNORED),
        (DEFAULTS, FilterLack.IGNORED),
        (DEFAULTS | {"entryFilterNames": "[audit, jms]"}, None),
        (DEFAULTS | {"entryFilterNames": "jms"}, None),
        (DEFAULTS | {"entryFiltersDirectory": "./filters"}, FilterLack.IGNORED),
        (DEFAULTS | {"allowOverrideEntryFilters": "true"}, FilterLack.ABSENT),
        (DEFAULTS | {"allowOverrideEntryFilters": "true", "entryFiltersDirectory": "./filters"}, None),
        (DEFAULTS | {"allowOverrideEntryFilters": "true", "entryFiltersDirectory": 7}, FilterLack.ABSENT),
    ],
)
def test_what_is_known_of_a_filter_by_the_settings_of_a_broker(
    settings: dict[str, object], lack: FilterLack | None
) -> None:
    assert BrokerFilters.of(settings).lacks("jms") is lack


def test_every_filter_policy_and_broker_is_named_and_no_other() -> None:
    named = {SPACE: frozenset({"jms", "audit"}), TOPIC: frozenset({"tenants"}), OTHER: frozenset({"audit"})}
    brokers = {
        "b2": BrokerFilters(used=frozenset({"audit"})),
        "b1": BrokerFilters(used=frozenset({"audit"}), overridable=True),
        "b0": BrokerFilters(overridable=True, directory=True),
    }
    assert missing_filters(named, brokers) == MissingFilters(
        names=("jms", "tenants"),
        paths=(SPACE, TOPIC),
        brokers={FilterLack.IGNORED: ("b2",), FilterLack.ABSENT: ("b1",)},
    )
    assert missing_filters(named, {"b0": brokers["b0"]}) is None
    assert missing_filters(named, {}) is None
    assert missing_filters({}, brokers) is None


SETTINGS = st.builds(
    BrokerFilters,
    used=st.frozensets(st.sampled_from("abc")),
    overridable=st.booleans(),
    directory=st.booleans(),
)


@given(
    named=st.dictionaries(st.sampled_from([SPACE, TOPIC, OTHER]), st.frozensets(st.sampled_from("abc"), min_size=1)),
    brokers=st.dictionaries(st.sampled_from(["x", "y", "z"]), SETTINGS),
)
def test_what_is_told_is_what_some_broker_lacks(
    named: dict[MetaPath, frozenset[str]], brokers: dict[str, BrokerFilters]
) -> None:
    found = missing_filters(named, brokers)
    lacked = {
        (path, name, broker, each.lacks(name))
        for path, names in named.items()
        for name in names
        for broker, each in brokers.items()
        if each.lacks(name) is not None
    }
    assert (found is None) == (not lacked)
    if found is not None:
        assert found.names == tuple(sorted({name for _, name, _, _ in lacked}))
        assert found.paths == tuple(sorted({path for path, _, _, _ in lacked}))
        assert {(lack, each) for lack, many in found.brokers.items() for each in many} == {
            (lack, broker) for _, _, broker, lack in lacked
        }
