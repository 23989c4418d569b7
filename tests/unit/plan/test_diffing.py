"""Differences of sides of which one was not completed: newer fields that it lacks are unknown, and never removed."""

from __future__ import annotations

import json

import pytest

from syncer.model import MetaPath, Region
from syncer.plan.diffing import WholeSides, assumed, diff, operation
from syncer.plan.rendering import changes
from tests.support.planning import NOW, value

SPACE = MetaPath("/admin/policies/acme/orders")
NEWER = {"is_allow_auto_update_schema_with_replicator": False}
WHOLE, RAW = value(message_ttl_in_seconds=60, **NEWER), value(message_ttl_in_seconds=60)
OTHER = value(message_ttl_in_seconds=61)


@pytest.mark.parametrize(
    ("here", "there", "sides"),
    [
        (WHOLE, RAW, WholeSides(there=False)),
        (RAW, WHOLE, WholeSides(here=False)),
        (WHOLE, RAW, WholeSides(here=False, there=False)),
        (RAW, WHOLE, WholeSides(here=False, there=False)),
    ],
)
def test_what_is_unknown_is_no_difference(here: bytes, there: bytes, sides: WholeSides) -> None:
    assert operation(SPACE, here, there, sides) is None


@pytest.mark.parametrize(
    ("here", "there", "sides"),
    [(WHOLE, RAW, WholeSides()), (WHOLE, RAW, WholeSides(here=False)), (RAW, WHOLE, WholeSides(there=False))],
)
def test_what_is_known_is_one(here: bytes, there: bytes, sides: WholeSides) -> None:
    made = operation(SPACE, here, there, sides)
    assert made is not None
    assert [each.field for each in changes(made)] == [*NEWER]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_default_that_a_newer_version_writes_by_itself_is_no_difference(*, swapped: bool) -> None:
    written = value(message_ttl_in_seconds=60, is_allow_auto_update_schema_with_replicator=True)
    assert operation(SPACE, *((RAW, written) if swapped else (written, RAW))) is None


def test_a_plan_for_another_difference_leaves_such_a_default_where_it_is() -> None:
    written = value(message_ttl_in_seconds=61, is_allow_auto_update_schema_with_replicator=True)
    made = operation(SPACE, written, RAW)
    assert made is not None
    assert json.loads(made.after or b"") == {
        "message_ttl_in_seconds": 60,
        "is_allow_auto_update_schema_with_replicator": True,
    }


def test_no_plan_removes_what_the_other_side_lacks_without_evidence() -> None:
    plan = diff(
        {SPACE: WHOLE}, {SPACE: OTHER}, region=Region("a"), source="b", made_at_ms=NOW, whole=WholeSides(there=False)
    )
    (made,) = plan.operations
    assert made.before == WHOLE, "an operation expects what is there"
    assert json.loads(made.after or b"") == {"message_ttl_in_seconds": 61, **NEWER}
    assert [each.field for each in changes(made)] == ["message_ttl_in_seconds"]


def test_a_plan_for_a_side_that_is_not_completed_gives_it_the_field() -> None:
    made = operation(SPACE, OTHER, WHOLE, WholeSides(here=False))
    assert made is not None
    assert (made.before, json.loads(made.after or b"")) == (OTHER, json.loads(WHOLE))


def test_only_one_side_has_it() -> None:
    neither = WholeSides(here=False, there=False)
    made, gone = operation(SPACE, None, RAW, neither), operation(SPACE, WHOLE, None, neither)
    assert made is not None
    assert gone is not None
    assert (made.before, gone.after, operation(SPACE, None, None, neither)) == (None, None, None)


@pytest.mark.parametrize("odd", [b"", b"[]", b"no JSON"])
def test_what_cannot_be_read_assumes_nothing(odd: bytes) -> None:
    assert (assumed(SPACE, odd, WHOLE), assumed(SPACE, RAW, odd)) == (odd, RAW)
    assert assumed(SPACE, RAW, RAW) == RAW
