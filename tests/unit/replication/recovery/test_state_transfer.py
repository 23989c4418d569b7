"""A region whose database is lost asks what its peers know; what they answer wrongly, twice or never does no harm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncer.bus.wire.messages import Control, StateEntry, StatePage, StateRequest
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.errors import PreconditionFailed, StateUnavailable
from syncer.model import MetaPath, Millis, Region, Revision
from syncer.paths import fence_path
from syncer.replication.driver import Driver
from syncer.replication.fence import Fence
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.recovery import missing_values, rebuild, state_transfer
from syncer.state.contract.membership import JOINING
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry, Written
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES, T0, path_of, version

EAST, WEST, NORTH = Region("east"), Region("west"), Region("north")
LATER = Millis(T0 + state_transfer.ASK_AGAIN_MS)


class Lost:
    """Region ``east`` on a new database; its store's fence names another one."""

    def __init__(self, *expected: Region, database_id: str = "fresh", fence: Fence | None = None) -> None:
        self.state = MemoryState(MemoryDatabase(EAST, database_id))
        self.state.activate()
        path = fence_path(EAST)
        fence = fence or Fence(number=3, database_id="lost", generation=4, store_id="store", epoch=9)
        entry = Entry(path=path, value=fence.encode(), revision=Revision("1"), modified_at_ms=None)
        self.driver = Driver(
            Replica(Settings(region=EAST)), Scope(), self.state, CAPABILITIES, expected=expected or (WEST,)
        )
        put = self.driver.raise_fence(entry, "store", T0)
        self.driver.activated(put, Written(path=path, revision=Revision("2")), T0)

    def asks(self, now: Millis = T0) -> list[StateRequest]:
        return [each for each in self.driver.correspond(now) if isinstance(each, StateRequest)]

    def hears(self, *told: StatePage) -> None:
        self.driver.consume([Arrived(message=each, position=str(at)) for at, each in enumerate(told)], T0)

    def told(self, *entries: StateEntry, **facts: Any) -> StatePage:
        page = StatePage(
            region=WEST,
            sender="db-west",
            sent_at_ms=T0,
            target=EAST,
            asker=parts_of(self.driver).core.identity.database_id,
            entries=entries,
        )
        return replace(page, **facts)

    def known(self, path: MetaPath) -> Any:
        with self.state.transaction() as tx:
            register = tx.registers([path]).get(path)
        return register.known if register is not None else None

    @property
    def trouble(self) -> object:
        report = rebuild.report(parts_of(self.driver).recovery, T0)
        assert report is not None
        return report["trouble"]


def entry(number: int, time: int = 5, **changes: Any) -> StateEntry:
    facts: dict[str, Any] = {
        "path": path_of(number),
        "time": T0 + time,
        "region": "west",
        "by": "west~1",
        "seen": {"west~1": T0 + time},
        "digest": "0f" * 16,
        **changes,
    }
    return (facts["path"], facts["time"], facts["region"], facts["by"], facts["seen"], facts["digest"])


def test_it_begins_anew_above_the_generation_of_the_fence_and_asks_who_is_expected() -> None:
    lost = Lost(WEST, NORTH)
    identity = parts_of(lost.driver).core.identity
    assert (identity.generation, identity.store_id, identity.first_scan_done) == (5, "store", False)
    assert lost.driver.hearing
    fence = parts_of(lost.driver).core.fence
    assert fence is not None
    assert fence.fence.number == T0 // 1000, "above what was given out after the store's backup"
    asked = lost.asks()
    assert [(each.target, each.after, each.told) for each in asked] == [("north", "", 0), ("west", "", 0)]
    assert lost.asks(Millis(LATER - 1)) == [], "not before they had time to answer"
    assert len(lost.asks(LATER)) == 2, "who never answers is asked again"
    assert lost.driver.outbox(10) == []
    assert lost.driver.heartbeat(T0, "1").mode == "rebuilding"


def test_pages_follow_each_other_and_the_last_one_ends_it() -> None:
    lost = Lost()
    lost.asks()
    lost.hears(lost.told(entry(1), entry(2)))
    (asked,) = lost.asks()
    assert (asked.after, asked.told) == (path_of(2), 2)
    lost.hears(lost.told(entry(3, digest=None), after=path_of(2), last=True, total=3))
    assert lost.asks() == []
    assert not lost.driver.hearing
    assert [lost.known(path_of(number)).alive for number in (1, 2, 3)] == [True, True, False]


