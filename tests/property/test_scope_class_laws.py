"""Laws of the classes of paths that pairs of regions share."""

from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.classes.pairs import RegionScopes, class_of, contradictions, label_of, one_way_paths
from syncer.conflict.classes.telling import scope_told, told_rules
from syncer.conflict.digest_tree import DigestTree, note
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Direction
from syncer.model import Digest, MetaPath, Region
from syncer.replication.antientropy.class_sums import ClassSums, joined_row, parted_row
from tests.property.test_scope_laws import resources, scopes


def told(scope: Scope) -> Scope:
    """As others know it."""
    text = told_rules(scope)
    return scope_told(text, scope.fingerprint) if text else scope


@given(st.tuples(scopes, scopes, scopes), st.lists(resources, unique=True))
def test_both_ends_of_each_pair_work_out_the_same_class(trio: tuple[Scope, ...], paths: list[MetaPath]) -> None:
    for ours, theirs in permutations(trio, 2):
        here, there = class_of(ours, told(theirs)), class_of(theirs, told(ours))
        assert here.label == there.label
        for path in paths:
            both = ours.contains(path) and theirs.contains(path)
            assert here.contains(path) is there.contains(path) is both
        assert (here.label == label_of(ours)) is (label_of(ours) == label_of(theirs))


@given(st.lists(scopes, min_size=2, max_size=4), st.lists(resources, unique=True))
def test_several_regions_share_what_each_two_of_them_share(all_of_them: list[Scope], paths: list[MetaPath]) -> None:
    named = {Region(f"r{number}"): scope for number, scope in enumerate(all_of_them)}
    several = RegionScopes(named)
    assert several.alike is (len({scope.fingerprint for scope in all_of_them}) == 1)
    for path in paths:
        sharing = several.sharing(path)
        assert all(way is named[region].direction(path) for region, way in sharing.items())
        for one, other in combinations(named, 2):
            both = class_of(named[one], named[other]).contains(path)
            assert both is (one in sharing and other in sharing)


@given(scopes, scopes, st.dictionaries(resources, st.binary(min_size=16, max_size=16).map(Digest)))
def test_a_class_is_summed_slice_by_slice_as_a_fold_of_what_both_carry(
    ours: Scope, theirs: Scope, living: dict[MetaPath, Digest]
) -> None:
    shared = class_of(ours, theirs)
    sums, tree = ClassSums(shared.contains), DigestTree()
    entries = sorted(living.items())
    for start in range(0, len(entries), 2):
        sums.take(entries[start : start + 2], last=start + 2 >= len(entries))
    changes: dict[int, tuple[int, int]] = {}
    for path, digest in entries:
        if ours.contains(path) and theirs.contains(path):
            note(changes, path, None, digest)
    tree.apply(changes)
    assert sums.tree == tree


@given(st.binary(), st.lists(st.binary(), min_size=0, max_size=5))
def test_a_row_of_the_log_is_parted_as_it_was_joined(own: bytes, classes: list[bytes]) -> None:
    assert parted_row(joined_row(own, classes), len(classes)) == [own, *classes]


@given(scopes, scopes)
def test_a_contradiction_is_shown_by_rules_of_both(ours: Scope, theirs: Scope) -> None:
    for each in contradictions(one_way_paths(ours, theirs)):
        assert each.direction in {Direction.APPLY, Direction.PUBLISH}
        assert (each.ours, each.direction) in {(rule.pattern, rule.direction) for rule in ours.rules}
        assert (each.theirs, each.direction) in {(rule.pattern, rule.direction) for rule in theirs.rules}
