"""Laws of plans: what a plan makes is what the other side holds, what its reverse makes is what was there."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from syncer.backup.layout import CLOSING, OPENING, ResourceReader, file_of, resource_text
from syncer.conflict.projection import PROJECTIONS, WITHHELD, parse
from syncer.conflict.withholding import carried_value, withholds
from syncer.errors import PlanInvalid, PlanStale, ValueInvalid
from syncer.model import MetaPath, Millis, Region, ResourceKind
from syncer.plan.diffing import diff, differing, fingerprint, operation, pictured, readable
from syncer.plan.operations import Action, Plan, Standing
from syncer.plan.rendering import changes, summary
from syncer.planning.plan_file import from_text, to_text
from tests.property.strategies import PATH_OF_KIND, documents, encoded

HERE: Final = Region("east")
PATHS: Final = tuple(
    MetaPath(path)
    for path in (
        "/admin/clusters/blue",
        "/admin/clusters/blue/namespaceIsolationPolicies",
        "/admin/resourcegroups/gold",
        *(f"/admin/policies/{tenant}" for tenant in ("acme", "zeta")),
        *(f"/admin/policies/{tenant}/{name}" for tenant in ("acme", "zeta") for name in ("a", "b")),
        *(f"/admin/partitioned-topics/{tenant}/a/persistent/t{n}" for tenant in ("acme", "zeta") for n in (1, 2)),
        "/admin/topic-policies/global/persistent/acme/a/t1",
    )
)

values = st.one_of(documents().map(encoded), st.binary(min_size=1, max_size=12))


def in_a_store(held: dict[MetaPath, bytes]) -> dict[MetaPath, bytes]:
    """A value that is withheld whole leaves its store in no form: it is a law of its own."""
    return {path: b"{}" if carried_value(path, value) == WITHHELD else value for path, value in held.items()}


stores = st.dictionaries(st.sampled_from(PATHS), values, max_size=6).map(in_a_store)
raw = st.one_of(
    values, st.sampled_from([b"", b"[]", b"null", b'{"a":NaN}', b'{"a":"\\ud800","n":12345678901234567890123}'])
)


def made(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes], *, deletes: bool = True) -> Plan:
    return diff(here, there, region=HERE, source="west", made_at_ms=Millis(1), deletes=deletes)


@given(here=stores, there=stores)
def test_a_performed_plan_projects_to_the_other_side(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]) -> None:
    after = made(here, there).apply_to(here)
    assert pictured(after) == pictured(there)
    assert made(after, there).operations == ()


@given(here=stores, there=stores)
def test_the_reverse_brings_back_every_byte(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]) -> None:
    plan = made(here, there)
    after = plan.apply_to(here)
    again = plan.reversed().apply_to(after)
    assert {path: carried_value(path, value) for path, value in again.items()} == {
        path: carried_value(path, value) for path, value in here.items()
    }
    assert {path: value for path, value in again.items() if not withholds(path)} == {
        path: value for path, value in here.items() if not withholds(path)
    }
    assert plan.reversed().reversed().operations == plan.operations


@given(held=stores)
def test_what_is_equal_needs_nothing(held: dict[MetaPath, bytes]) -> None:
    plan = made(held, dict(held))
    assert plan.operations == ()
    assert plan.left == ()
    assert list(differing(pictured(held), pictured(held), lambda _path: True)) == []


@given(here=stores, there=stores)
def test_without_deletes_nothing_goes_and_what_is_left_is_named(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]
) -> None:
    plan = made(here, there, deletes=False)
    assert set(plan.left) == here.keys() - there.keys()
    assert plan.apply_to(here).keys() == here.keys() | there.keys()


@given(here=stores, there=stores)
def test_parents_come_before_their_children_and_go_after_them(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]
) -> None:
    plan = made(here, there)
    for each in (plan, plan.reversed()):
        place = {one.path: index for index, one in enumerate(each.operations)}
        for one in each.operations:
            parent = one.resource.parent
            if parent not in place:
                continue
            if one.action is not Action.DELETE:
                assert each.operations[place[parent]].action is Action.DELETE or place[parent] < place[one.path]
            elif each.operations[place[parent]].action is Action.DELETE:
                assert place[one.path] < place[parent]


@given(here=stores, there=stores)
def test_an_update_leaves_what_belongs_to_the_cluster(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]
) -> None:
    for each in made(here, there).operations:
        if each.before is None or each.after is None or not (readable(each.before) and readable(there[each.path])):
            continue
        projection = PROJECTIONS[each.resource.kind]
        assert projection.own(parse(each.before)) == projection.own(parse(each.after))


@given(here=documents(), there=documents())
def test_a_plan_has_no_secret_of_a_cluster_and_what_it_writes_keeps_it(
    here: dict[str, Any], there: dict[str, Any]
) -> None:
    path = PATHS[0]
    ours = {**here, "authenticationParameters": "ours", "serviceUrl": "http://ours"}
    theirs = {**there, "authenticationParameters": "theirs", "serviceUrl": "http://user:theirs@theirs"}
    made_here = operation(path, encoded(ours), encoded(theirs))
    if made_here is not None:
        assert b"uthentication" not in (made_here.before or b"") + (made_here.after or b"")
        written = parse(made_here.written(encoded(ours)) or b"")
        assert PROJECTIONS[ResourceKind.CLUSTER].own(written) == PROJECTIONS[ResourceKind.CLUSTER].own(ours)
    born = operation(path, None, encoded(theirs))
    assert born is not None
    assert b"theirs" not in (born.after or b"")
    assert b"theirs" not in (born.written(None) or b"")


def test_a_cluster_that_cannot_be_read_is_in_no_plan_and_never_written() -> None:
    made_here = operation(PATHS[0], b"secret", b"{}")
    assert made_here is not None
    assert made_here.before == WITHHELD
    assert made_here.standing(b"secret") is Standing.READY
    assert made_here.written(b"secret") == b"{}"
    with pytest.raises(ValueInvalid):
        made_here.reversed().written(b"{}")


@given(here=stores, there=stores)
def test_performing_twice_is_performing_once(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]) -> None:
    plan = made(here, there)
    once = plan.apply_to(here)
    assert plan.apply_to(once) == once
    assert all(each.standing(once.get(each.path)) is Standing.ALREADY for each in plan.operations)


@given(here=stores, there=stores, data=st.data())
def test_a_changed_store_is_refused_whole(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes], data: st.DataObject
) -> None:
    plan = made(here, there)
    assume(plan.operations)
    changed = data.draw(st.sampled_from(plan.operations))
    later = {**here, changed.path: b'{"changed":"since","peerClusterNames":["since"]}'}
    with pytest.raises(PlanStale, match=f"^{changed.path}: changed since"):
        plan.apply_to(later)


@given(here=stores, there=stores)
def test_the_parts_of_two_pictures_that_differ_are_the_operations(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]
) -> None:
    found = list(differing(pictured(here), pictured(there), lambda path: "acme" in path))
    assert found == sorted(each.path for each in made(here, there).operations if "acme" in each.path)
    for path in here.keys() & there.keys():
        assert (operation(path, here[path], there[path]) is None) == (
            fingerprint(path, here[path]) == fingerprint(path, there[path])
        )


@given(here=stores, there=stores)
def test_a_plan_survives_its_file(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]) -> None:
    plan = made(here, there, deletes=False)
    assert from_text(to_text(plan)) == plan
    assert to_text(from_text(to_text(plan))) == to_text(plan)


@given(here=stores, there=stores, place=st.integers(0), to=st.integers(0, 255))
def test_a_changed_plan_file_is_refused_or_the_same(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes], place: int, to: int
) -> None:
    plan = made(here, there)
    text = bytearray(to_text(plan).encode())
    text[place % len(text)] = to
    with contextlib.suppress(PlanInvalid):
        assert from_text(bytes(text)) == plan


@given(here=stores, there=stores)
def test_every_operation_can_be_told(here: dict[MetaPath, bytes], there: dict[MetaPath, bytes]) -> None:
    for each in made(here, there).operations:
        if each.action is Action.UPDATE:
            assert summary(each)
            if readable(each.before) and readable(each.after):
                assert changes(each)
        else:
            assert summary(each) == ""
            assert changes(each) == ()


@given(kind=st.sampled_from(ResourceKind), value=raw)
def test_a_value_survives_a_backups_file(kind: ResourceKind, value: bytes) -> None:
    path = PATH_OF_KIND[kind]
    reader = ResourceReader(file_of(path))
    text = f"{OPENING}{resource_text(path, value)}\n{CLOSING}"
    found = [taken for line in text.encode().splitlines(keepends=True) if (taken := reader.take(line.decode()))]
    reader.end()
    ((read_path, read_value),) = found
    assert read_path == path
    assert fingerprint(path, read_value) == fingerprint(path, value)
    if readable(value):
        assert parse(read_value) == parse(value)
    else:
        assert read_value == value
