"""Laws of a scope that is tried: it shows the direction that replication goes by, and counts each resource once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.scope import ALLOWED_PREFIXES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath
from syncer.paths import classify, resource_at
from syncer.planning.scope_trial import PathPattern, RuleTally, ruled
from tests.property.strategies import PATH_OF_KIND

_segments = st.sampled_from(["acme", "orders", "a", "paid", "*", "**", "a*", "*d", "persistent", "global"])
_below = st.lists(_segments, max_size=5).map("/".join)
patterns = st.builds(
    lambda prefix, below: f"{prefix}/{below}" if below else prefix, st.sampled_from(ALLOWED_PREFIXES), _below
)
scopes = st.lists(st.builds(Rule, patterns, st.sampled_from(Direction)), max_size=6).map(Scope)
_names = st.sampled_from(["acme", "a", "ad", "orders", "paid"])
resources = st.one_of(
    st.sampled_from(sorted(PATH_OF_KIND.values())),
    st.builds("/admin/policies/{}".format, _names),
    st.builds("/admin/policies/{}/{}".format, _names, _names),
    st.builds("/admin/partitioned-topics/{}/{}/persistent/{}".format, _names, _names, _names),
).map(MetaPath)


@given(scopes, resources)
def test_the_direction_that_is_shown_is_the_one_that_replication_goes_by(scope: Scope, path: MetaPath) -> None:
    found = ruled(scope, path)
    assert found.direction is scope.direction(path)
    assert found.rule == next(iter(scope.matching(path)), None)


@given(scopes, st.lists(resources, unique=True))
def test_each_resource_is_counted_once_under_its_direction(scope: Scope, paths: list[MetaPath]) -> None:
    tally = RuleTally(scope)
    for path in paths:
        tally.take(path, resource_at(path))
    for direction, kinds in tally.flowing.items():
        assert kinds.total() == sum(scope.direction(path) is direction for path in paths)


@given(patterns, resources)
def test_what_a_pattern_matches_lies_below_its_prefixes(pattern: str, path: MetaPath) -> None:
    tried = PathPattern(pattern)
    assert classify(path) is not None
    if tried.matches(path):
        assert any(path == prefix or path.startswith(f"{prefix}/") for prefix in tried.prefixes)
