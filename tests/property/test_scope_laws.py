"""Laws of a scope that is tried: it shows the direction that replication goes by, and counts each resource once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.scope import ALLOWED_PREFIXES, PathPatterns, Rule, Scope, _expression
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


@given(st.lists(st.text("ab/*x", max_size=40), max_size=9), st.text("ab/*x\n", max_size=60))
def test_patterns_match_what_their_expressions_match(several: list[str], text: str) -> None:
    simple = [re.sub(r"\*{3,}", "**", each) for each in several]  # the expression of three stars and more never ends
    expected = [at for at, each in enumerate(simple) if re.fullmatch(_expression(each), text, re.DOTALL)]
    found = PathPatterns(simple)
    assert (found.all(text), found.first(text)) == (tuple(expected), next(iter(expected), None))


@given(scopes, resources)
def test_rules_that_were_told_decide_as_those_of_the_configuration(scope: Scope, path: MetaPath) -> None:
    told = Scope(scope.rules, told=True)
    assert (told.deciding(path), told.direction(path)) == (scope.deciding(path), scope.direction(path))
    assert told.direction_below(path) is scope.direction_below(path)


@given(patterns, resources)
def test_what_a_pattern_matches_lies_below_its_prefixes(pattern: str, path: MetaPath) -> None:
    tried = PathPattern(pattern)
    assert classify(path) is not None
    if tried.matches(path):
        assert any(path == prefix or path.startswith(f"{prefix}/") for prefix in tried.prefixes)
