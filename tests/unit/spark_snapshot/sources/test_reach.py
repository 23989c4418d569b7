"""What is asked for: every resource lies where readers look, and every reader's share is a part of one whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.reach import FIRST_FORM, LEVELS, Reach, Share, levels_below
from syncer.conflict.scope import ALLOWED_PREFIXES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Revision
from syncer.paths import classify, first_form_namespace, is_under, tenant_of

SCOPES = (
    Scope(),
    Scope([Rule("/admin/policies/a/*", Direction.BOTH), Rule("/admin/policies/*", Direction.APPLY)]),
    Scope([Rule("/admin/policies/*/a", Direction.IGNORE), Rule("/admin/policies/**", Direction.BOTH)]),
    Scope([Rule("/admin/partitioned-topics/a/**/b", Direction.BOTH), Rule("/admin/clusters/a*", Direction.BOTH)]),
    Scope([Rule("/admin/policies/a", Direction.BOTH), Rule("/admin/topic-policies/global/**/a-*", Direction.PUBLISH)]),
)
EVERYTHING = Scope([Rule(f"{prefix}/**", Direction.BOTH) for prefix in ALLOWED_PREFIXES])
together = Reach().together
NAMES = st.sampled_from(["a", "b", "persistent", "non-persistent", "a-b", "é"])


@st.composite
def paths(draw: st.DrawFn) -> MetaPath:
    """Paths at, above and below those of resources."""
    prefix = draw(st.sampled_from(ALLOWED_PREFIXES))
    names = draw(st.lists(NAMES, max_size=5))
    tail = draw(st.sampled_from(["", "/namespaceIsolationPolicies"]))
    return MetaPath("/".join([prefix, *names]) + tail)


def test_every_prefix_has_its_levels() -> None:
    assert set(LEVELS) == set(ALLOWED_PREFIXES)


@given(path=paths(), tenants=st.none() | st.frozensets(NAMES | st.just(""), max_size=3), under=st.none() | paths())
def test_what_is_wanted_lies_below_a_root_and_on_a_way_that_is_entered(
    path: MetaPath, tenants: frozenset[str] | None, under: MetaPath | None
) -> None:
    reach = Reach(scope=EVERYTHING, tenants=tenants, under=under)
    if not reach.wants(path):
        return
    (root,) = [root for root in reach.roots if is_under(path, root)]
    way = path
    while way != root:
        way = MetaPath(way.rpartition("/")[0])
        assert reach.enters(way), way
    assert levels_below(root) >= path.count("/") - root.count("/")


@given(path=paths(), tenants=st.frozensets(NAMES | st.just(""), min_size=1, max_size=3))
def test_of_tenants_only_theirs_is_wanted(path: MetaPath, tenants: frozenset[str]) -> None:
    everything, theirs = Reach(scope=EVERYTHING), Reach(scope=EVERYTHING, tenants=tenants)
    assert theirs.wants(path) == (everything.wants(path) and tenant_of(path) in tenants)


@given(tenants=st.frozensets(NAMES | st.just(""), max_size=5), under=st.none() | paths())
def test_no_root_lies_in_another(tenants: frozenset[str], under: MetaPath | None) -> None:
    roots = Reach(scope=EVERYTHING, tenants=tenants, under=under).roots
    assert not [(one, other) for one in roots for other in roots if one != other and is_under(one, other)]


@given(path=paths(), of=st.integers(1, 5))
def test_a_path_is_in_one_share_and_its_reader_gets_there(path: MetaPath, of: int) -> None:
    holders = [share for share in (Share(index, of) for index in range(of)) if share.holds(together(path))]
    assert len(holders) == 1
    way = path
    while way.count("/") > 2:
        way = MetaPath(way.rpartition("/")[0])
        assert holders[0].enters(together(way)), way


@given(
    path=paths(),
    scope=st.sampled_from((*SCOPES, EVERYTHING)),
    tenants=st.none() | st.frozensets(NAMES | st.just(""), max_size=3),
    under=st.none() | paths(),
    of=st.integers(1, 3),
    data=st.data(),
)
def test_what_is_decided_for_a_folder_is_what_each_path_in_it_says(
    path: MetaPath, scope: Scope, tenants: frozenset[str] | None, under: MetaPath | None, of: int, data: st.DataObject
) -> None:
    reach = Reach(scope=scope, tenants=tenants, under=under)
    share = Share(data.draw(st.integers(0, of - 1)), of)
    folders = Folders(reach, share)
    above = path.rpartition("/")[0]
    names = [path.rpartition("/")[2], "a", "persistent", "namespaceIsolationPolicies", "", "b-c"]
    wanted = []
    for name in names:
        child = MetaPath(f"{above}/{name}")
        resource = classify(child)
        found = folders.found(child, b"{}", None, Revision("1"))
        mine = reach.wants(child) and share.holds(together(child))
        assert folders.wants(child) == (found is not None) == mine, child
        if found is not None:
            assert resource is not None
            assert (found.kind, found.tenant) == (resource.kind.value, tenant_of(child))
            wanted.append(name)
    listed = [name for name in names if name]
    assert list(folders.at(above).sift(listed)) == wanted


@given(path=paths(), scope=st.sampled_from((*SCOPES, EVERYTHING)))
def test_the_direction_below_a_folder_is_that_of_every_resource_in_it(path: MetaPath, scope: Scope) -> None:
    folder = MetaPath(path.rpartition("/")[0])
    below = scope.direction_below(folder)
    for name in (path.rpartition("/")[2], "a", "b-c", "__a"):
        child = MetaPath(f"{folder}/{name}")
        if below is not None and classify(child) is not None:
            assert scope.direction(child) == below


@pytest.mark.parametrize(
    "below",
    [
        "/admin/partitioned-topics/t/n/persistent/topic",
        "/admin/topic-policies/global/t/n/persistent/topic",
        "/admin/topic-policies/global/persistent/t/n/topic",
    ],
)
def test_a_namespace_is_read_together(below: str) -> None:
    for of in (2, 3, 4):
        shares = [Share(index, of) for index in range(of)]
        (holder,) = [share for share in shares if share.holds(together(MetaPath(below)))]
        assert holder.holds(together(MetaPath("/admin/policies/t/n")))


@given(tenants=st.none() | st.frozensets(NAMES), under=st.none() | paths())
def test_text_and_back(tenants: frozenset[str] | None, under: MetaPath | None) -> None:
    for scope in (Scope(), EVERYTHING):
        reach = Reach(scope=scope, tenants=tenants, under=under)
        again = Reach.from_json(reach.to_json())
        assert (again.scope.rules, again.tenants, again.under) == (scope.rules, tenants, under)


ALONE: Final = MetaPath("/admin/policies/property/cluster/namespace")


@given(
    path=paths(), tenants=st.none() | st.frozensets(NAMES, max_size=3), under=st.none() | paths(), of=st.integers(1, 3)
)
@example(path=ALONE, tenants=None, under=ALONE, of=2)
def test_namespaces_of_the_first_form_are_found_beside_what_is_wanted_and_change_nothing_of_it(
    path: MetaPath, tenants: frozenset[str] | None, under: MetaPath | None, of: int
) -> None:
    plain = Reach(scope=EVERYTHING, tenants=tenants, under=under)
    reach = Reach.from_json(replace(plain, first_form=True).to_json())
    assert reach.first_form
    shares = [Share(index, of) for index in range(of)]
    found = [each for share in shares if (each := Folders(reach, share).found(path, b"{}", None, Revision("1")))]
    wanted = [each for share in shares if (each := Folders(plain, share).found(path, b"{}", None, Revision("1")))]
    of_first_form = first_form_namespace(path) is not None
    reached = (tenants is None or tenant_of(path) in tenants) and (under is None or is_under(path, under))
    assert [(each.path, each.kind, each.tenant) for each in found if of_first_form] == (
        [(path, FIRST_FORM, path.split("/")[3])] if of_first_form and reached else []
    )
    assert [each for each in found if not of_first_form] == wanted
    roots: list[MetaPath | None] = [root for root in reach.roots if is_under(path, root)]
    (root,) = roots or [None]
    way = path
    while found and root is not None and way != root:
        way = MetaPath(way.rpartition("/")[0])
        assert reach.enters(way), way
    assert root is not None or not found
    if found and root is not None:
        assert reach.levels_below(root) >= path.count("/") - root.count("/")
