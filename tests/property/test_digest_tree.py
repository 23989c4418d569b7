"""Laws of the digest tree: order means nothing, steps equal the whole, a difference is found exactly where it is."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.digest_tree import BUCKETS, GROUPS, Changes, DigestTree, bucket_of, note, packed, unpacked
from syncer.model import Digest, MetaPath

paths = st.integers(0, 60).map("/admin/policies/t{}".format).map(MetaPath)
digests = st.integers(0, 3).map(lambda number: Digest(bytes((number,)) * 16))
pictures = st.dictionaries(paths, digests, max_size=30)
steps = st.lists(st.tuples(paths, st.none() | digests), max_size=60)


def tree_of(picture: dict[MetaPath, Digest]) -> DigestTree:
    """Summed at once."""
    changes: Changes = {}
    for path, digest in picture.items():
        note(changes, path, None, digest)
    tree = DigestTree()
    tree.apply(changes)
    return tree


@given(pictures, st.randoms(use_true_random=False))
def test_the_order_of_paths_means_nothing(picture: dict[MetaPath, Digest], chance: Random) -> None:
    shuffled = list(picture.items())
    chance.shuffle(shuffled)
    assert tree_of(dict(shuffled)) == tree_of(picture)


@given(steps, st.integers(1, 10))
def test_sums_kept_up_step_by_step_are_those_of_the_whole(
    history: list[tuple[MetaPath, Digest | None]], batch: int
) -> None:
    tree, picture = DigestTree(), dict[MetaPath, Digest]()
    for start in range(0, len(history), batch):
        changes: Changes = {}
        for path, digest in history[start : start + batch]:
            note(changes, path, picture.get(path), digest)
            if digest is None:
                picture.pop(path, None)
            else:
                picture[path] = digest
        tree.apply(unpacked(packed(changes)))
    whole = tree_of(picture)
    assert tree == whole
    assert (tree.root, tree.count, tree.groups) == (whole.root, len(picture), whole.groups)


@given(pictures, pictures)
def test_two_trees_differ_in_exactly_the_buckets_of_differing_paths(
    ours: dict[MetaPath, Digest], theirs: dict[MetaPath, Digest]
) -> None:
    expected = {bucket_of(path) for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)}
    one, other = tree_of(ours), tree_of(theirs)
    groups = [group for group in range(GROUPS) if one.groups[group] != other.groups[group]]
    found = {bucket for group in groups for bucket in one.differing(group, other.buckets(group), 64)}
    assert found == expected
    assert {bucket // BUCKETS for bucket in expected} == set(groups)
    assert (one.root == other.root) is (not expected)


@given(pictures)
def test_pages_make_the_same_tree_again(picture: dict[MetaPath, Digest]) -> None:
    tree, again = tree_of(picture), DigestTree()
    for page in tree.pages().values():
        again.apply(unpacked(page))
    assert again == tree


@given(pictures)
def test_what_was_added_can_be_taken_out(picture: dict[MetaPath, Digest]) -> None:
    tree = tree_of(picture)
    changes: Changes = {}
    for path, digest in picture.items():
        note(changes, path, digest, None)
    tree.apply(changes)
    assert tree == DigestTree()
    assert (tree.root, tree.count) == (0, 0)