def test_a_page_that_comes_twice_or_too_late_is_learned_once() -> None:
    lost = Lost()
    first = lost.told(entry(1), entry(2))
    lost.hears(first, first)
    lost.hears(first)
    lost.hears(lost.told(entry(3), after=path_of(2), last=True, total=3), first)
    assert lost.asks() == []
    assert not lost.driver.hearing


def test_a_page_that_is_missing_is_asked_for_again() -> None:
    lost = Lost()
    lost.hears(lost.told(entry(3), after=path_of(2), last=True, total=3))
    assert lost.known(path_of(3)) is None
    assert [(each.after, each.told) for each in lost.asks()] == [("", 0)]
    lost.hears(lost.told(entry(1), last=True, total=3))
    (asked,) = lost.asks()
    assert (asked.after, asked.told) == ("", 0), "it was counted wrongly: once more, from the beginning"
    assert lost.driver.hearing


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"entries": (entry(2), entry(1))}, "out of order"),
        ({"entries": (entry(1), entry(1))}, "out of order"),
        ({"entries": ()}, "empty and not the last"),
    ],
)
def test_a_page_that_cannot_be_changes_nothing_and_is_shown(changes: dict[str, Any], reason: str) -> None:
    lost = Lost()
    lost.asks()
    lost.hears(lost.told(last="entries" in changes and bool(changes["entries"]), total=1, **changes))
    assert lost.known(path_of(1)) is None
    assert lost.driver.hearing
    assert reason in str(lost.trouble)
    assert lost.asks() == [], "and is not asked for at once again, for ever"
    assert len(lost.asks(LATER)) == 1
    lost.hears(lost.told(entry(1), last=True, total=1))
    assert lost.asks() == []
    assert not lost.driver.hearing


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"digest": "0f" * 15}, "has 15 bytes"),
        ({"digest": "zz"}, "is no number"),
        ({"time": -(2**62)}, "is none"),
        ({"seen": {"west~1": 2**70}}, "is none"),
        ({"region": ""}, "is none"),
        ({"by": ""}, "is none"),
        ({"region": "no\x00body"}, "is none"),
        ({"seen": {"west/1": T0}}, "is none"),
    ],
)
def test_an_entry_that_cannot_be_is_put_aside_and_the_others_are_learned(changes: dict[str, Any], reason: str) -> None:
    lost = Lost()
    lost.asks()
    page = lost.told(entry(1), entry(2, **changes), entry(3), after="", last=False)
    lost.hears(page, page)
    assert "1 entries that cannot be understood" in str(lost.trouble)
    assert [lost.known(path_of(number)) is not None for number in (1, 2, 3)] == [True, False, True]
    lost.hears(lost.told(entry(4), after=path_of(3), last=True, total=4))
    (asked,) = lost.driver.correspond(T0)
    assert not lost.driver.hearing
    assert isinstance(asked, Control)
    assert (asked.paths, asked.target) == ((path_of(2),), "west"), "it may be told as a change"
    assert asked.reason == missing_values.VERSION_LACKS
    (row,) = lost.state.database.quarantine.values()
    assert (row.poison.origin, row.poison.path, row.poison.position) == ("listing", path_of(2), f"west {path_of(2)!r}")
    assert "west lists" in row.poison.detail
    assert reason in row.poison.detail
    with lost.state.transaction() as tx:
        hold = tx.registers([path_of(2)])[path_of(2)].hold
        assert tx.unfolded() == 0
    assert hold is not None
    assert (hold.reason, hold.detail.startswith("west: ")) == (HoldReason.UNTOLD, True)
    found = Entry(path=path_of(2), value=b"{}", revision=Revision("7"), modified_at_ms=None)
    scan, ticket = lost.driver.armed(), lost.driver.issue_page()
    fence = parts_of(lost.driver).core.fence
    assert fence is not None
    at = Entry(path=fence_path(EAST), value=fence.fence.encode(), revision=fence.revision, modified_at_ms=None)
    lost.driver.take_page(scan, ticket, [found], at, T0)
    assert not lost.state.database.outbox, "the group knows the path: it is no baseline"
    lost.state.ask("quarantine-retry", {"id": str(row.id)}, "a person", "")
    lost.driver.operate(T0)
    assert parts_of(lost.driver).recovery.values.wanting == {path_of(2): None}


