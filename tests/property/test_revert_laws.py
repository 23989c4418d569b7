"""Laws of taking a repair back: the snapshot's version where the repair's still stands, and nothing anywhere else."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.plan.diffing import pictured
from syncer.repair.revert import Given, Reverse, Winner, reverse_of
from tests.property.test_plan_laws import PATHS, made, stores, values

TOLD: Final = Stamp(Millis(5), Region("west"))
LATER: Final = Stamp(Millis(6), Region("east"))
Values = dict[MetaPath, bytes]
Changes = dict[MetaPath, bytes | None]

changes = st.dictionaries(st.sampled_from(PATHS), st.none() | values, max_size=6)


def given_by(repair: Changes) -> Given:
    held = pictured({path: value for path, value in repair.items() if value is not None})
    return Given(snapshot="e-1", winners={path: Winner(held.get(path), TOLD) for path in repair})


def changed(held: Values, by: Changes) -> Values:
    """A store in which all that was written."""
    rest = {path: value for path, value in held.items() if path not in by}
    return {**rest, **{path: value for path, value in by.items() if value is not None}}


def taken_back(
    before: Values, now: Values, repair: Changes, stamps: dict[MetaPath, Stamp], *, deletes: bool
) -> Reverse:
    there, here = ({path: held[path] for path in repair if path in held} for held in (before, now))
    return reverse_of(given_by(repair), made(here, there), pictured(here), deletes=deletes, stamp_of=stamps.get)


@given(before=stores, repair=changes)
def test_a_repair_that_nobody_touched_is_taken_back_whole(before: Values, repair: Changes) -> None:
    now = changed(before, repair)
    found = taken_back(before, now, repair, dict.fromkeys(repair, TOLD), deletes=True)
    assert (found.others, found.plan.left) == ((), ())
    assert pictured(found.plan.apply_to(now)) == pictured(before)
    assert found.unchanged + len(found.plan.operations) == len(repair)


@given(before=stores, repair=changes, since=changes, deletes=st.booleans())
def test_what_was_changed_since_stays_and_is_named(
    before: Values, repair: Changes, since: Changes, deletes: bool
) -> None:
    now = changed(changed(before, repair), since)
    stamps = {path: LATER if path in since else TOLD for path in PATHS}
    found = taken_back(before, now, repair, stamps, deletes=deletes)
    after, was, is_now = pictured(found.plan.apply_to(now)), pictured(before), pictured(now)
    for path in PATHS:
        mine = path in repair and path not in since and is_now.get(path) != was.get(path)
        left = mine and path not in was and not deletes
        assert after.get(path) == (was.get(path) if mine and not left else is_now.get(path))
        assert (path in found.plan.left) == left
        assert (path in found.others) == (path in repair and path in since and is_now.get(path) != was.get(path))


@given(before=stores, repair=changes, since=changes)
def test_where_nobody_knows_the_stamp_the_value_tells(before: Values, repair: Changes, since: Changes) -> None:
    now = changed(changed(before, repair), since)
    found, told = taken_back(before, now, repair, {}, deletes=True), given_by(repair)
    after, was, is_now = pictured(found.plan.apply_to(now)), pictured(before), pictured(now)
    for path in PATHS:
        stands = path in repair and is_now.get(path) == told.winners[path].digest
        assert after.get(path) == (was.get(path) if stands else is_now.get(path))
