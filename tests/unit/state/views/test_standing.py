"""What stands and waits for an operator, as it is summed up for notices."""

from __future__ import annotations

from dataclasses import replace

from syncer.conflict.acts import RecordConflict
from syncer.conflict.register import Hold, HoldReason
from syncer.model import Digest, MetaPath, Millis, Stamp
from syncer.notices.rules import MAX_PATHS, Outstanding
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.state.views.standing import FROM_THE_FUTURE
from tests.unit.state.test_contract import EAST, T0, event, living, stamp


def test_where_nothing_waits_nothing_stands(views: Views) -> None:
    assert views.standing_holds() == views.standing_conflicts() == views.standing_quarantine() == Outstanding(count=0)


def test_holds_are_counted_by_reason_with_the_first_paths(state: SqlState, views: Views) -> None:
    def held(number: int, reason: HoldReason) -> Hold:
        return Hold(reason=reason, stamp=stamp(T0 + number), since_ms=Millis(T0 + number), detail="")

    many = [
        replace(living(f"/p{number:02}"), hold=held(number, HoldReason.MASS_DELETE)) for number in range(MAX_PATHS + 2)
    ]
    one = replace(living("/a"), hold=held(90, HoldReason.FLAPPING))
    later = event("/b", T0 + 5)
    with state.transaction() as work:
        work.save([*many, one, living("/free")])
        work.hold_event(later, later.stamp.updated_at_ms, Millis(T0 - 7))
    found = views.standing_holds()
    assert found.count == MAX_PATHS + 4
    assert (found.newest, found.since_ms) == (T0 + 90, T0 - 7)
    assert found.reasons == (("mass-delete", MAX_PATHS + 2), ("flipping", 1), (FROM_THE_FUTURE, 1))
    assert found.paths == ("/a", "/b", *(f"/p{number:02}" for number in range(MAX_PATHS - 2)))


def test_conflicts_and_quarantine_go_by_their_numbers(state: SqlState, views: Views) -> None:
    lost = RecordConflict(
        path=MetaPath("/c"),
        loser=Stamp(Millis(T0), EAST),
        loser_seen={},
        loser_digest=Digest(b"d"),
        value=b"secret",
        winner=stamp(T0 + 1),
    )
    with state.transaction() as work:
        work.conflict(lost, Millis(3))
        work.conflict(replace(lost, loser=Stamp(Millis(T0 + 1), EAST)), Millis(4))
        work.quarantine(DeadLetter(origin="bus", code="odd", detail="", position="1"), Millis(8))
    conflicts, quarantine = views.standing_conflicts(), views.standing_quarantine()
    assert (conflicts.count, conflicts.newest, conflicts.since_ms, conflicts.paths) == (2, 2, 3, ("/c",))
    assert quarantine == Outstanding(count=1, newest=1, since_ms=8, reasons=(("odd", 1),))
