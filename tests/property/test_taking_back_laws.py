"""Laws of taking a repair back: the snapshot's version where the repair's still stands, and nothing anywhere else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.model import Digest, MetaPath
from syncer.plan.diffing import pictured
from syncer.planning.taking_back import Given, still_standing
from tests.property.test_plan_laws import PATHS, made, stores, values

repairs = st.dictionaries(st.sampled_from(PATHS), st.none() | values, max_size=6)


def given_by(repair: dict[MetaPath, bytes | None]) -> Given:
    held = pictured({path: value for path, value in repair.items() if value is not None})
    winners: dict[MetaPath, Digest | None] = {path: held.get(path) for path in repair}
    return Given(snapshot="e-1", winners=winners)


def repaired(held: dict[MetaPath, bytes], repair: dict[MetaPath, bytes | None]) -> dict[MetaPath, bytes]:
    """A store that has taken all that it was told."""
    rest = {path: value for path, value in held.items() if path not in repair}
    return {**rest, **{path: value for path, value in repair.items() if value is not None}}


@given(before=stores, repair=repairs)
def test_a_repair_that_nobody_touched_is_taken_back_whole(
    before: dict[MetaPath, bytes], repair: dict[MetaPath, bytes | None]
) -> None:
    now = repaired(before, repair)
    there = {path: value for path, value in before.items() if path in repair}
    here = {path: value for path, value in now.items() if path in repair}
    plan, others = still_standing(made(here, there), given_by(repair))
    assert others == []
    assert pictured(plan.apply_to(now)) == pictured(before)


@given(before=stores, repair=repairs, since=repairs)
def test_what_was_changed_since_stays_and_is_named(
    before: dict[MetaPath, bytes], repair: dict[MetaPath, bytes | None], since: dict[MetaPath, bytes | None]
) -> None:
    now = repaired(repaired(before, repair), since)
    there = {path: value for path, value in before.items() if path in repair}
    here = {path: value for path, value in now.items() if path in repair}
    told = given_by(repair)
    plan, others = still_standing(made(here, there), told)
    after, was, is_now = pictured(plan.apply_to(now)), pictured(before), pictured(now)
    for path in PATHS:
        stands = path in repair and is_now.get(path) == told.winners[path]
        assert after.get(path) == (was.get(path) if stands else is_now.get(path))
        named = path in repair and not stands and is_now.get(path) != was.get(path)
        assert (path in others) == named