def test_a_page_of_which_hardly_anything_can_be_understood_is_learned_all_the_same() -> None:
    """Else who tells it would be asked for it for ever, and the rebuild would never end."""
    lost = Lost()
    lost.asks()
    bad = [entry(number, digest="") for number in range(1_000, 1_000 + state_transfer.BAD_ENTRIES + 20)]
    lost.hears(lost.told(entry(1), *bad, last=True, total=len(bad) + 1))
    lost.asks()
    assert not lost.driver.hearing
    assert lost.known(path_of(1)) is not None
    assert len(lost.state.database.quarantine) == state_transfer.BAD_ENTRIES
    with lost.state.transaction() as tx:
        held = tx.registers([path_of(number) for number in range(1_000, 1_000 + len(bad))])
    assert len(held) == len(bad)
    assert all(each.hold is not None and each.hold.reason is HoldReason.UNTOLD for each in held.values())


def test_an_entry_that_cannot_be_of_a_path_that_is_not_carried_is_put_aside_and_holds_nothing() -> None:
    lost = Lost()
    bad = [entry(1, path=path, digest="zz") for path in ("/admin/local-policies/x", "/no\x00path")]
    lost.hears(lost.told(*bad, last=True, total=2))
    assert lost.asks() == []
    assert not lost.driver.hearing
    rows = [row.poison for row in lost.state.database.quarantine.values()]
    assert [row.path for row in rows] == [None, None]
    assert not any("\x00" in row.position + row.detail for row in rows)
    assert not lost.state.database.registers


@pytest.mark.parametrize(
    "changes",
    [{"target": NORTH}, {"asker": "lost"}, {"region": EAST}, {"region": Region("stranger")}],
    ids=["another target", "another database", "its own region", "a stranger"],
)
def test_what_is_for_somebody_else_or_of_nobody_is_not_taken(changes: dict[str, Any]) -> None:
    lost = Lost()
    lost.hears(lost.told(entry(1), last=True, total=1, **changes))
    assert lost.known(path_of(1)) is None
    assert lost.asks()
    assert lost.driver.hearing


def test_paths_that_are_none_or_out_of_scope_or_of_tomorrow_are_left_out() -> None:
    lost = Lost()
    odd = [entry(1, path="//"), entry(1, path="/admin/local-policies/x"), entry(1, path="/zz")]
    lost.hears(lost.told(*sorted([entry(1), entry(2, time=86_400_000), *odd]), last=True, total=5))
    assert lost.known(path_of(1)) is not None
    assert lost.known(path_of(2)) is None
    (asked,) = lost.driver.correspond(T0)
    assert not lost.driver.hearing
    assert isinstance(asked, Control)
    assert asked.paths == (path_of(2),), "as an event it is held until its time has come"


def test_a_page_that_could_not_be_stored_was_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Lost()
    page = lost.told(entry(1), last=True, total=1)

    def fails(*_: object) -> None:
        raise StateUnavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("syncer.state.memory.transaction.MemoryTransaction.save", fails)
        with pytest.raises(StateUnavailable):
            lost.hears(page)
    assert lost.asks(), "it is asked for again"
    assert lost.driver.hearing
    lost.hears(page)
    assert lost.asks(LATER) == []
    assert not lost.driver.hearing
    assert lost.known(path_of(1)) is not None


def test_who_is_asked_tells_all_that_it_knows_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_transfer, "PAGE_ENTRIES", 2)
    state = MemoryState(MemoryDatabase(WEST, "db-west"))
    state.activate()
    with state.transaction() as tx:
        tx.set_identity(first_scan_done=True)
        known = [(path_of(number), version(path_of(number), number or None, number, "west")) for number in range(5)]
        tx.save([Register(path=path, known=each) for path, each in known])
        tx.save([Register(path=path_of(9))])
    driver = Driver(Replica(Settings(region=WEST)), Scope(), state, CAPABILITIES)
    lost, after, told, pages = Lost(), "", 0, 0
    while lost.driver.hearing:
        question = StateRequest(region=EAST, sender="x", sent_at_ms=T0, target=WEST, after=after, told=told)
        question = replace(question, sender=parts_of(lost.driver).core.identity.database_id)
        driver.consume([Arrived(message=question, position="1")], T0)
        (page,) = driver.correspond(T0)
        assert isinstance(page, StatePage)
        lost.hears(page)
        pages += 1
        for asked in lost.asks(Millis(T0 + pages * state_transfer.ASK_AGAIN_MS)):
            after, told = asked.after, asked.told
    assert pages == 3
    assert [lost.known(path) for path, _ in known] == [replace(each, value=None) for _, each in known]


