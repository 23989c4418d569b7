"""One suite for every state: SQLite in a file, SQLite in memory, and plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pytest

from syncer.conflict.acts import Decision, FillConflict, Journal, RecordConflict
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.classes.periods import UNDATED, ScopePeriod
from syncer.conflict.register import Hold, HoldReason, Intent, Parked, ParkReason, Register, Stored, Wish
from syncer.conflict.tombstones import COUNTED
from syncer.errors import Fenced, InvariantBroken, OperationsFull
from syncer.model import (
    Counter,
    Digest,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Revision,
    Stamp,
    Version,
)
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.membership import Membership
from syncer.state.contract.operations import MAX_PENDING, MAX_PENDING_STOPS, OperationState
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetter, KeptAside
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views

EAST = Region("us-east")
WEST = Region("us@west")
BY = Counter("us-east~1")
T0 = 1_700_000_000_000


@dataclass(frozen=True)
class Subject:
    state: State
    ask: Callable[[str, Mapping[str, str], str, str], int]


@pytest.fixture(params=["sqlite-file", "sqlite-memory", "memory"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "memory":
        memory = MemoryState(MemoryDatabase(EAST, "f" * 32))
        memory.activate()
        yield Subject(memory, memory.ask)
        return
    url = f"sqlite:///{tmp_path / 'state.db'}" if request.param == "sqlite-file" else "sqlite://"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        if request.param == "sqlite-memory":
            yield Subject(state, Views(state.engine, state.engine, state.engine.url).ask)
        else:
            with closing(Views.open(url, EAST)) as views:
                yield Subject(state, views.ask)


def stamp(time: int = T0, region: Region = WEST) -> Stamp:
    return Stamp(Millis(time), region)


def version(time: int = T0, *, digest: bytes | None = b"\x00\xff" * 8, value: bytes | None = None) -> Version:
    wrapped = Digest(digest) if digest is not None else None
    return Version(stamp=stamp(time), by=BY, seen={BY: Millis(time)}, digest=wrapped, value=value)


def living(path: str, time: int = T0) -> Register:
    plain = Register(path=MetaPath(path), known=version(time), own=Millis(time))
    return plain.sit(version(time), Revision("7"))


def event(path: str, time: int = T0, **changes: object) -> MetadataChangeEvent:
    plain = MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.NAMESPACE,
        resource_name="t/ü",
        path=MetaPath(path),
        value=b"\x00{\xff",
        stamp=stamp(time),
        by=BY,
        seen={BY: Millis(time), Counter("ü~2"): Millis(2**62)},
        base=stamp(time - 1, EAST),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # names of the event's own fields


FULL = Register(
    path=MetaPath("/admin/policies/t/full"),
    known=version(T0 + 1, value=b""),
    stored=Stored(stamp=stamp(), by=BY, seen={}, digest=None, revision=None),
    own=Millis(T0),
    hold=Hold(reason=HoldReason.FIRST_CONTACT, stamp=stamp(), since_ms=Millis(5), detail="why", local=True),
    allowed=stamp(T0 + 9, EAST),
    parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=Millis(6), detail="parent"),
    intent=Intent(batch="b1", version=version(T0 + 1, value=b"\x00"), expected=Revision("3")),
    wish=Wish.REASSERT,
    left=Digest(b"left"),
    flips=(Millis(1), Millis(2)),
)


@pytest.mark.parametrize(
    "register",
    [
        Register(path=MetaPath("/admin/policies/t")),
        living("/admin/policies/t/n"),
        replace(living("/admin/policies/t/n"), left=Digest(b"l")),
        Register(path=MetaPath("/p"), known=version(digest=None)),
        Register(path=MetaPath("/p"), known=version(value=b"x" * 10_000)),
        FULL,
        replace(FULL, intent=replace(FULL.intent, expected=None) if FULL.intent else None, wish=None),
        replace(FULL, hold=None, parked=None, stored=None),
        replace(FULL, known=None, allowed=None, flips=()),
    ],
)
def test_register_round_trips_through_a_new_writer(subject: Subject, register: Register) -> None:
    with subject.state.transaction() as work:
        work.save([FULL, replace(FULL, path=register.path), register])
    subject.state.activate()  # nothing is remembered
    with subject.state.transaction() as work:
        assert work.registers([register.path, MetaPath("/none")]) == {register.path: register}


def test_many_paths_at_once(subject: Subject) -> None:
    registers = {MetaPath(f"/admin/policies/t/{n:04}"): living(f"/admin/policies/t/{n:04}", T0 + n) for n in range(777)}
    with subject.state.transaction() as work:
        work.save(registers.values())
    subject.state.activate()
    with subject.state.transaction() as work:
        assert work.registers([*registers, MetaPath("/none")]) == registers


def test_rollback_undoes_everything_and_leaves_no_gap(subject: Subject) -> None:
    kept, lost = living("/admin/policies/a"), living("/admin/policies/b")
    with subject.state.transaction() as work:
        work.save([kept])
        work.enqueue([event("/admin/policies/a")])
        before = work.identity()

    def change_all(work: Transaction) -> NoReturn:
        work.save([lost, replace(kept, wish=Wish.REASSERT)])
        work.enqueue([event("/admin/policies/b")] * 3)
        work.acknowledged([1])
        work.save_consumed({"s": Consumed(5)})
        work.hold_publication(event("/admin/policies/b"))
        work.set_identity(first_scan_done=True)
        work.met([kept.path])
        raise ArithmeticError

    with pytest.raises(ArithmeticError), subject.state.transaction() as work:
        change_all(work)
    with subject.state.transaction() as work:
        assert work.registers([kept.path, lost.path]) == {kept.path: kept}
        assert work.count_alive() == 1
        assert work.identity() == before
        assert work.consumed(["s"]) == {}
        assert work.open_paths([kept.path, lost.path]) == {kept.path}
        assert work.unmet_standing(10) == [kept.path]
        work.enqueue([event("/admin/policies/c")])
        assert [row.sequence for row in work.outbox(10)] == [1, 2]


def test_alive_is_counted_as_it_is(subject: Subject) -> None:
    names = [f"/admin/policies/t{n}" for n in range(5)]
    with subject.state.transaction() as work:
        work.save([living(name) for name in names])
        work.save([living(names[0], T0 + 1), replace(living(names[1]), stored=None), FULL])
        work.save([replace(living(names[2]), stored=None), living(names[2]), living(names[2], T0 + 3)])
        assert work.count_alive() == len(work.unmet_standing(100)) == 4
    subject.state.activate()
    with subject.state.transaction() as work:
        assert work.count_alive() == 4
        work.save([replace(living(names[0]), stored=None)])
        assert work.count_alive() == 3


def test_due_and_intents_in_path_order(subject: Subject) -> None:
    due = [Register(path=MetaPath(f"/d/{n}"), known=version()) for n in (3, 1, 2)]
    wish = replace(living("/d/0"), wish=Wish.REASSERT)
    intent = replace(living("/d/9"), intent=FULL.intent)
    with subject.state.transaction() as work:
        work.save([*due, wish, intent, living("/d/4")])
        assert [register.path for register in work.due(10)] == ["/d/0", "/d/1", "/d/2", "/d/3"]
        assert [register.path for register in work.due(2, MetaPath("/d/0"))] == ["/d/1", "/d/2"]
        assert work.intents() == [intent]
        work.save([living("/d/1"), living("/d/9")])
        assert [register.path for register in work.due(10)] == ["/d/0", "/d/2", "/d/3"]
        assert work.intents() == []


class BrokenOff(Exception):
    """A transaction that is not finished."""


def _forget_and_break_off(work: Transaction) -> None:
    work.forget_revisions()
    raise BrokenOff


def test_revisions_are_forgotten_of_all_and_nothing_else_is(subject: Subject) -> None:
    kept = [living("/admin/policies/a"), Register(path=MetaPath("/admin/policies/b")), FULL]
    due = replace(living("/admin/policies/c"), known=version(T0 + 5, digest=b"other"))
    with subject.state.transaction() as work:
        work.save([*kept, due])
        assert work.count_due() == sum(each.due for each in (*kept, due)) > 0
    with pytest.raises(BrokenOff), subject.state.transaction() as work:
        _forget_and_break_off(work)
    with subject.state.transaction() as work:
        assert work.registers([due.path])[due.path] == due
        work.forget_revisions()
    with subject.state.transaction() as work:
        for register in (*kept, due):
            stored = replace(register.stored, revision=None) if register.stored is not None else None
            assert work.registers([register.path])[register.path] == replace(register, stored=stored)


def test_parents_of_living_children(subject: Subject) -> None:
    dead = Register(path=MetaPath("/admin/policies/b/n"), known=version(digest=None)).sit(version(digest=None), None)
    with subject.state.transaction() as work:
        work.save(
            [
                living("/admin/policies/a/n"),
                living("/admin/policies/ab"),
                dead,
                living("/admin/partitioned-topics/b/n/persistent/x"),
                living("/admin/clusters/c/namespaceIsolationPolicies"),
            ]
        )
        asked = [f"/admin/policies/{name}" for name in ("a", "a/n", "ab", "b", "b/n")] + ["/admin/clusters/c"]
        parents = work.parents_of_living([MetaPath(path) for path in asked], lambda _: True)
        carried = work.parents_of_living([MetaPath(path) for path in asked], lambda path: "clusters" in path)
    assert parents == {"/admin/policies/a", "/admin/policies/b/n", "/admin/clusters/c"}
    assert carried == {"/admin/clusters/c"}


def test_of_many_children_one_that_is_carried_is_enough(subject: Subject) -> None:
    parent = MetaPath("/admin/policies/acme/orders")
    with subject.state.transaction() as work:
        work.save(
            living(f"/admin/{where}/{number:03}")
            for where in ("topic-policies/global/acme/orders/persistent", "partitioned-topics/acme/orders/persistent")
            for number in range(250)
        )
        for last in ("partitioned-topics/acme/orders", "topic-policies/global/acme/orders"):
            path = MetaPath(f"/admin/{last}/persistent/249")
            assert work.parents_of_living([parent], path.__eq__) == {parent}
        assert work.parents_of_living([parent], lambda _: False) == set()


def test_outbox_round_trips_events_in_order(subject: Subject) -> None:
    sent = [event("/a"), event("/b", value=None, type=EventType.DELETED, base=None, seen={}), event("/a", T0 + 1)]
    with subject.state.transaction() as work:
        work.enqueue(sent[:2])
        work.enqueue([])
        work.enqueue(sent[2:])
        sender = work.identity().database_id
    with subject.state.transaction() as work:
        rows = work.outbox(10)
        assert [row.event for row in rows] == [
            replace(one, sender=sender, sequence=number) for number, one in enumerate(sent, 1)
        ]
        assert [row.sequence for row in work.outbox(1, after=1)] == [2]
        work.acknowledged([1, 99])
        assert work.open_paths([MetaPath("/a"), MetaPath("/b"), MetaPath("/c")]) == {"/a", "/b"}
        work.acknowledged([3])
        assert work.open_paths([MetaPath("/a"), MetaPath("/b")]) == {"/b"}
        assert work.identity().last_sequence == 3


def test_held_publications(subject: Subject) -> None:
    path = MetaPath("/a")
    with subject.state.transaction() as work:
        work.drop_held(path)
        work.hold_publication(event("/a"))
        work.hold_publication(event("/a", T0 + 1))
        assert work.held_publication(path) == event("/a", T0 + 1)
        assert work.open_paths([path]) == {path}
        work.drop_held(path)
        assert work.held_publication(path) is None
        assert work.open_paths([path]) == set()


def test_consumed_with_gaps(subject: Subject) -> None:
    wanted = {"a": Consumed(3, ((5, 7), (9, 9))), "b": Consumed(2**40)}
    with subject.state.transaction() as work:
        work.save_consumed({"a": Consumed(1), "b": wanted["b"]})
        work.save_consumed({"a": wanted["a"]})
    subject.state.activate()
    with subject.state.transaction() as work:
        assert work.consumed(["a", "b", "c"]) == wanted


def test_conflicts_are_kept_once_and_filled(subject: Subject) -> None:
    record = RecordConflict(
        path=MetaPath("/a"),
        loser=stamp(),
        loser_seen={BY: Millis(1)},
        loser_digest=Digest(b"d"),
        value=None,
        winner=stamp(T0 + 1),
    )
    with subject.state.transaction() as work:
        work.conflict(record, Millis(10))
        work.fill_conflict(FillConflict(path=record.path, digest=Digest(b"other"), value=b"no"))
        work.fill_conflict(FillConflict(path=record.path, digest=Digest(b"d"), value=b"yes"))
        work.conflict(replace(record, value=b"late"), Millis(11))
        work.conflict(replace(record, loser=stamp(T0 + 5)), Millis(12))
        work.conflict(replace(record, loser=stamp(T0 + 5), value=b"then"), Millis(13))
        work.mark_restored(1, Millis(20))
        first, second = work.conflict_row(1), work.conflict_row(2)
        assert work.conflict_row(3) is None
    assert first is not None
    assert second is not None
    assert (first.value, first.recorded_at_ms, first.restored_at_ms) == (b"yes", 10, 20)
    assert (first.loser, first.loser_seen, first.winner) == (record.loser, record.loser_seen, record.winner)
    assert (second.value, second.recorded_at_ms, second.restored_at_ms) == (b"then", 12, None)


def test_two_losers_of_one_stamp_are_both_kept_whole(subject: Subject) -> None:
    """A lie may give a stamp away once more: its value is not taken for the one that lacks."""
    record = RecordConflict(
        path=MetaPath("/a"), loser=stamp(), loser_seen={}, loser_digest=Digest(b"d"), value=None, winner=stamp(T0 + 1)
    )
    with subject.state.transaction() as work:
        for _ in range(2):
            work.conflict(record, Millis(10))
            work.conflict(replace(record, loser_digest=Digest(b"lie"), value=b"lie"), Millis(11))
            work.conflict(replace(record, loser_digest=None), Millis(12))
        work.fill_conflict(FillConflict(path=record.path, digest=Digest(b"d"), value=b"true"))
        found = [work.conflict_row(number) for number in (1, 2, 3, 4)]
    assert [row.value if row is not None else "none" for row in found] == [b"true", b"lie", None, "none"]


def test_conflicts_are_counted_with_their_bytes_and_forgotten_in_their_order(subject: Subject) -> None:
    def lost(number: int, value: bytes | None, region: Region = EAST) -> RecordConflict:
        return RecordConflict(
            path=MetaPath("/é"),
            loser=Stamp(Millis(T0 + number), region),
            loser_seen={},
            loser_digest=Digest(b"d"),
            value=value,
            winner=stamp(T0 + 1000),
        )

    there = Region("over-there")
    with subject.state.transaction() as work:
        assert work.kept_conflicts() == (0, 0)
        work.conflict(lost(1, b"12345"), Millis(1))
        assert work.kept_conflicts() == (1, 8), "octets, of the path too"
        work.conflict(lost(2, None), Millis(1))
        work.fill_conflict(FillConflict(path=MetaPath("/é"), digest=Digest(b"d"), value=b"123"))
        assert work.kept_conflicts() == (2, 14)
        work.conflict(lost(3, None, there), Millis(1))
        work.conflict(lost(3, b"1", there), Millis(1))
        work.conflict(lost(4, b"", there), Millis(1))
        assert work.kept_conflicts() == (4, 21)
    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone
        work.drop_conflict(1)
        assert work.kept_conflicts() == (3, 13)
        raise RuntimeError
    with subject.state.transaction() as work:
        assert work.kept_conflicts() == (4, 21)
        assert work.drop_conflicts(9, restored=True) == 0
        work.mark_restored(2, Millis(5))
        assert work.drop_conflicts(9, by=there, restored=True) == 0
        assert work.drop_conflicts(9, restored=True) == 1
        assert work.drop_conflicts(9, by=there, until=2) == 0, "what came later stays"
        assert work.drop_conflicts(1, by=there, until=5) == 1
        assert [number for number in range(1, 6) if work.conflict_row(number) is not None] == [1, 4]
        work.drop_conflict(1)
        work.drop_conflict(77)
        assert work.kept_conflicts() == (1, 3)


def test_a_value_that_several_conflicts_lacked_counts_for_each(subject: Subject) -> None:
    path, digest = MetaPath("/é"), Digest(b"d")
    with subject.state.transaction() as work:
        for number in range(3):
            lost = RecordConflict(
                path=path,
                loser=stamp(T0 + number),
                loser_seen={},
                loser_digest=digest,
                value=None,
                winner=stamp(T0 + 9),
            )
            work.conflict(lost, Millis(1))
        assert work.kept_conflicts() == (3, 9)
        work.fill_conflict(FillConflict(path=path, digest=digest, value=b"12345"))
        assert work.kept_conflicts() == (3, 24)


def test_large_values_that_are_due_are_counted_with_their_bytes(subject: Subject) -> None:
    def due(path: str, value: bytes) -> Register:
        known = Version(stamp=stamp(), by=BY, seen={BY: Millis(1)}, digest=Digest(b"d"), value=value)
        return Register(path=MetaPath(path), known=known)

    with subject.state.transaction() as work:
        assert work.kept_values(10) == (0, 0)
        work.save([due("/a", b"x" * 10), due("/b", b"x" * 11), due("/c", b"x" * 300)])
        assert work.kept_values(10) == (2, 311)


def test_a_conflict_recorded_after_a_fill_that_met_nothing_is_filled_too(subject: Subject) -> None:
    fill = FillConflict(path=MetaPath("/a"), digest=Digest(b"d"), value=b"whole")
    with subject.state.transaction() as work:
        work.fill_conflict(fill)
    with subject.state.transaction() as work:
        work.conflict(
            RecordConflict(
                path=fill.path,
                loser=stamp(),
                loser_seen={BY: Millis(1)},
                loser_digest=fill.digest,
                value=None,
                winner=stamp(T0 + 1),
            ),
            Millis(10),
        )
    with subject.state.transaction() as work:
        work.fill_conflict(fill)
        row = work.conflict_row(1)
    assert row is not None
    assert row.value == b"whole"


def test_quarantine_once_per_position_and_numbers_are_not_used_again(subject: Subject) -> None:
    poison = DeadLetter(origin="bus", code="c", detail="d", position="1:2", payload=b"\x00\xff", properties={"k": "ü"})
    with subject.state.transaction() as work:
        work.quarantine(poison, Millis(1))
        work.quarantine(replace(poison, detail="again"), Millis(2))
        row = work.dead_letter(1)
        assert row is not None
        assert (row.poison, row.recorded_at_ms) == (poison, 1)
        work.drop_dead_letter(1)
        assert work.dead_letter(1) is None
    with subject.state.transaction() as work:
        work.quarantine(replace(poison, path=MetaPath("/a")), Millis(3))
        assert [number for number in range(1, 5) if work.dead_letter(number) is not None] == [2]


def test_events_from_the_future(subject: Subject) -> None:
    a, b, later = event("/b", T0 + 1, sender="s", sequence=4), event("/a", T0 + 2), event("/b", T0 + 3)
    with subject.state.transaction() as work:
        for one in (later, b, a, replace(a, sequence=5)):
            work.hold_event(one, one.stamp.updated_at_ms, Millis(1))
        assert work.future_events(Millis(T0 + 2), 10) == [a, b]
        assert work.future_events(Millis(T0 + 9), 1) == [a]
        assert work.future_event(MetaPath("/b"), None) == a
        assert work.future_event(MetaPath("/b"), later.stamp) == later
        work.drop_future(a.path, a.stamp)
        assert work.future_event(a.path, a.stamp) is None


def test_an_event_from_the_future_waits_for_a_moment_of_its_own(subject: Subject) -> None:
    a, b, c = event("/b", T0 + 3), event("/a", T0 + 2), event("/a", T0 + 5)
    with subject.state.transaction() as work:
        assert work.future_events(Millis(2**62), 10) == []
        assert work.future_events_at([a.path], 10) == []
        for one, until in ((a, 50), (b, 70), (c, 60)):
            work.hold_event(one, Millis(until), Millis(1))
        assert work.future_events(Millis(59), 10) == [a], "a moment of its own, whatever its stamp"
        assert work.future_events(Millis(70), 10) == [b, a, c], "by their stamps"
        work.hold_event(c, Millis(90), Millis(2))
        assert work.future_events(Millis(60), 10) == [a, c], "never later than it was promised"
        work.hold_event(c, Millis(40), Millis(2))
        assert work.future_events(Millis(40), 10) == [c], "but sooner"
        assert work.future_events_at([b.path], 10) == [b, c]
        assert work.future_events_at([b.path], 1) == [b]
        assert work.future_events_at([a.path, b.path], 10) == [b, a, c]
        for one in (a, b):
            work.drop_future(one.path, one.stamp)
        assert work.future_events(Millis(2**62), 10) == [c]
    with subject.state.transaction() as work:
        work.drop_future(c.path, c.stamp)
        assert work.future_events(Millis(2**62), 10) == []
    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone
        work.hold_event(a, Millis(50), Millis(1))
        raise RuntimeError
    with subject.state.transaction() as work:
        assert work.future_events(Millis(2**62), 10) == []
        work.hold_event(b, Millis(70), Millis(1))
    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone
        work.drop_future(b.path, b.stamp)
        assert work.future_events(Millis(2**62), 10) == []
        raise RuntimeError
    with subject.state.transaction() as work:
        assert work.future_events(Millis(2**62), 10) == [b]


def test_scan_names_what_it_did_not_meet(subject: Subject) -> None:
    paths = [MetaPath(f"/p/{n}") for n in range(4)]
    with subject.state.transaction() as work:
        work.save([living(path) for path in paths])
        work.begin_scan()
        work.met([paths[1], paths[1], MetaPath("/unknown")])
        assert work.unmet_standing(2) == [paths[0], paths[2]]
        assert work.unmet_standing(9, paths[0]) == paths[2:]
        work.begin_scan()
        assert work.unmet_standing(9) == paths
        strange = Hold(reason=HoldReason.UNREADABLE, stamp=stamp(), since_ms=Millis(5), detail="why")
        work.save([Register(path=MetaPath("/q"), hold=strange)])
        work.save([Register(path=MetaPath("/r"), hold=replace(strange, reason=HoldReason.FIRST_CONTACT))])
        assert work.unmet_standing(9) == [*paths, MetaPath("/q")]


def test_facts_and_peers(subject: Subject) -> None:
    peer = PeerRow(region=WEST, sender="s", heard_at_ms=Millis(1), sent_at_ms=Millis(2), document={"a": [1, "ü"]})
    with subject.state.transaction() as work:
        changed = work.set_identity(
            first_scan_done=True, store_id="s1", alive_until=Millis(9), paused="why", generation=2
        )
        work.save_peer(replace(peer, sender="old"))
        work.save_peer(peer)
        work.save_status({"state": "active"}, Millis(1))
        assert work.identity() == changed
    assert subject.state.activate() == replace(changed, epoch=changed.epoch + 1)
    with subject.state.transaction() as work:
        assert work.peers() == [peer]
        for name in ("region", "database_id", "last_sequence", "epoch", "nonsense"):
            with pytest.raises(InvariantBroken):
                work.set_identity(**{name: 1})


def test_operations_are_asked_done_and_pruned_with_the_journal(subject: Subject) -> None:
    first = subject.ask("pause", {"region": "ü"}, "ann", "upgrade")
    second = subject.ask("resume", {}, "ann", "")
    entry = Journal(path=MetaPath("/a"), decision=Decision.MET)
    with subject.state.transaction() as work:
        asked = work.pending_operations(10)
        assert [(one.id, one.kind, one.arguments) for one in asked] == [
            (first, "pause", {"region": "ü"}),
            (second, "resume", {}),
        ]
        work.finish_operation(first, OperationState.DONE, "paused", "", Millis(100))
        assert [one.id for one in work.pending_operations(10)] == [second]
        for time in (50, 60, 200):
            work.journal([entry], Millis(time))
    with subject.state.transaction() as work:
        assert work.prune(Millis(100), 1) == 1
        assert work.prune(Millis(101), 10) == 2
        assert work.prune(Millis(101), 10) == 0
        assert [one.id for one in work.pending_operations(10)] == [second]


def test_a_flood_of_one_kind_is_refused_and_refuses_no_other(subject: Subject) -> None:
    dry = [subject.ask("moves-dry-run", {"command": "go"}, "a script", "") for _ in range(MAX_PENDING)]
    with pytest.raises(OperationsFull, match="200 operations 'moves-dry-run' wait"):
        subject.ask("moves-dry-run", {}, "a script", "")
    pause = subject.ask("pause", {}, "ann", "")
    with subject.state.transaction() as work:
        assert [one.id for one in work.pending_operations(MAX_PENDING + 9)] == [*dry, pause]
        work.finish_operation(dry[7], OperationState.DONE, "so be it", "", Millis(200))
    assert subject.ask("moves-dry-run", {}, "a script", "") > pause
    with pytest.raises(OperationsFull):
        subject.ask("moves-dry-run", {}, "a script", "")


@pytest.mark.parametrize("command", ["pause", "abort"])
def test_what_stops_a_migration_has_room_that_other_commands_do_not_take(subject: Subject, command: str) -> None:
    for _ in range(MAX_PENDING):
        subject.ask("migration-command", {"command": "rollback"}, "a script", "")
    with pytest.raises(OperationsFull):
        subject.ask("migration-command", {"command": "go"}, "a script", "")
    for _ in range(MAX_PENDING_STOPS - MAX_PENDING):
        subject.ask("migration-command", {"command": command}, "ann", "")
    with pytest.raises(OperationsFull):
        subject.ask("migration-command", {"command": command}, "ann", "")


def test_operations_of_one_kind_take_no_places_of_another(subject: Subject) -> None:
    runs = [subject.ask("moves-apply", {}, "script", "") for _ in range(5)]
    pause = subject.ask("pause", {}, "ann", "")
    stop = subject.ask("moves-stop", {}, "ann", "")
    with subject.state.transaction() as work:
        assert [one.id for one in work.pending_operations(3)] == runs[:3]
        assert [one.id for one in work.pending_operations(3, without={"moves-apply", "moves-stop"})] == [pause]
        assert [one.id for one in work.pending_operations(3, only={"moves-stop"})] == [stop]
        assert [one.id for one in work.pending_operations(6, only={"moves-apply", "moves-stop"})] == [*runs, stop]
        assert [one.id for one in work.pending_operations(6, only={"pause", "x"}, without={"pause"})] == []
        assert work.pending_operations(6, only=()) == []


def test_which_local_deletes_have_passed_of_late_is_in_the_journal(subject: Subject) -> None:
    path, gone = MetaPath("/a"), stamp()
    deleted = Journal(path=path, decision=Decision.PUBLISHED, stamp=gone)
    others = [
        Journal(path=path, decision=Decision.PUBLISHED, stamp=gone, digest=Digest(b"d")),
        Journal(path=path, decision=Decision.ADOPTED, stamp=gone),
        Journal(path=path, decision=Decision.HELD, stamp=gone),
    ]
    with subject.state.transaction() as work:
        assert work.deletes_passed(Millis(0), 10) == []
        for time in (100, 100, 90, 110, 120):
            work.journal([deleted, *others], Millis(time))
    with subject.state.transaction() as work:
        assert work.deletes_passed(Millis(90), 10) == [100, 100, 110, 120]
        assert work.deletes_passed(Millis(90), 3) == [100, 110, 120]
        assert work.deletes_passed(Millis(120), 10) == []


def test_transactions_do_not_nest(subject: Subject) -> None:
    with pytest.raises(InvariantBroken), subject.state.transaction(), subject.state.transaction():
        pass
    with subject.state.transaction() as work:
        assert work.count_alive() == 0


def test_only_the_active_one_writes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    database = MemoryDatabase(EAST, "f" * 32)
    with closing(SqlState.open(url, EAST)) as a, closing(SqlState.open(url, EAST)) as b:
        pairs: list[tuple[State, State]] = [(a, b), (MemoryState(database), MemoryState(database))]
        for old, new in pairs:
            with pytest.raises(Fenced), old.transaction():
                pass
            old.activate()
            with old.transaction() as work:
                work.save([living("/a")])
            new.activate()
            with pytest.raises(Fenced), old.transaction() as work:
                work.save([living("/b")])
            with new.transaction() as work:
                assert work.count_alive() == 1
                work.save([living("/c")])
            old.activate()
            with old.transaction() as work:
                assert set(work.registers([MetaPath(path) for path in ("/a", "/b", "/c")])) == {"/a", "/c"}
                assert work.count_alive() == 2


def test_a_crash_loses_the_open_transaction_only() -> None:
    state = MemoryState(MemoryDatabase(EAST, "f" * 32))
    state.activate()
    with state.transaction() as work:
        work.save([living("/a")])
    open_one = state.transaction()
    work = open_one.__enter__()
    work.save([living("/b")])
    state.crash()
    with pytest.raises(Fenced), state.transaction():
        pass
    state.activate()
    with state.transaction() as work:
        assert set(work.registers([MetaPath("/a"), MetaPath("/b")])) == {"/a"}


def test_living_known_versions_in_path_order(subject: Subject) -> None:
    paths = [MetaPath(f"/admin/policies/{name}") for name in ("a", "b", "c\U0001f600", "c\uffee", "d")]
    with subject.state.transaction() as tx:
        tx.save([replace(living(path, T0 + at), path=path) for at, path in enumerate(paths)])
        tx.save([Register(path=paths[1], known=version(digest=None)), Register(path=MetaPath("/only-seen"))])
    with subject.state.transaction() as tx:
        found = tx.living(10)
        assert [path for path, _ in found] == sorted(paths[:1] + paths[2:])
        assert found[0] == (paths[0], b"\x00\xff" * 8)
        assert tx.living(2, found[0][0]) == found[1:3]
        assert tx.living(2, found[-1][0]) == []


def test_the_digest_tree_is_kept_and_its_log_numbered(subject: Subject) -> None:
    with subject.state.transaction() as tx:
        assert (tx.tree().label, tx.tree_number(), dict(tx.tree().pages), list(tx.tree().log)) == ("", 0, {}, [])
        assert [tx.log_tree(b"one"), tx.log_tree(b"two")] == [1, 2]
    with subject.state.transaction() as tx:
        assert (tx.tree().number, list(tx.tree().log)) == (2, [b"one", b"two"])
        tx.save_tree("label", {0: b"\x00", 255: b"x" * 6000})
        assert tx.log_tree(b"three") == 3
    with subject.state.transaction() as tx:
        kept = tx.tree()
        assert (kept.label, kept.number, dict(kept.pages)) == ("label", 3, {0: b"\x00", 255: b"x" * 6000})
        assert list(kept.log) == [b"three"]
        tx.save_tree("another", {})
    subject.state.activate()
    with subject.state.transaction() as tx:
        assert (tx.tree_number(), tx.tree().label, dict(tx.tree().pages)) == (3, "another", {})


def test_a_rolled_back_row_of_the_trees_log_gives_its_number_back(subject: Subject) -> None:
    def fail() -> NoReturn:
        with subject.state.transaction() as tx:
            assert tx.log_tree(b"lost") == 2
            raise RuntimeError

    with subject.state.transaction() as tx:
        tx.log_tree(b"one")
    with pytest.raises(RuntimeError):
        fail()
    with subject.state.transaction() as tx:
        assert tx.tree_number() == 1
        assert tx.log_tree(b"two") == 2
        assert list(tx.tree().log) == [b"one", b"two"]


def tombstone(path: str, time: int, **changes: object) -> Register:
    """A path that is known to be dead, and seated as such."""
    known = version(time, digest=None)
    stored = Stored(stamp=known.stamp, by=known.by, seen=known.seen, digest=None, revision=None)
    return replace(Register(path=MetaPath(path), known=known, stored=stored), **changes)  # type: ignore[arg-type]


def test_tombstones_are_found_by_time_and_dropped(subject: Subject) -> None:
    living = version(T0)
    alive = Stored(stamp=living.stamp, by=BY, seen=living.seen, digest=living.digest, revision=Revision("1"))
    young, old, twin = tombstone("/a", T0 + 9), tombstone("/b", T0), tombstone("/c", T0)
    busy = tombstone("/d", T0, wish=Wish.REASSERT)
    with subject.state.transaction() as work:
        work.save([young, old, twin, busy, Register(path=MetaPath("/e"), known=living, stored=alive)])
        assert [each.path for each in work.dead(9, Millis(T0 + 8))] == ["/b", "/c"]
        assert [each.stamp for each in work.dead(9, Millis(T0 + 9))] == [stamp(), stamp(), stamp(T0 + 9)]
        assert [each.path for each in work.dead(1, Millis(T0 + 9))] == ["/b"]
        assert [each.path for each in work.dead(9, Millis(T0 + 9), (Millis(T0), MetaPath("/b")))] == ["/c", "/a"]
        assert work.dying(9) == ["/d"]
        work.save([tombstone("/f", T0, stored=None)])
        assert work.dying(9) == ["/d", "/f"]
        assert work.dying(1) == ["/d"]
        assert work.dying(9, MetaPath("/d")) == ["/f"]
        assert work.membership().floor == 0
    with subject.state.transaction() as work:
        work.drop_tombstones([MetaPath("/b"), MetaPath("/c")], Millis(T0 + 1))
        assert work.registers([old.path, twin.path, young.path]) == {young.path: young}
    with subject.state.transaction() as work:
        assert work.registers([old.path, twin.path]) == {}
        assert work.count_alive() == 1
        assert work.membership() == Membership(floor=Millis(T0 + 1))
        work.set_left(Millis(T0 + 5))
    with subject.state.transaction() as work:
        assert work.membership() == Membership(floor=Millis(T0 + 1), left_at=Millis(T0 + 5))
        work.set_left(None)
        assert work.membership().left_at is None


def test_the_latest_scopes_are_kept_in_their_order(subject: Subject) -> None:
    first = ScopePeriod(Millis(0), "both /admin/policies/**")
    second, last = ScopePeriod(Millis(T0), ""), ScopePeriod(UNDATED, first.rules)
    with subject.state.transaction() as work:
        assert work.scope_periods() == ()
        work.keep_scope_periods([first, second, last])
        assert work.scope_periods() == (first, second, last)
    with subject.state.transaction() as work:
        work.keep_scope_periods([second, last])
    subject.state.renew(2, "store", "{}")
    with subject.state.transaction() as work:
        assert work.scope_periods() == (second, last), "another database of the region has the same scope"
        work.keep_scope_periods([])
        assert work.scope_periods() == ()


def test_a_drop_that_is_undone_drops_nothing(subject: Subject) -> None:
    old = tombstone("/b", T0)
    with subject.state.transaction() as work:
        work.save([old])

    def fail() -> NoReturn:
        raise RuntimeError

    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone, and why
        work.drop_tombstones([old.path], Millis(T0))
        fail()
    with subject.state.transaction() as work:
        assert work.registers([old.path]) == {old.path: old}
        assert work.membership() == Membership()


def test_deletes_that_are_not_seated_are_counted_with_events_from_the_future(subject: Subject) -> None:
    with subject.state.transaction() as work:
        assert work.unapplied() == (0, None)
        work.save([tombstone("/a", T0), tombstone("/b", T0 + 4, stored=None)])
        assert work.unapplied() == (1, T0 + 4)
        work.hold_event(event("/c", T0 + 2), Millis(T0 + 2), Millis(1))
        assert work.unapplied() == (2, T0 + 2)
        work.save([tombstone(f"/d{number}", T0 + 9 + number, stored=None) for number in range(COUNTED - 3)])
        assert work.unapplied() == (COUNTED - 1, T0 + 2)
        work.save([tombstone(f"/e{number}", T0 + 1 - number, stored=None) for number in range(3)])
        assert work.unapplied() == (COUNTED, T0 - 1), "counted no further, and still the earliest"


def test_changes_that_can_never_be_sent_are_counted(subject: Subject) -> None:
    with subject.state.transaction() as work:
        for place, origin in enumerate(["outbox", "outbox", "store", "bus"]):
            work.quarantine(DeadLetter(origin=origin, code="x", detail="", position=str(place)), Millis(1))
        assert work.unfolded() == 2

    def spoilt(position: str, origin: str = "outbox") -> DeadLetter:
        return DeadLetter(origin=origin, code="x", detail="", position=position)

    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone
        work.quarantine(spoilt("9"), Millis(1))
        work.drop_dead_letter(1)
        work.drop_dead_letter(2)
        assert work.unfolded() == 1
        raise RuntimeError
    with subject.state.transaction() as work:
        assert work.unfolded() == 2
        work.quarantine(spoilt("0"), Millis(1))
        work.quarantine(spoilt("9", "bus"), Millis(1))
        assert work.unfolded() == 2, "known already, and from the bus"
        for number in (1, 1, 3, 4, 99):
            work.drop_dead_letter(number)
        assert work.unfolded() == 1
        work.quarantine(spoilt("10"), Millis(1))
        assert work.unfolded() == 2
    subject.state.activate()
    with subject.state.transaction() as work:
        assert work.unfolded() == 2


def test_any_text_can_be_kept_aside_and_shown(subject: Subject) -> None:
    """Strangers choose every one of these: no zero byte and no half of a surrogate pair may fail a transaction."""
    odd = "a\0b\ud800c\u202e"
    path = MetaPath(f"/admin/policies/{odd}")
    poison = DeadLetter(
        origin="bus", code="x", detail=odd, position=odd, path=path, payload=b"\xff\0", properties={odd: odd}
    )
    with subject.state.transaction() as work:
        work.quarantine(poison, Millis(1))
        work.quarantine(poison, Millis(2))
        work.set_identity(paused=odd)
        work.save_status({"odd": "a\0b"}, Millis(1))
        row = work.dead_letter(1)
        assert work.dead_letter(2) is None, "the same position"
    assert row is not None
    assert row.poison.payload == b"\xff\0"
    for text in (row.poison.detail, row.poison.position, row.poison.path or "", *row.poison.properties):
        assert "b" in text
        assert "\u202e" in text


def test_what_is_kept_aside_is_counted_and_measured_by_shelf(subject: Subject) -> None:
    def aside() -> KeptAside:
        with subject.state.transaction() as work:
            return work.kept_aside()

    nothing = Amount(0, 0)
    assert aside() == KeptAside(strangers=nothing, poison=nothing, future=nothing)
    texts = {"k": "東京" * 500, "r": "north"}
    beside = sum(len(name.encode()) + len(value.encode()) for name, value in texts.items())
    plain = DeadLetter(origin="bus", code="payload-invalid", detail="d", position="1", payload=b"\x00\xff" * 1000)
    early = event("/admin/policies/a", value=b"\x00" * 3000)
    with subject.state.transaction() as work:
        work.quarantine(plain, Millis(1))
        work.quarantine(plain, Millis(2))
        work.quarantine(replace(plain, position="2", code="unknown-kind", payload=b"", properties=texts), Millis(1))
        strange = replace(plain, position="3", code="signature-invalid", payload=b"\xff" * 700)
        work.quarantine(strange, Millis(1))
        work.quarantine(replace(plain, position="4", origin="store"), Millis(1))
        for each in (early, early, replace(early, value=None, stamp=stamp(T0 + 1))):
            work.hold_event(each, Millis(T0), Millis(1))
        within = work.kept_aside()
    found = aside()
    assert found == within
    for amount, things, least in (
        (found.poison, 2, 2000 + beside),
        (found.strangers, 1, 700),
        (found.future, 2, 3000),
    ):
        assert amount.things == things
        assert least <= amount.size_bytes <= least + 1000, "bytes, not characters, and hardly more than what was said"

    with pytest.raises(RuntimeError), subject.state.transaction() as work:  # noqa: PT012 - what is undone
        work.quarantine(replace(strange, position="5"), Millis(1))
        work.drop_dead_letter(1)
        assert work.kept_aside().strangers.things == 2
        raise RuntimeError
    assert aside() == found
    with subject.state.transaction() as work:
        for number in range(1, 5):
            work.drop_dead_letter(number)
        work.drop_future(early.path, early.stamp)
        left = work.kept_aside()
    assert (left.strangers, left.poison, left.future.things) == (nothing, nothing, 1)


def test_every_sender_is_told(subject: Subject) -> None:
    with subject.state.transaction() as work:
        assert work.senders() == set()
        work.save_consumed({"x": Consumed(3), "y": Consumed(1)})
        assert work.senders() == {"x", "y"}


def test_a_renewed_database_knows_nothing_of_the_group_and_keeps_what_people_look_at(subject: Subject) -> None:
    kept, paths = living("/admin/policies/a"), [MetaPath("/admin/policies/a"), FULL.path]
    number = subject.ask("pause", {}, "a person", "because")
    with subject.state.transaction() as work:
        before = work.set_identity(
            first_scan_done=True, store_id="s", paused="because", landed="3.1", alive_until=Millis(T0), mark=9
        )
        work.save([kept, FULL])
        work.enqueue([event("/admin/policies/a")] * 3)
        work.hold_publication(event("/admin/policies/b"))
        work.hold_event(event("/admin/policies/c"), Millis(T0), Millis(T0))
        work.save_consumed({"s": Consumed(5)})
        work.met([kept.path])
        work.log_tree(b"changes")
        work.save_tree("label", {1: b"sums"})
        work.save_peer(PeerRow(region=WEST, sender="w", sent_at_ms=Millis(1), heard_at_ms=Millis(2), document={}))
        work.quarantine(DeadLetter(origin="bus", code="c", detail="d", position="1"), Millis(T0))
    renewed = subject.state.renew(10**11, "other-store", "{}")
    assert (renewed.generation, renewed.store_id, renewed.rebuild) == (10**11, "other-store", "{}")
    assert (renewed.mark, renewed.marked) == (0, 0)
    assert renewed.database_id != before.database_id
    assert (renewed.region, renewed.epoch, renewed.paused) == (before.region, before.epoch, "because")
    assert (renewed.first_scan_done, renewed.last_sequence, renewed.alive_until, renewed.landed) == (False, 0, 0, None)
    with subject.state.transaction() as work:
        assert work.identity() == renewed
        assert work.registers(paths) == {}
        assert work.page(10) == work.due(10) == work.intents() == []
        assert work.unmet_standing(10) == []
        assert work.count_alive() == 0
        assert work.outbox(10) == []
        assert work.future_events(Millis(2**62), 10) == []
        assert work.open_paths([*paths, MetaPath("/admin/policies/b")]) == set()
        assert work.consumed(["s"]) == {}
        assert (work.tree().label, dict(work.tree().pages), list(work.tree().log)) == ("", {}, [])
        assert [peer.sender for peer in work.peers()] == ["w"]
        assert [operation.id for operation in work.pending_operations(10)] == [number]
        work.enqueue([event("/admin/policies/a")])
        assert [row.sequence for row in work.outbox(10)] == [1]
    assert subject.state.activate().database_id == renewed.database_id


def test_registers_are_listed_in_path_order(subject: Subject) -> None:
    names = ["/admin/policies/b", "/admin/policies/a", "/admin/policies/a/n"]
    with subject.state.transaction() as work:
        work.save([living(name) for name in names])
        assert [each.path for each in work.page(2)] == ["/admin/policies/a", "/admin/policies/a/n"]
        assert [each.path for each in work.page(2, MetaPath("/admin/policies/a/n"))] == ["/admin/policies/b"]
        assert work.page(2, MetaPath("/admin/policies/b")) == []


def test_only_the_active_one_begins_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    memory = MemoryDatabase(EAST, "f" * 32)
    with closing(SqlState.open(url, EAST)) as one, closing(SqlState.open(url, EAST)) as other:
        for former, latter in ((one, other), (MemoryState(memory), MemoryState(memory))):
            former.activate()
            active = latter.activate()
            with pytest.raises(Fenced):
                former.renew(9, "s", "{}")
            with pytest.raises(Fenced), former.transaction():
                pass
            with latter.transaction() as work:
                assert work.identity() == active
            renewed = latter.renew(2, "s", "{}")
            with latter.transaction() as work:
                assert work.identity() == renewed
