"""Repairs in the sidecar database, as the command line brings them in and the daemon works them off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from syncer.conflict.projection import PROJECTIONS
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.repair import loading
from syncer.repair.loading import bring_in, portions
from syncer.repair.preview import Consent, preview
from syncer.repair.repair_file import DifferingPath, Head, RegionPart, RepairFile, write
from syncer.replacing import replace
from syncer.state.contract.operations import Asked
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views

EAST, WEST = Region("east"), Region("west")
HEAD = Head(
    scope="scope",
    tie_order="smaller",
    projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()},
    regions=(
        RegionPart(region="east", snapshot="e-1", taken_at_ms=20),
        RegionPart(region="west", snapshot="w-1", taken_at_ms=10),
    ),
    made_at_ms=30,
)


ASKED: Final = Asked(by="ann", reason="why")


def finding(number: int, value: bytes | None, cls: str = "differs", **changes: Any) -> DifferingPath:
    path = MetaPath(f"/admin/policies/t{number:03}")
    event = MetadataChangeEvent(
        type=EventType.DELETED if value is None else EventType.MODIFIED,
        resource=ResourceKind.TENANT,
        resource_name=f"t{number:03}",
        path=path,
        value=value,
        stamp=Stamp(Millis(1000), EAST),
        by=Counter("east~1"),
        seen={Counter("east~1"): Millis(1000)},
    )
    plain = DifferingPath(path=path, found_in=EAST, cls=cls, losers=(WEST,), event=event)
    return replace(plain, **changes)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def views(state: SqlState, tmp_path: Path) -> Iterator[Views]:
    with closing(Views.open(f"sqlite:///{tmp_path / 'state.db'}", EAST, clock=lambda: Millis(500))) as opened:
        yield opened


def plan(folder: Path, *findings: DifferingPath, head: Head = HEAD) -> RepairFile:
    path = folder / f"plan-{len(list(folder.iterdir()))}"
    write(path, head, findings)
    return RepairFile(path)


def brought(views: Views, file: RepairFile) -> Repair:
    return bring_in(views, file, ASKED, made_at_ms=Millis(500))


def run(state: SqlState, number: int) -> None:
    with state.transaction() as tx:
        repair = tx.repair(number)
        assert repair is not None
        tx.save_repair(replace(repair, state=RepairState.RUNNING))


def test_a_plan_is_brought_in_whole_and_read_back_to_the_byte(
    state: SqlState, views: Views, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "ROWS_AT_ONCE", 2)
    findings = [
        finding(1, b"\x00\xff"),
        finding(2, None),
        finding(3, b"{}", event=None, origin="unseen"),
        finding(4, b'{"a":"\xc3\xbc"}'),
        finding(5, b"x" * 1_000_000),
    ]
    told: list[int] = []
    repair = bring_in(views, plan(tmp_path, *findings), ASKED, made_at_ms=Millis(7), report=told.append)
    assert told == [2, 4, 5]
    assert (repair.state, repair.total, repair.deletes, repair.taken_at_ms) == (RepairState.READY, 5, 1, 10)
    assert views.repair(repair.id) == repair
    with state.transaction() as tx:
        assert tx.repair() is None, "nobody has asked for it yet"
        assert tx.repair(repair.id) == repair
        rows = tx.tellings(repair.id, 10, 0)
        assert [(row.number, row.path, row.found_in, row.event) for row in rows] == [
            (number, each.path, each.found_in, each.event) for number, each in enumerate(findings, 1)
        ]
        assert [row.number for row in tx.tellings(repair.id, 2, 1)] == [2, 3]
    run(state, repair.id)
    with state.transaction() as tx:
        running = tx.repair()
        assert running is not None
        assert running.id == repair.id


def test_only_what_was_refused_stays_and_what_is_not_decided_yet(state: SqlState, views: Views, tmp_path: Path) -> None:
    repair = brought(views, plan(tmp_path, *(finding(number, b"{}") for number in range(1, 7))))
    with state.transaction() as tx:
        tx.decided(repair.id, 3, [RefusedTelling(2, finding(2, None).path, "held: so\0 it is")])
        assert [row.number for row in tx.tellings(repair.id, 10, 3)] == [4, 5, 6]
    with state.transaction() as tx:
        tx.decided(repair.id, 5, [RefusedTelling(4, finding(4, None).path, "forgotten")])
    found = views.refused_tellings(repair.id, 10)
    assert [(each.number, each.reason[:9]) for each in found] == [(2, "held: so\ufffd"), (4, "forgotten")]
    assert views.refused_tellings(repair.id, 10, after=2) == found[1:]
    assert views.refused_tellings(repair.id, 1) == found[:1]


def test_a_damaged_plan_leaves_nothing_in_the_database(views: Views, tmp_path: Path) -> None:
    file = plan(tmp_path, *(finding(number, b"{}") for number in range(1, 7)))
    content = file.path.read_bytes()
    for damaged in (content[:-20], content.replace(b"t006", b"t007"), content[: content.rindex(b'{"end"')]):
        file.path.write_bytes(damaged)
        with pytest.raises(PlanInvalid):
            brought(views, file)
    with pytest.raises(PlanInvalid, match="names no path"):
        brought(views, plan(tmp_path))
    assert views.repairs(10) == []


def test_what_another_version_compares_in_another_way_is_refused(views: Views, tmp_path: Path) -> None:
    head = HEAD.model_copy(update={"projections": {**HEAD.projections, "tenant": "another"}})
    with pytest.raises(PreconditionFailed, match="tenant"):
        brought(views, plan(tmp_path, finding(1, b"{}"), head=head))
    assert views.repairs(10) == []


def test_repairs_go_with_the_journal_of_their_time_in_portions(state: SqlState, views: Views, tmp_path: Path) -> None:
    over, waiting, running = (
        brought(views, plan(tmp_path, *(finding(number, b"{}") for number in range(1, 6)))) for _ in range(3)
    )
    run(state, running.id)
    with state.transaction() as tx:
        tx.decided(over.id, 2, [RefusedTelling(1, finding(1, None).path, "held")])
        tx.save_repair(replace(over, state=RepairState.CANCELLED, finished_at_ms=Millis(600)))
    with state.transaction() as tx:
        assert tx.prune(Millis(100), 2) == 2, "what will never be told goes, however young it is"
        assert tx.prune(Millis(100), 2) == 1
        assert tx.prune(Millis(100), 2) == 0
    assert [each.path for each in views.refused_tellings(over.id, 9)] == [finding(1, None).path]
    with state.transaction() as tx:
        while tx.prune(Millis(601), 2):
            pass
        assert (tx.repair(over.id), tx.repair(waiting.id)) == (None, None)
        assert len(tx.tellings(running.id, 10, 0)) == 5
        assert tx.tellings(waiting.id, 10, 0) == []
    assert [each.id for each in views.repairs(10)] == [running.id]


def test_the_daemon_is_asked_with_what_a_person_lets_pass(state: SqlState, views: Views, tmp_path: Path) -> None:
    repair = brought(views, plan(tmp_path, finding(1, b"{}")))
    (number,) = loading.ask_for(views, repair, Consent(deletes=True), ASKED)
    with state.transaction() as tx:
        (operation,) = tx.pending_operations(9)
    assert (operation.id, operation.kind, operation.asked_by, operation.reason) == (
        number,
        "snapshot-sync",
        "ann",
        "why",
    )
    assert operation.arguments == {"repair": str(repair.id), "allow_deletes": "true", "force_old": "false"}


def test_a_preview_counts_by_region_and_says_what_a_native_one_may_ignore(tmp_path: Path) -> None:
    north = Region("north")
    found = preview(
        plan(
            tmp_path,
            finding(1, b"{}", losers=(WEST, north), held={WEST: "first-contact"}),
            finding(2, None, "deleted", written_ms={WEST: 1001}),
            finding(3, b"{}", written_ms={WEST: 1000}),
            finding(4, b"{}", "only-in"),
            finding(5, b"{}"),
            finding(6, b"{}", event=None, origin="store"),
            finding(7, None, "deleted", held={EAST: "mass-delete"}),
        ),
        native=[WEST],
    )
    assert dict(found.changes) == {
        (WEST, "wait for a person"): 1,
        (north, "create or change"): 1,
        (WEST, "delete"): 1,
        (WEST, "create or change"): 3,
    }
    assert found.ignored == {WEST: 3}, "what was written there later; and where nobody knows when, it may be"
    assert (found.unstamped, found.paths, found.deletes, len(found.shown)) == ({EAST: 2}, 7, 2, 7)


def test_a_delete_that_its_region_holds_back_is_told_by_nobody(state: SqlState, views: Views, tmp_path: Path) -> None:
    held = finding(1, None, "deleted", held={EAST: "mass-delete"})
    waits = finding(2, None, "deleted", held={WEST: "mass-delete", EAST: "first-contact"})
    repair = brought(views, plan(tmp_path, held, waits))
    with state.transaction() as tx:
        assert [row.event for row in tx.tellings(repair.id, 9, 0)] == [None, waits.event]


def test_portions_are_bounded_by_rows_and_by_bytes(views: Views, state: SqlState, tmp_path: Path) -> None:
    repair = brought(views, plan(tmp_path, *(finding(number, b"x" * 10) for number in range(1, 8))))
    with state.transaction() as tx:
        rows = tx.tellings(repair.id, 10, 0)
    assert [len(each) for each in portions(rows, rows_at_once=3, bytes_at_once=10**6)] == [3, 3, 1]
    assert [len(each) for each in portions(rows, rows_at_once=100, bytes_at_once=20)] == [2, 2, 2, 1]
    assert list(portions([], rows_at_once=3, bytes_at_once=9)) == []