def _asked_of(driver: Driver) -> StatePage:
    """What a region answers to the first question of another one."""
    asked = StateRequest(region=EAST, sender="db-east", sent_at_ms=T0, target=WEST)
    driver.consume([Arrived(message=asked, position="1")], T0)
    (page,) = driver.correspond(T0)
    assert isinstance(page, StatePage)
    return page


def _knowing(*paths: MetaPath, **facts: Any) -> MemoryState:
    """The database of ``west``, which has stamped these paths."""
    state = MemoryState(MemoryDatabase(WEST, "db-west"))
    state.activate()
    with state.transaction() as tx:
        tx.set_identity(first_scan_done=True, **facts)
        tx.save([Register(path=path, known=version(path, 1, 1, "west")) for path in paths])
    return state


def test_one_that_has_not_joined_tells_nothing_of_its_own() -> None:
    driver = Driver(Replica(Settings(region=WEST)), Scope(), _knowing(path_of(1), paused=JOINING), CAPABILITIES)
    page = _asked_of(driver)
    assert (page.entries, page.last, page.total) == ((), True, 0)


def test_a_question_for_somebody_else_or_after_no_path_is_not_answered() -> None:
    lost = Lost()
    for target, region, after in (
        (NORTH, WEST, ""),
        (EAST, EAST, ""),
        (EAST, Region("stranger"), ""),
        (EAST, WEST, "/no\x00path"),
    ):
        asked = StateRequest(region=region, sender="x", sent_at_ms=T0, target=target, after=after)
        lost.driver.consume([Arrived(message=asked, position="1")], T0)
    assert not parts_of(lost.driver).recovery.progress.owed


def test_one_that_hears_itself_says_that_what_it_tells_is_not_all() -> None:
    lost = Lost()
    asked = StateRequest(region=WEST, sender="db-west", sent_at_ms=T0, target=EAST)
    lost.driver.consume([Arrived(message=asked, position="1")], T0)
    (page,) = [each for each in lost.driver.correspond(T0) if isinstance(each, StatePage)]
    assert (page.rebuilding, page.last, page.entries, page.asker) == (True, True, (), "db-west")


@pytest.mark.parametrize(
    ("fence", "reason"),
    [
        (Fence(number=3, database_id="copy", generation=1, store_id="store", epoch=9), "raised in epoch 9"),
        (Fence(number=3, database_id="copy", generation=1, store_id="store", landed=("2.7",)), "batch 2.7 has landed"),
    ],
)
def test_the_fence_tells_an_old_copy(fence: Fence, reason: str) -> None:
    old = Lost(database_id="copy", fence=fence)
    assert old.driver.hearing
    assert reason in (old.driver.rebuilding or "")
    assert parts_of(old.driver).core.identity.generation == 2


def test_a_database_that_the_fence_names_and_that_lacks_nothing_goes_on_after_its_peers_have_spoken() -> None:
    same = Lost(database_id="same", fence=Fence(number=3, database_id="same", generation=1, store_id="store"))
    assert not same.driver.hearing
    assert same.driver.rebuilding is None
    assert same.driver.starting
    assert same.driver.heartbeat(T0, "1").mode == "starting"
    same.driver.tick(T0)
    same.driver.tick(Millis(T0 + parts_of(same.driver).recovery.quiet_ms))
    assert not same.driver.starting, "who does not speak is not waited for for ever"


def test_one_that_may_not_take_over_is_refused_by_another_ones_fence() -> None:
    state = MemoryState(MemoryDatabase(EAST, "fresh"))
    driver = Driver(Replica(Settings(region=EAST)), Scope(), state, CAPABILITIES)
    parts_of(driver).recovery.takes_over = False
    value = Fence(number=3, database_id="other", generation=1, store_id="store").encode()
    entry = Entry(path=fence_path(EAST), value=value, revision=Revision("1"), modified_at_ms=None)
    with pytest.raises(PreconditionFailed, match="another sidecar database"):
        driver.raise_fence(entry, "store", T0)
