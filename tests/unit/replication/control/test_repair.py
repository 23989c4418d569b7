"""Two drivers, one of which is asked to tell snapshots again: what it tells, what it refuses, and in what portions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from syncer.bus.wire.codec import encode
from syncer.conflict.register import Hold, HoldReason
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region
from syncer.paths import classify
from syncer.replacing import replace
from syncer.replication.assembly import Parts
from syncer.replication.control import repair
from syncer.replication.control.repair import OUTBOX_ROOM, PORTION, Turn
from syncer.state.contract.membership import JOINING
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.repairs import Repair, RepairState, Telling
from syncer.state.memory import MemoryState
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Pair, Site, both_have, path_of, value_of, version
from tests.unit.replication.local.test_store_migration import scanned

EAST, WEST = Region("east"), Region("west")
A, B, C = map(path_of, ("a", "b", "c"))
DAY_MS = 86_400_000


def event_of(path: MetaPath, edition: int | None, time: int, region: str) -> MetadataChangeEvent:
    known, resource = version(path, edition, time, region), classify(path)
    assert resource is not None
    return MetadataChangeEvent(
        type=EventType.DELETED if edition is None else EventType.MODIFIED,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=None if edition is None else value_of(edition),
        stamp=known.stamp,
        by=known.by,
        seen=known.seen,
    )


def told(*events: MetadataChangeEvent) -> list[Telling]:
    return [
        Telling(number=number, path=event.path, found_in=event.stamp.region, event=event)
        for number, event in enumerate(events, 1)
    ]


def quiet() -> Pair:
    """Two regions that compare nothing and have heard each other."""
    pair = Pair()
    both_have(pair, 30)
    pair.beat(2)
    for site in (pair.east, pair.west):
        parts_of(site.driver).antientropy.exchanges.pace = replace(
            parts_of(site.driver).antientropy.exchanges.pace, pause_ms=10**12
        )
    return pair


def bring(site: Site, tellings: Sequence[Telling], now: int, **changes: Any) -> int:
    """What the command line does."""
    parts, database = parts_of(site.driver), site.state.database
    number = len(database.repairs) + 1
    deletes = sum(each.event is not None and each.event.value is None for each in tellings)
    repair = Repair(
        id=number,
        state=RepairState.READY,
        regions=(EAST, WEST),
        taken_at_ms=Millis(now - 1),
        rules=(parts.core.scope.fingerprint, parts.core.replica.settings.ties.value),
        asked_by="a test",
        reason="",
        made_at_ms=Millis(now),
        total=len(tellings),
        deletes=deletes,
    )
    database.repairs[number] = replace(repair, **changes)
    database.tellings.update({(number, each.number): each for each in tellings})
    return number


def operate(site: Site, kind: str, now: int, **arguments: str) -> Operation:
    number = site.state.ask(kind, arguments, "a test", "")
    site.driver.operate(Millis(now))
    return site.state.database.operations[number][0]


def begin(site: Site, tellings: Sequence[Telling], now: int, **changes: Any) -> int:
    number = bring(site, tellings, now, **changes)
    done = operate(site, "snapshot-sync", now, repair=str(number))
    assert done.state is OperationState.DONE, done.answer
    return number


def run(site: Site, now: int) -> list[Turn]:
    turns: list[Turn] = []
    while not turns or turns[-1] is Turn.MORE:
        turns.append(site.driver.repair(Millis(now)))
    return turns


def repair_of(state: MemoryState, number: int) -> Repair:
    return state.database.repairs[number]


def counts(repair: Repair) -> tuple[int, int, int, int]:
    return repair.done, repair.told, repair.superseded, repair.refused


def test_a_third_regions_version_reaches_both_stores_with_its_own_stamp() -> None:
    pair = quiet()
    event = event_of(A, 5, 500, "north")
    number = begin(pair.east, told(event), pair.now)
    assert run(pair.east, pair.now) == [Turn.MORE, Turn.IDLE]
    pair.beat(2)
    for site in (pair.east, pair.west):
        known = site.known(A)
        assert known is not None
        assert (known.stamp, known.by, known.seen) == (event.stamp, event.by, event.seen)
        assert site.entries[A].value == value_of(5)
    repair = repair_of(pair.east.state, number)
    assert (repair.state, *counts(repair)) == (RepairState.DONE, 1, 1, 0, 0)
    assert not pair.east.state.database.tellings
    assert pair.equal


def test_what_is_known_here_is_told_for_those_who_lack_it_and_a_second_time_changes_nothing() -> None:
    pair = quiet()
    pair.east.has(A, 1, 400)
    before = pair.west.known(A)
    assert before is None
    for _ in range(2):
        number = begin(pair.east, told(event_of(A, 1, 400, "east")), pair.now)
        run(pair.east, pair.now)
        pair.beat(1)
        assert counts(repair_of(pair.east.state, number)) == (1, 1, 0, 0)
        assert pair.west.known(A) == pair.east.known(A)
        assert pair.west.entries[A].value == value_of(1)
    assert not pair.west.state.database.conflicts


def test_what_was_changed_since_the_snapshot_stays_everywhere() -> None:
    pair = quiet()
    pair.east.has(A, 2, 600)
    pair.west.has(B, 2, 600)
    pair.west.has(A, 1, 400, "east")
    old = told(event_of(A, 1, 400, "east"), event_of(B, 1, 400, "west"))
    number = begin(pair.east, old, pair.now)
    run(pair.east, pair.now)
    pair.beat(3)
    assert counts(repair_of(pair.east.state, number)) == (2, 1, 1, 0)
    assert pair.east.entries[B].value == pair.west.entries[B].value == value_of(2)
    assert pair.east.entries[A].value == value_of(2)


def test_a_delete_is_told_and_a_forgotten_one_is_never_raised() -> None:
    pair = quiet()
    pair.west.has(A, 1, 100)
    pair.east.has(B, 1, 100)
    parts_of(pair.east.driver).core.floor = Millis(T0 + 300)
    begun = begin(pair.east, told(event_of(A, None, 301, "east"), event_of(C, 1, 300, "east")), pair.now)
    run(pair.east, pair.now)
    pair.beat(2)
    assert A not in pair.west.entries
    assert pair.east.known(C) is None
    assert pair.west.known(C) is None
    (refused,) = pair.east.state.database.tellings.values()
    assert getattr(refused, "path", None) == C
    assert "forgotten: " in getattr(refused, "reason", "")
    assert counts(repair_of(pair.east.state, begun)) == (2, 1, 0, 1)


def test_a_database_younger_than_the_snapshots_raises_nothing_that_it_does_not_know() -> None:
    pair = quiet()
    parts_of(pair.east.driver).core.renamed(
        replace(parts_of(pair.east.driver).core.identity, generation=pair.now // 1000)
    )
    pair.east.has(B, 1, 100)
    begin(pair.east, told(event_of(A, 1, 500, "west"), event_of(B, 2, 500, "west")), pair.now)
    run(pair.east, pair.now)
    assert pair.east.known(A) is None
    assert pair.east.known(B) == replace(version(B, 2, 500, "west"), value=value_of(2))


def opted_in(path: MetaPath) -> Pair:
    """East leaves a path out, and takes it in again."""
    pair = Pair(Site("east", Scope((Rule(path, Direction.IGNORE), *DEFAULT_RULES))), Site("west"))
    pair.beat(2)
    pair.east.scope = Scope()
    pair.east.begin()
    return pair


def test_a_region_does_not_raise_what_was_deleted_before_it_carried_the_path() -> None:
    pair = opted_in(A)
    scanned(pair.east, Millis(pair.now))
    pair.beat(2)
    number = begin(pair.east, told(event_of(A, 1, 500, "west"), event_of(B, 1, 500, "west")), pair.now)
    run(pair.east, pair.now)
    assert (pair.east.known(A), counts(repair_of(pair.east.state, number))) == (None, (2, 1, 0, 1))
    (refused,) = pair.east.state.database.tellings.values()
    assert (getattr(refused, "path", None), getattr(refused, "reason", "").split(":")[0]) == (A, "came-in")


def test_nothing_is_told_before_the_store_was_read_by_a_wider_scope() -> None:
    pair = opted_in(A)
    number = bring(pair.east, told(event_of(B, 1, 500, "west")), pair.now)
    answered = operate(pair.east, "snapshot-sync", pair.now, repair=str(number))
    assert "since paths came into its scope" in answered.answer
    scanned(pair.east, Millis(pair.now))
    assert operate(pair.east, "snapshot-sync", pair.now, repair=str(number)).state is OperationState.DONE
    pair.east.scope = Scope((Rule(B, Direction.IGNORE), *DEFAULT_RULES))
    pair.east.begin()
    pair.beat(2)
    assert run(pair.east, pair.now) == [Turn.IDLE], "it goes on when the store was read"
    scanned(pair.east, Millis(pair.now))
    assert run(pair.east, pair.now) == [Turn.MORE, Turn.IDLE]


def aside(site: Site, event: MetadataChangeEvent, at: int) -> str:
    """Set a message of the bus aside, and ask for it to be tried again."""
    sent = encode(event)
    with site.state.transaction() as tx:
        tx.quarantine(
            DeadLetter(
                origin="bus", code="x", detail="", position="1", payload=sent.payload, properties=dict(sent.properties)
            ),
            Millis(at),
        )
    (number,) = site.state.database.quarantine
    return str(number)


@pytest.mark.parametrize(
    ("path", "edition", "time", "came", "taken"),
    [
        (A, 1, 500, 0, False),
        (A, None, 500, 0, True),
        (A, 1, 400_000, 0, True),
        (B, 1, 500, 0, True),
        (B, 1, 500, -(10**10), False),
        (MetaPath("/admin/clusters/pulsar"), 1, 500, 0, True),
    ],
    ids=["came in", "a delete", "made since", "carried all the time", "came before the database", "left out"],
)
def test_a_message_that_was_set_aside_raises_nothing_that_may_have_been_deleted(
    path: MetaPath, edition: int | None, time: int, came: int, *, taken: bool
) -> None:
    pair = opted_in(A)
    scanned(pair.east, Millis(pair.now))
    core = parts_of(pair.east.driver).core
    core.renamed(replace(core.identity, generation=(T0 - 10**9) // 1000))
    event = replace(event_of(path, edition, time, "west"), sender="db-west", sequence=900)
    number = aside(pair.east, event, T0 + came)
    answered = operate(pair.east, "quarantine-retry", pair.now + 500_000, id=number)
    assert (answered.answer == "decoded and handled") is taken, answered.answer
    assert taken or "could raise what was deleted" in answered.answer
    assert bool(pair.east.state.database.quarantine) is not taken


def test_a_change_that_was_not_sent_is_not_published_before_its_path_was_read_again() -> None:
    pair = Pair(Site("east"), Site("west"))
    pair.east.has(A, 1, 100)
    pair.beat(2)
    known = version(A, 1, 100, "east")
    unsent = DeadLetter(
        origin="outbox", code="x", detail="", position=f"{A} {known.stamp}", path=A, payload=value_of(1)
    )
    for scope in (Scope((Rule(A, Direction.IGNORE), *DEFAULT_RULES)), Scope()):
        pair.east.scope = scope
        pair.east.begin()
    with pair.east.state.transaction() as tx:
        tx.quarantine(unsent, Millis(pair.now))
    (number,) = pair.east.state.database.quarantine
    answered = operate(pair.east, "quarantine-retry", pair.now, id=str(number))
    assert "the store was not read since" in answered.answer
    assert (list(pair.east.state.database.quarantine), pair.east.state.database.outbox) == ([number], {})


def test_what_no_daemon_has_stamped_is_read_again_here_and_left_to_the_others_there() -> None:
    pair = quiet()
    pair.east.put(A, value_of(9))  # and the watch has missed it
    unseen = [
        Telling(number=1, path=A, found_in=EAST, event=None),
        Telling(number=2, path=B, found_in=WEST, event=None),
    ]
    number = begin(pair.east, unseen, pair.now)
    run(pair.east, pair.now)
    pair.beat(2)
    repair = repair_of(pair.east.state, number)
    assert (repair.reread, repair.elsewhere, repair.told) == (1, 1, 0)
    assert pair.west.entries[A].value == value_of(9)
    known = pair.west.known(A)
    assert known is not None
    assert known.stamp.region == EAST
    assert known.stamp.updated_at_ms >= pair.now - 30_000, "it was stamped when it was found"


def test_what_takes_no_part_or_is_held_back_is_refused() -> None:
    pair = quiet()
    outside = MetaPath("/admin/clusters/pulsar")
    known = version(A, None, 500, "east")
    pair.east.has(A, None, 500)
    with pair.east.state.transaction() as tx:
        hold = Hold(reason=HoldReason.MASS_DELETE, stamp=known.stamp, since_ms=T0, detail="", local=True)
        tx.save([replace(tx.registers([A])[A], hold=hold)])
    number = begin(pair.east, told(event_of(outside, 1, 500, "west"), event_of(A, None, 500, "east")), pair.now)
    run(pair.east, pair.now)
    assert counts(repair_of(pair.east.state, number)) == (2, 0, 0, 2)
    reasons = sorted(getattr(each, "reason", "").split(":")[0] for each in pair.east.state.database.tellings.values())
    assert reasons == ["held", "out-of-scope"]
    assert not pair.east.state.database.outbox


def test_what_may_not_leave_a_region_is_told_by_none() -> None:
    scope = Scope((Rule(A, Direction.APPLY), *DEFAULT_RULES))
    pair = Pair(Site("east", scope), Site("west", scope))
    pair.beat(2)
    number = begin(pair.east, told(event_of(A, 1, 500, "west"), event_of(B, 1, 500, "west")), pair.now)
    run(pair.east, pair.now)
    assert counts(repair_of(pair.east.state, number)) == (2, 1, 0, 1)
    assert pair.east.known(A) is None


def test_portions_are_bounded_and_leave_room_in_the_outbox(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = quiet()
    many = OUTBOX_ROOM + 3 * PORTION
    number = begin(pair.east, told(*(event_of(path_of(f"n{at}"), 1, 500, "north") for at in range(many))), pair.now)
    assert pair.east.driver.repair(Millis(pair.now)) is Turn.MORE
    assert repair_of(pair.east.state, number).done == PORTION
    assert run(pair.east, pair.now)[-1] is Turn.FULL
    assert len(pair.east.state.database.outbox) == OUTBOX_ROOM
    pair.east.work(Millis(pair.now))
    assert run(pair.east, pair.now)[-1] is Turn.IDLE
    assert repair_of(pair.east.state, number).told == many
    pair.beat(2)
    assert pair.equal
    monkeypatch.setattr(repair, "REFUSED_KEPT", 3)
    parts_of(pair.east.driver).core.floor = Millis(T0 + 10**6)
    late = begin(pair.east, told(*(event_of(path_of(f"m{at}"), 1, 500, "north") for at in range(100))), pair.now)
    run(pair.east, pair.now)
    assert repair_of(pair.east.state, late).refused == 100
    assert len(pair.east.state.database.tellings) == 3, "more are only counted"


def test_a_daemon_that_dies_in_the_middle_is_followed_by_one_that_goes_on() -> None:
    pair = quiet()
    number = begin(pair.east, told(*(event_of(path_of(f"n{at}"), 1, 500, "north") for at in range(150))), pair.now)
    pair.east.driver.repair(Millis(pair.now))
    pair.east.state.crash()
    pair.east.begin()
    parts_of(pair.east.driver).recovery.progress.unheard.clear()
    run(pair.east, pair.now)
    repair = repair_of(pair.east.state, number)
    assert (repair.state, repair.told, pair.east.state.database.facts[""].last_sequence) == (RepairState.DONE, 150, 150)
    pair.beat(2)
    assert all(pair.west.known(path_of(f"n{at}")) is not None for at in range(150))


def test_a_cancelled_repair_stops_where_it_is() -> None:
    pair = quiet()
    number = begin(pair.east, told(*(event_of(path_of(f"n{at}"), 1, 500, "north") for at in range(150))), pair.now)
    pair.east.driver.repair(Millis(pair.now))
    assert operate(pair.east, "snapshot-cancel", pair.now, repair=str(number)).state is OperationState.DONE
    assert run(pair.east, pair.now) == [Turn.IDLE]
    repair = repair_of(pair.east.state, number)
    assert (repair.state, repair.told) == (RepairState.CANCELLED, PORTION)
    again = operate(pair.east, "snapshot-cancel", pair.now, repair=str(number))
    assert again.code == "precondition-failed"
    assert pair.east.driver.prune(Millis(0)) == 150 - PORTION, "what will not be told goes at once"
    assert pair.east.driver.prune(Millis(pair.now + 1)) >= 1
    assert number not in pair.east.state.database.repairs


def owner_of(parts: Parts, name: str) -> object:
    """The part that knows this of how the region stands."""
    return parts.group if name in {"paused", "left_at"} else parts.core


def test_nothing_is_told_while_the_region_stands_still() -> None:
    pair = quiet()
    number = begin(pair.east, told(event_of(A, 1, 500, "north")), pair.now)
    parts = parts_of(pair.east.driver)
    stands: list[dict[str, Any]] = [
        {"paused": "a person"},
        {"observing": True},
        {"left_at": Millis(1)},
        {"fence": None},
        {"identity": replace(parts.core.identity, first_scan_done=False)},
    ]
    for stand in stands:
        owners = {name: owner_of(parts, name) for name in stand}
        before = {name: getattr(owner, name) for name, owner in owners.items()}
        for name, value in stand.items():
            setattr(owners[name], name, value)
        assert run(pair.east, pair.now) == [Turn.IDLE], stand
        for name, value in before.items():
            setattr(owners[name], name, value)
    parts.recovery.progress.unheard.add(WEST)
    assert run(pair.east, pair.now) == [Turn.IDLE]
    parts.recovery.progress.unheard.clear()
    parts.recovery.progress.lost = "an old copy"
    assert run(pair.east, pair.now) == [Turn.IDLE]
    parts.recovery.progress.lost = None
    assert repair_of(pair.east.state, number).done == 0
    run(pair.east, pair.now)
    assert repair_of(pair.east.state, number).told == 1


@pytest.mark.parametrize(
    ("repair", "arguments", "said"),
    [
        ({"regions": (EAST, Region("stranger"))}, {}, "stranger: not a region of the group"),
        ({"rules": ("another", "smaller")}, {}, "another scope or tie order"),
        ({"state": RepairState.LOADING}, {}, "not brought in whole"),
        ({"taken_at_ms": Millis(T0 + 1_000_000 - 8 * DAY_MS)}, {}, "--force-old"),
        ({"taken_at_ms": Millis(T0 + 1_000_000 - 8 * DAY_MS)}, {"force_old": "true"}, ""),
        ({"taken_at_ms": Millis(T0 + 10_000_000)}, {"force_old": "true"}, "from now"),
        ({"total": 99, "deletes": 10}, {}, "--allow-deletes"),
        ({"total": 99, "deletes": 10}, {"allow_deletes": "true"}, ""),
        ({"total": 5, "deletes": 5}, {}, ""),
        ({"total": 10**6, "deletes": 101}, {}, "--allow-deletes"),
    ],
)
def test_what_cannot_be_told_as_a_whole_is_refused_as_a_whole(
    repair: dict[str, Any], arguments: dict[str, str], said: str
) -> None:
    pair = quiet()
    number = bring(pair.east, told(event_of(A, 1, 500, "north")), pair.now, **repair)
    answered = operate(pair.east, "snapshot-sync", pair.now, repair=str(number), **arguments)
    assert answered.state is (OperationState.FAILED if said else OperationState.DONE), answered.answer
    assert said in answered.answer
    assert (repair_of(pair.east.state, number).state is RepairState.RUNNING) is not bool(said)
    assert said or "already" in operate(pair.east, "snapshot-sync", pair.now, repair=str(number)).answer


@pytest.mark.parametrize(
    ("stands", "said"),
    [
        ({"paused": "a person"}, "paused: a person"),
        ({"paused": JOINING}, "has not joined"),
        ({"observing": True}, "observes"),
        ({"left_at": Millis(1), "paused": "left"}, "has left the group"),
    ],
)
def test_a_region_that_stands_still_is_not_asked(stands: dict[str, Any], said: str) -> None:
    pair = quiet()
    for name, value in stands.items():
        setattr(owner_of(parts_of(pair.east.driver), name), name, value)
    number = bring(pair.east, told(event_of(A, 1, 500, "north")), pair.now)
    assert said in operate(pair.east, "snapshot-sync", pair.now, repair=str(number)).answer


def test_a_region_that_was_forgotten_has_no_say() -> None:
    pair = quiet()
    assert operate(pair.east, "regions-forget", pair.now, region="west", force="true").state is OperationState.DONE
    number = bring(pair.east, told(event_of(A, 1, 500, "west")), pair.now)
    answered = operate(pair.east, "snapshot-sync", pair.now, repair=str(number))
    assert "west: not a region of the group" in answered.answer


def test_what_does_not_exist_is_not_found() -> None:
    pair = quiet()
    for kind in ("snapshot-sync", "snapshot-cancel"):
        assert operate(pair.east, kind, pair.now, repair="7").code == "not-found"
        assert operate(pair.east, kind, pair.now).code == "precondition-failed"
