"""Isolation policies allow primary brokers, secondary ones while those are too few, and else brokers that are free."""

from __future__ import annotations

import pytest

from syncer.balancer.placement.decision import BrokerTraits, DropReason
from syncer.balancer.placement.isolation import IsolationPolicy, allowed
from syncer.errors import LoadDataInvalid

PRIMARY, OTHER_PRIMARY, SECONDARY, FREE = "p1:8080", "p2:8080", "s1:8080", "f1:8080"
BROKERS = (PRIMARY, OTHER_PRIMARY, SECONDARY, FREE)
TRAITS = dict.fromkeys(BROKERS, BrokerTraits())


def policy(min_primaries: int = 1) -> IsolationPolicy:
    return IsolationPolicy(namespaces=[r"a/b.*"], primary=[r"p\d"], secondary=["s1", "p1"], min_primaries=min_primaries)


def test_enough_primary_brokers_serve_alone() -> None:
    step = allowed("a/bc", BROKERS, [policy(2)], TRAITS)
    assert step.left == (PRIMARY, OTHER_PRIMARY)
    assert step.dropped == {SECONDARY: DropReason.ENOUGH_PRIMARIES, FREE: DropReason.NOT_IN_POLICY}


def test_secondary_brokers_help_too_few_primary_ones() -> None:
    assert allowed("a/b", BROKERS, [policy(3)], TRAITS).left == (PRIMARY, OTHER_PRIMARY, SECONDARY)
    assert allowed("a/b", (SECONDARY, FREE), [policy(1)], TRAITS).left == (SECONDARY,)
    assert allowed("a/b", (SECONDARY, FREE), [policy(0)], TRAITS).left == ()


def test_other_namespaces_keep_off_the_primary_brokers_of_any_policy() -> None:
    step = allowed("c/d", BROKERS, [policy()], TRAITS)
    assert step.left == (SECONDARY, FREE)
    assert step.dropped == {PRIMARY: DropReason.RESERVED, OTHER_PRIMARY: DropReason.RESERVED}


def test_a_pattern_is_for_the_whole_name() -> None:
    assert allowed("x/a/b", BROKERS, [policy()], TRAITS).left == (SECONDARY, FREE)
    assert allowed("a/b", ("p10:8080",), [policy()], {}).left == ()


def test_the_first_policy_that_matches_counts() -> None:
    first = IsolationPolicy(namespaces=["a/b"], primary=["f1"])
    assert allowed("a/b", BROKERS, [first, policy()], TRAITS).left == (FREE,)


def test_without_a_policy_a_broker_serves_the_kind_of_topics_that_it_registers() -> None:
    traits = {PRIMARY: BrokerTraits(non_persistent=False), SECONDARY: BrokerTraits(persistent=False)}
    assert allowed("a/b", (PRIMARY, SECONDARY, FREE), [], traits).left == (PRIMARY,)
    step = allowed("a/b", (PRIMARY, SECONDARY, FREE), [], traits, non_persistent=True)
    assert step.left == (SECONDARY,)
    assert step.dropped == {PRIMARY: DropReason.DOMAIN_NOT_SERVED, FREE: DropReason.DOMAIN_NOT_SERVED}


def test_under_a_policy_the_kind_of_topics_does_not_count() -> None:
    assert allowed("a/b", (PRIMARY,), [policy()], {PRIMARY: BrokerTraits(persistent=False)}).left == (PRIMARY,)


def test_a_broker_without_a_port_cannot_be_read_and_an_ipv6_address_can() -> None:
    assert allowed("a/b", ("p1",), [policy()], {}).dropped == {"p1": DropReason.NO_PORT}
    six = IsolationPolicy(namespaces=["a/b"], primary=[r"\[::1\]"])
    assert allowed("a/b", ("[::1]:8080",), [six], {}).left == ("[::1]:8080",)


def test_a_policy_without_a_regular_expression_is_named() -> None:
    broken = IsolationPolicy(namespaces=["a/("], primary=[])
    with pytest.raises(LoadDataInvalid, match=r"isolation policy holds 'a/\('"):
        allowed("a/b", BROKERS, [broken], TRAITS)
