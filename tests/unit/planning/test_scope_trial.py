"""A scope that is tried: counts by rule, what patterns match, what another scope changes, and what may not be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from syncer.conflict.scope import ALLOWED_PREFIXES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import AccessDenied, ConfigError
from syncer.model import MetaPath, ResourceKind, Revision
from syncer.paths import is_under, resource_at
from syncer.planning.scope_trial import (
    FirstPaths,
    PathMatches,
    PathPattern,
    ReadOver,
    RuleTally,
    ScopeShift,
    Shift,
    no_resource_since,
    read_over,
    ruled,
    stands_at,
)
from syncer.stores.contract import Entry

pytestmark = pytest.mark.anyio

ACME, ORDERS, BETA = (MetaPath(f"/admin/policies/{name}") for name in ("acme", "acme/orders", "beta"))
GOLD = MetaPath("/admin/resourcegroups/gold")
OVERLAPPING = Scope(
    [
        Rule("/admin/policies/acme", Direction.PUBLISH),
        Rule("/admin/policies/acme/**", Direction.IGNORE),
        Rule("/admin/policies/**", Direction.BOTH),
    ]
)


class ReadStore:
    """A store that holds some entries, of which some prefixes may be closed."""

    def __init__(self, *paths: str, closed: str = "", value: bytes = b"{}", ephemeral: bool = False) -> None:
        self.entries = {
            MetaPath(path): Entry(
                path=MetaPath(path), value=value, revision=Revision("1"), modified_at_ms=None, ephemeral=ephemeral
            )
            for path in paths
        }
        self.closed = closed

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        if prefix == self.closed:
            raise AccessDenied(f"{prefix} may not be read")
        for path, entry in self.entries.items():
            if is_under(path, prefix):
                yield (entry,)

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        return {path: self.entries.get(path) for path in paths}


def tallied(scope: Scope, *paths: MetaPath) -> RuleTally:
    tally = RuleTally(scope)
    for path in paths:
        tally.take(path, resource_at(path))
    return tally


def test_each_resource_is_counted_by_the_rule_that_decides_and_told_of_later_ones() -> None:
    tally = tallied(OVERLAPPING, ACME, ORDERS, BETA, GOLD)
    tenant, namespace = {ResourceKind.TENANT: 1}, {ResourceKind.NAMESPACE: 1}
    assert tally.decided == [tenant, namespace, tenant]
    assert tally.decided_before == [0, 0, 2], "the wildcard matches both that stand before it"
    assert tally.unmatched == {ResourceKind.RESOURCE_GROUP: 1}
    assert tally.flowing == {
        Direction.BOTH: tenant,
        Direction.PUBLISH: tenant,
        Direction.APPLY: {},
        Direction.IGNORE: {**namespace, ResourceKind.RESOURCE_GROUP: 1},
    }


def test_a_literal_behind_the_wildcard_that_matches_it_decides_nothing() -> None:
    tally = tallied(Scope([OVERLAPPING.rules[2], OVERLAPPING.rules[0]]), ACME, BETA)
    assert tally.decided == [{ResourceKind.TENANT: 2}, {}]
    assert tally.decided_before == [0, 1]


@pytest.mark.parametrize(("path", "rule"), [(ACME, 0), (ORDERS, 1), (BETA, 2), (GOLD, None)])
def test_a_resource_is_told_with_the_rule_that_decides(path: MetaPath, rule: int | None) -> None:
    found = ruled(OVERLAPPING, path)
    assert (found.rule, found.direction) == (rule, OVERLAPPING.direction(path))


def test_the_first_paths_are_kept_whatever_the_order_and_the_others_counted() -> None:
    found = FirstPaths(2)
    for name in "dacbaa":
        found.put(MetaPath(f"/{name}"))
    assert (found.paths, found.more) == (("/a", "/b"), 2)
    assert found.total == 4


@pytest.mark.parametrize(
    ("pattern", "prefixes"),
    [
        ("/admin/policies/acme/**", ["/admin/policies/acme"]),
        ("/admin/policies/ac*", ["/admin/policies"]),
        ("/admin/policies*", ["/admin/policies"]),
        ("/admin/p*", ["/admin/policies", "/admin/partitioned-topics"]),
        ("/**", list(ALLOWED_PREFIXES)),
        ("/admin/topic-policies/**", ["/admin/topic-policies/global"]),
        ("/admin/policies/../**", []),
        ("/ledgers/**", []),
    ],
)
def test_no_more_is_read_than_a_pattern_can_match(pattern: str, prefixes: list[str]) -> None:
    assert list(PathPattern(pattern).prefixes) == prefixes


def test_what_a_pattern_is() -> None:
    assert PathPattern("/admin/policies/acme").path == ACME
    assert PathPattern("/admin/policies/*").path is None
    with pytest.raises(ConfigError, match="'acme' is no path pattern"):
        PathPattern("acme")


async def test_matches_are_collected_from_a_store() -> None:
    store: Any = ReadStore(ORDERS, ACME, BETA, "/admin/policies", "/admin/policies/acme/" + "x" * 40_000)
    pattern = PathPattern("/admin/policies/*")
    matches = PathMatches(pattern, 1)
    seen = await read_over(store, pattern.prefixes, matches.take, needed=pattern.prefixes)
    assert (matches.found.paths, matches.found.more) == ((ACME,), 1)
    assert seen == ReadOver(unfit=1, closed=())


def test_what_another_scope_changes() -> None:
    then = Scope([Rule("/admin/policies/**", Direction.BOTH), Rule("/admin/resourcegroups/*", Direction.APPLY)])
    shift = ScopeShift(OVERLAPPING, then, None, 2)
    for path in (ACME, ORDERS, BETA, GOLD):
        shift.take(path, resource_at(path))
    assert shift.shifts == {
        Shift(Direction.PUBLISH, Direction.BOTH): {ResourceKind.TENANT: 1},
        Shift(Direction.IGNORE, Direction.BOTH): {ResourceKind.NAMESPACE: 1},
        Shift(Direction.IGNORE, Direction.APPLY): {ResourceKind.RESOURCE_GROUP: 1},
    }
    assert shift.unchanged == 1
    assert [(now.path, now.rule, then.rule) for now, then in shift.pairs()] == [(ACME, 0, 0), (ORDERS, 1, 0)]
    assert shift.found.more == 1


def test_changes_of_what_a_pattern_matches_alone() -> None:
    shift = ScopeShift(OVERLAPPING, Scope([]), PathPattern("/admin/policies/beta"), 9)
    for path in (ACME, BETA, GOLD):
        shift.take(path, resource_at(path))
    assert shift.found.paths == (BETA,)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/admin/policies", "below /admin/policies only TENANT and TENANT/NAMESPACE are resources; the rest"),
        ("/admin/clusters/a/policies", "only CLUSTER and CLUSTER/namespaceIsolationPolicies are resources"),
        ("/admin/policies/../x", "a part of it is '..'"),
        ("/managed-ledgers/a/b/persistent/t", "it is state that a cluster keeps for itself"),
        ("/admin/local-policies/a/b", "it is state that a cluster keeps for itself"),
        ("/pulsar-syncer/east/fence", "it is the daemon's own"),
        ("/elsewhere", f"it lies outside what may be replicated: {ALLOWED_PREFIXES[0]}, "),
    ],
)
def test_why_a_path_is_no_resource(path: str, why: str) -> None:
    assert why in no_resource_since(MetaPath(path))


async def test_what_stands_is_a_value_that_is_nobodys_session() -> None:
    there: Any = ReadStore(ACME)
    empty: Any = ReadStore(ACME, value=b"")
    session: Any = ReadStore(ACME, ephemeral=True)
    assert [await stands_at(store, ACME) for store in (there, empty, session)] == [True, False, False]
    assert not await stands_at(there, BETA)


async def test_what_the_scope_leaves_out_may_be_closed_and_what_it_covers_may_not() -> None:
    store: Any = ReadStore(ACME, GOLD, closed="/admin/resourcegroups")
    tally = RuleTally(OVERLAPPING)
    prefixes = [MetaPath(prefix) for prefix in ALLOWED_PREFIXES]
    seen = await read_over(store, prefixes, tally.take, needed=OVERLAPPING.prefixes)
    assert seen.closed == ("/admin/resourcegroups",)
    assert tally.decided[0].total() == 1
    with pytest.raises(AccessDenied):
        await read_over(store, prefixes, tally.take, needed=prefixes)
