"""A bundle is in grace for as long as settings say, and leaves its broker only where another may serve it."""

from __future__ import annotations

from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.rounds.pausing import Grace, may_leave
from syncer.balancer.rounds.reporting import MINUTE_MS

A, B, C = "a:8080", "b:8080", "c:8080"
TRAITS = {broker: BrokerTraits() for broker in (A, B, C)}


def test_grace_ends_when_it_is_over() -> None:
    grace = Grace(30)
    grace.begin("x", 0)
    grace.begin("y", MINUTE_MS)
    assert grace.current(30 * MINUTE_MS) == {"x", "y"}
    assert grace.current(30 * MINUTE_MS + 1) == {"y"}


def test_a_bundle_stays_where_policies_name_no_other_broker() -> None:
    policy = IsolationPolicy(namespaces=["t/n"], primary=["a"])
    constraints = Constraints(traits=TRAITS, policies=[policy])
    assert not may_leave("t/n", A, (A, B, C), (), constraints)
    assert may_leave("t/n", B, (A, B, C), (), constraints)
    assert may_leave("t/free", B, (A, B, C), (), constraints)


def test_a_bundle_of_a_group_stays_where_no_broker_has_fewer_of_it() -> None:
    constraints = Constraints(traits=TRAITS, groups={"t/1": "g", "t/2": "g", "t/3": "g", "t/4": "g"})
    even = [(A, "t/1"), (B, "t/2"), (C, "t/3")]
    assert not may_leave("t/1", A, (A, B, C), even, constraints)
    assert may_leave("t/1", A, (A, B, C), [*even, (A, "t/4")], constraints)
    assert may_leave("t/1", A, (A, B, C), even[:2], constraints)
