"""The digest tree: where a path belongs, what a sum counts, what two trees are compared by."""

from __future__ import annotations

from collections import Counter

from syncer.conflict.digest_tree import BUCKETS, GROUPS, Changes, DigestTree, bucket_of, element, note, packed, unpacked
from syncer.model import Digest, MetaPath

ONE = MetaPath("/admin/policies/acme")
DIGEST, OTHER = Digest(b"\x01" * 16), Digest(b"\x02" * 16)


def summed(*living: tuple[MetaPath, Digest]) -> DigestTree:
    changes: Changes = {}
    for path, digest in living:
        note(changes, path, None, digest)
    tree = DigestTree()
    tree.apply(changes)
    return tree


def test_places_and_elements_are_the_same_in_every_region_for_ever() -> None:
    assert bucket_of(ONE) == 0x3BFB
    assert element(ONE, DIGEST) == 0x04890E160F471675771E25BB2B912CA9


def test_elements_of_two_paths_or_two_digests_differ() -> None:
    assert (
        len({element(path, digest) for path in (ONE, MetaPath("/admin/policies/b")) for digest in (DIGEST, OTHER)}) == 4
    )


def test_paths_spread_over_all_buckets() -> None:
    tally = Counter(bucket_of(MetaPath(f"/admin/partitioned-topics/t/n/persistent/{n}")) for n in range(200_000))
    assert len(tally) > 0.9 * GROUPS * BUCKETS
    assert max(tally.values()) < 20


def test_a_change_to_the_same_value_changes_nothing() -> None:
    changes: Changes = {}
    note(changes, ONE, DIGEST, DIGEST)
    note(changes, ONE, None, None)
    assert changes == {}


def test_an_untouched_bucket_holds_nothing() -> None:
    tree = summed((ONE, DIGEST))
    bucket = bucket_of(ONE)
    assert tree.held(bucket) == 1
    assert tree.held(bucket ^ 1) == 0
    assert tree.held(bucket ^ 0x8000) == 0
    assert set(tree.buckets((bucket ^ 0x8000) // BUCKETS)) == {0}


def test_two_values_of_a_path_differ_in_its_bucket_alone() -> None:
    one, other = summed((ONE, DIGEST)), summed((ONE, OTHER))
    group = bucket_of(ONE) // BUCKETS
    assert one.differing(group, other.buckets(group), 64) == [bucket_of(ONE)]
    assert one != other
    assert one.count == other.count == 1


def test_a_tree_is_no_other_thing() -> None:
    assert DigestTree() != object()


def test_what_was_taken_away_again_leaves_the_tree_as_it_was() -> None:
    changes: Changes = {}
    note(changes, ONE, None, DIGEST)
    note(changes, ONE, DIGEST, OTHER)
    assert unpacked(packed(changes)) == changes
    tree = DigestTree()
    tree.apply(changes)
    assert tree == summed((ONE, OTHER))
    assert (tree.count, tree.root, sum(tree.groups)) == (1, element(ONE, OTHER), element(ONE, OTHER))
    back: Changes = {}
    note(back, ONE, OTHER, None)
    tree.apply(back)
    assert tree == DigestTree()
    assert (tree.count, tree.root, tree.held(bucket_of(ONE))) == (0, 0, 0)
    assert tree != "a tree"


def test_a_new_value_in_place_of_another_one_keeps_the_count() -> None:
    tree, changes = summed((ONE, DIGEST)), Changes()
    note(changes, ONE, DIGEST, OTHER)
    tree.apply(changes)
    assert (tree.count, tree.held(bucket_of(ONE))) == (1, 1)
    assert tree == summed((ONE, OTHER))


def test_pages_make_the_tree_from_nothing() -> None:
    paths = [MetaPath(f"/admin/policies/t{number}") for number in range(50)]
    tree, again = summed(*((path, DIGEST) for path in paths)), DigestTree()
    for page in tree.pages().values():
        again.apply(unpacked(page))
    assert again == tree
    assert again.count == 50
