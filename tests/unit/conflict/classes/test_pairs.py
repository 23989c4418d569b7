"""The class of two regions, and what neither of them answers for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from unittest import mock

import pytest

from syncer.conflict.classes.pairs import (
    CONTRADICTIONS_SHOWN,
    EXAMPLES_KEPT,
    EXAMPLES_OF_RULES,
    EXAMPLES_TRIED,
    Contradiction,
    RegionScopes,
    class_of,
    contradictions,
    label_of,
    one_way_paths,
)
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Region

ACME, OTHER = MetaPath("/admin/policies/acme"), MetaPath("/admin/policies/other")
BOTH, APPLY, PUBLISH, IGNORE = Direction.BOTH, Direction.APPLY, Direction.PUBLISH, Direction.IGNORE


def scope(*rules: tuple[str, Direction]) -> Scope:
    return Scope([Rule(pattern, direction) for pattern, direction in rules])


def test_a_path_is_shared_when_both_carry_it_whichever_way() -> None:
    ours = scope(("/admin/policies/acme", PUBLISH), ("/admin/policies/other", BOTH))
    theirs = scope(("/admin/policies/acme", APPLY), ("/admin/policies/**", IGNORE))
    shared, back = class_of(ours, theirs), class_of(theirs, ours)
    assert shared == back
    assert shared.label not in {label_of(ours), label_of(theirs)}
    for each in (shared, back):
        assert each.contains(ACME)
        assert not each.contains(OTHER)
        assert not each.contains(MetaPath("/admin/policies/acme/x/y/z"))


def test_of_several_regions_those_share_a_path_that_carry_it_and_one_alone_shares_nothing() -> None:
    east, north, west = (Region(name) for name in ("east", "north", "west"))
    some = scope(("/admin/policies/other", IGNORE), ("/admin/policies/acme", PUBLISH))
    scopes = RegionScopes({east: scope(("/admin/policies/**", APPLY)), north: some, west: some})
    assert not scopes.alike
    assert scopes.sharing(ACME) == {east: APPLY, north: PUBLISH, west: PUBLISH}
    assert scopes.sharing(OTHER) == {}, "only one carries it"
    assert scopes.sharing(MetaPath("/admin/resourcegroups/x")) == {}
    alike = RegionScopes(
        {east: some, west: scope(("/admin/policies/other", IGNORE), ("/admin/policies/acme", PUBLISH))}
    )
    assert alike.alike
    assert alike.sharing(ACME) == {east: PUBLISH, west: PUBLISH}


def contradicted(ours: Scope, theirs: Scope, others: Sequence[Scope] = ()) -> list[Contradiction]:
    return contradictions(one_way_paths(ours, theirs), others)


def test_scopes_that_carry_the_same_have_the_label_of_before() -> None:
    directed = Scope([Rule(rule.pattern, APPLY if rule.direction is BOTH else IGNORE) for rule in DEFAULT_RULES])
    assert class_of(Scope(), directed).label == label_of(Scope()) == label_of(directed)
    assert class_of(Scope(), directed).contains(ACME)


def test_what_both_only_apply_and_nobody_publishes_is_a_contradiction() -> None:
    ours = scope(("/admin/policies/acme/**", APPLY), ("/admin/policies/**", BOTH))
    theirs = scope(("/admin/policies/**", APPLY))
    found = [Contradiction("/admin/policies/acme/**", "/admin/policies/**", APPLY)]
    assert contradicted(ours, theirs) == found
    assert contradicted(theirs, ours) == [Contradiction("/admin/policies/**", "/admin/policies/acme/**", APPLY)]
    assert contradicted(ours, theirs, [scope(("/admin/policies/other/**", BOTH))]) == found
    assert contradicted(ours, theirs, [Scope()]) == [], "somebody speaks for it"


def test_what_both_only_publish_is_one_whoever_listens() -> None:
    ours = theirs = scope(("/admin/policies/*", PUBLISH))
    found = [Contradiction("/admin/policies/*", "/admin/policies/*", PUBLISH)]
    assert contradicted(ours, theirs, [Scope()]) == found


def test_what_never_meets_is_no_contradiction() -> None:
    assert contradicted(scope(("/admin/policies/a/**", APPLY)), scope(("/admin/policies/b/**", APPLY))) == []
    assert contradicted(scope(("/admin/policies/*", APPLY)), scope(("/admin/policies/*", PUBLISH))) == []
    ours = scope(("/admin/policies/acme", IGNORE), ("/admin/policies/*", APPLY))
    assert contradicted(ours, scope(("/admin/policies/acme", APPLY))) == [], "an earlier rule decides"
    below = scope(("/admin/policies/acme/too/deep/to/be/anything", APPLY))
    assert contradicted(below, below) == []


def test_wildcards_meet_literals_and_topics() -> None:
    ours = scope(("/admin/partitioned-topics/acme/*/persistent/a*", APPLY))
    theirs = scope(("/admin/partitioned-topics/**", APPLY))
    assert [(each.ours, each.theirs) for each in contradicted(ours, theirs)] == [
        ("/admin/partitioned-topics/acme/*/persistent/a*", "/admin/partitioned-topics/**")
    ]
    both = scope(("/admin/partitioned-topics/**", APPLY))
    assert len(contradicted(both, both)) == 1


def test_of_many_some_are_shown() -> None:
    many = scope(*((f"/admin/policies/t{number}", APPLY) for number in range(20)))
    assert len(contradicted(many, many)) == CONTRADICTIONS_SHOWN


def told(*rules: tuple[str, Direction]) -> Scope:
    return Scope([Rule(*each) for each in rules], told=True)


@pytest.mark.parametrize("direction", [APPLY, PUBLISH])
@pytest.mark.parametrize(
    "pattern", ["/admin/policies/t{0}/**", "/admin/policies/*{0}*", "/admin/policies/**{0}**", "/{0}**"]
)
def test_a_strangers_rules_are_compared_in_a_bounded_number_of_steps(pattern: str, direction: Direction) -> None:
    ours = scope(*((f"/admin/policies/*{number}", direction) for number in range(200)))
    theirs = told(*((pattern.format(number), direction) for number in range(256)))
    with mock.patch.object(Scope, "deciding", autospec=True, side_effect=Scope.deciding) as steps:
        found = one_way_paths(ours, theirs)
    assert steps.call_count <= 3 * EXAMPLES_TRIED
    assert len(found) <= EXAMPLES_KEPT
    assert max(Counter(each.by for each in found).values(), default=0) <= EXAMPLES_OF_RULES


def test_many_rules_that_never_meet_leave_room_for_those_that_do() -> None:
    ours = scope(
        *((f"/admin/policies/o{number}/**", APPLY) for number in range(200)), ("/admin/policies/acme/**", APPLY)
    )
    theirs = told(
        *((f"/admin/policies/t{number}/**", APPLY) for number in range(255)), ("/admin/policies/acme/*", APPLY)
    )
    assert contradicted(ours, theirs) == [Contradiction("/admin/policies/acme/**", "/admin/policies/acme/*", APPLY)]
