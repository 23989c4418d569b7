"""What a repair plan gives a region, as far as that region can take it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.conflict.register import HoldReason
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import MetaPath, Region
from syncer.plan.diffing import fingerprint
from syncer.repair.repair_file import RepairFile, write
from syncer.repair.revert import Winner, given_to
from tests.unit.repair.test_repair_file import EAST, FINDINGS, HEAD, WEST, finding


def test_a_region_is_given_what_it_lost_and_what_was_told(tmp_path: Path) -> None:
    path = tmp_path / "repair"
    kept_back = finding("kept-back", b"{}", held={EAST: HoldReason.MASS_DELETE.value})
    write(path, HEAD, [*FINDINGS, finding("other", b"{}", losers=(EAST,)), kept_back])
    found = given_to(WEST, RepairFile(path))
    assert found.snapshot == "w-1"
    events = [each.event for each in FINDINGS if each.event is not None]
    assert found.winners == {
        each.path: Winner(None if each.value is None else fingerprint(each.path, each.value), each.stamp)
        for each in events
    }
    assert given_to(EAST, RepairFile(path)).winners.keys() == {MetaPath("/admin/policies/other")}


def test_a_region_that_is_not_in_it_or_that_it_does_not_change_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "repair"
    write(path, HEAD, FINDINGS)
    with pytest.raises(PreconditionFailed, match="compares east, west, and not region north"):
        given_to(Region("north"), RepairFile(path))
    with pytest.raises(PreconditionFailed, match="changes nothing in region east"):
        given_to(EAST, RepairFile(path))


def test_a_plan_that_was_cut_off_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "repair"
    write(path, HEAD, FINDINGS)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(PlanInvalid, match="cut off"):
        given_to(WEST, RepairFile(path))
