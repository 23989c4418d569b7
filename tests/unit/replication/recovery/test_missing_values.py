"""Values that are due and lacking: who is asked, who says that it has none, and when they are given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.messages import Control, ControlAction
from syncer.conflict.acts import Decision
from syncer.conflict.register import Hold, HoldReason, Register, Stored
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import NOTHING_SEEN, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.replication.recovery import missing_values
from syncer.replication.recovery.value_exchange import MissingValue
from syncer.state.contract.conflicts import ConflictRow
from tests.simulation.store import digest_of
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import BEAT_MS, T0, Pair, Site, path_of, value_of, version

EAST, WEST = Region("east"), Region("west")
P = path_of("lost")


class Talking(Site):
    """A region that corresponds, too."""

    def work(self, now: Millis) -> None:
        super().work(now)
        self.said += [said for said in self.driver.correspond(now) if isinstance(said, Control)]

    def lacks(self, path: MetaPath, edition: int, time: int, region: str, stands: int | None = None) -> None:
        """It has learned of a version without its value; its store holds another one, of which nothing is known."""
        stored = None
        if stands is not None:
            revision = self.put(path, value_of(stands)).revision
            stored = Stored(
                stamp=Stamp(Millis(0), Region(self.region)),
                by=parts_of(self.driver).core.replica.settings.by,
                seen=NOTHING_SEEN,
                digest=digest_of(path, value_of(stands)),
                revision=revision,
            )
        with self.state.transaction() as tx:
            tx.save([Register(path=path, known=version(path, edition, time, region), stored=stored)])
        self.sum_again()

    @property
    def conflicts(self) -> list[ConflictRow]:
        return list(self.state.database.conflicts.values())

    @property
    def decisions(self) -> list[Decision]:
        return [row.decision for _, row in self.state.database.journal.values()]


def told_late() -> MetadataChangeEvent:
    """The value that lacks, from its author."""
    known = version(P, 1, 50, "east")
    return MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.RESOURCE_GROUP,
        resource_name="lost",
        path=P,
        value=value_of(1),
        stamp=known.stamp,
        by=known.by,
        seen=known.seen,
        sender="db-east",
        sequence=99,
    )


class RecoveryState(Pair):
    """Two that correspond."""

    east: Talking
    west: Talking

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(Talking("east"), Talking("west", scope or Scope()))

    @property
    def asked(self) -> list[Control]:
        return [said for said in self.heard if isinstance(said, Control) and said.reason == missing_values.VALUE_LACKS]


def test_what_nobody_has_any_more_gives_way_to_what_the_store_holds() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    pair.beat(6)
    assert pair.equal
    assert pair.east.entries[P].value == pair.west.entries[P].value == value_of(2)
    known = pair.east.known(P)
    assert known is not None
    assert (known.stamp.region, known.stamp.updated_at_ms > T0 + 50) == (WEST, True)
    assert Decision.UNSUPPLIED in pair.west.decisions
    assert not parts_of(pair.west.driver).recovery.values.lacks


def test_what_nobody_has_any_more_is_unknown_again_where_the_store_holds_nothing() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east")
    pair.beat(6)
    assert pair.equal
    assert pair.west.known(P) is None
    assert not any(isinstance(said, MetadataChangeEvent) for said in pair.heard)


def test_what_one_has_is_told_and_nothing_is_given_up() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.east.has(P, 1, 50)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    pair.beat(6)
    assert pair.west.entries[P].value == value_of(1)
    assert Decision.UNSUPPLIED not in pair.west.decisions


@pytest.mark.parametrize("stands", [None, 2, 3])
@pytest.mark.parametrize("edition", [None, 3])
def test_what_a_member_knows_in_its_place_stands_and_nothing_is_asserted(
    stands: int | None, edition: int | None
) -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.east.has(P, edition, 40)
    pair.west.lacks(P, 1, 50, "gone", stands)
    pair.beat(12)
    assert pair.equal
    assert pair.east.known(P) == pair.west.known(P) == version(P, edition, 40, "east")
    stored = [site.entries[P].value if P in site.entries else None for site in (pair.east, pair.west)]
    assert stored == [None if edition is None else value_of(edition)] * 2
    assert pair.west.decisions.count(Decision.UNSUPPLIED) == 1
    assert not any(event.stamp.region == WEST for event in pair.events)
    assert not parts_of(pair.west.driver).recovery.values.lacks


def test_the_same_value_under_an_older_stamp_is_the_value_that_lacks() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.east.has(P, 1, 40)
    pair.west.lacks(P, 1, 50, "gone")
    pair.beat(6)
    known, theirs = version(P, 1, 50, "gone"), version(P, 1, 40, "east")
    assert pair.west.entries[P].value == value_of(1)
    assert pair.west.known(P) == replace(known, seen={**known.seen, **theirs.seen})
    assert Decision.UNSUPPLIED not in pair.west.decisions
    assert not parts_of(pair.west.driver).recovery.values.lacks


def test_what_is_known_instead_is_the_greatest_that_any_member_knows() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "gone")
    parts = parts_of(pair.west.driver)
    missing = MissingValue(stamp=version(P, 1, 50, "gone").stamp, asked_at_ms=T0)
    members = [Region(name) for name in ("a", "b", "c", "d")]
    for region, time in zip(members, (10, 30, 20, 40), strict=True):
        missing.told[region] = version(P, 3, time, region)
    missing.older.update(members[:3])  # what the fourth has told was under way when it was asked, and may be outdone
    assert missing_values._instead(parts.recovery, missing, members) == version(P, 3, 30, "b")
    assert missing_values._instead(parts.recovery, missing, members[::2]) == version(P, 3, 20, "c")


def test_an_older_version_alone_does_not_say_that_there_is_no_newer_one() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.east.has(P, 3, 40)
    pair.west.lacks(P, 1, 50, "gone", stands=2)
    pair.loses = lambda said: isinstance(said, Control) and said.action is ControlAction.LACKING
    pair.beat(20)
    assert any(event.stamp == version(P, 3, 40, "east").stamp for event in pair.events)
    assert pair.west.known(P) == version(P, 1, 50, "gone")
    pair.loses = lambda _: False
    pair.beat(40)
    assert pair.equal


def test_who_has_something_older_is_asked_again_until_it_is_told() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.east.has(P, 3, 40)
    pair.west.lacks(P, 1, 50, "gone", stands=2)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    pair.beat(20)
    assert any(said.action is ControlAction.LACKING for said in pair.heard if isinstance(said, Control))
    assert len(pair.asked) > 2
    assert pair.west.known(P) == version(P, 1, 50, "gone")
    pair.loses = lambda _: False
    pair.beat(40)
    assert pair.equal
    assert pair.west.entries[P].value == value_of(3)


def test_who_lacks_one_version_may_have_a_later_one() -> None:
    pair = RecoveryState()
    parts_of(pair.west.driver).group.expected = frozenset({EAST, Region("north")})
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "gone", stands=2)
    pair.loses = lambda said: isinstance(said, Control)
    pair.beat(2)
    now, missing = Millis(pair.now), parts_of(pair.west.driver).recovery.values.lacks[P]
    said = Control(region=EAST, sender="db-east", action=ControlAction.LACKING, paths=(P,), sent_at_ms=now)
    stamps = [version(P, 1, time, "gone").stamp for time in (45, 50)]
    pair.west.hear([replace(said, stamps=((stamps[0].updated_at_ms, stamps[0].region),))], now)
    assert not missing.lacking
    pair.west.hear([replace(said, stamps=((stamps[1].updated_at_ms, stamps[1].region),))], now)
    assert (missing.lacking, missing.older) == ({EAST}, {EAST})
    pair.west.hear([said], now)
    assert (missing.lacking, missing.older) == ({EAST}, set()), "what it had then is forgotten by now"


def test_older_versions_are_kept_of_few_paths_and_the_others_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(missing_values, "TOLD_BOUND", 2)
    pair = RecoveryState()
    pair.beat(2)
    paths = [path_of(f"lost-{number}") for number in range(5)]
    for path in paths:
        pair.east.has(path, 3, 40)
        pair.west.lacks(path, 1, 50, "gone")
    pair.loses = lambda said: isinstance(said, Control) and said.action is ControlAction.LACKING
    pair.beat(4)
    values = parts_of(pair.west.driver).recovery.values
    assert [len(missing.told) for missing in values.telling] == [1, 1]
    assert sum(bool(missing.told) for missing in values.lacks.values()) == 2
    pair.loses = lambda _: False
    pair.beat(60)
    assert pair.equal
    assert all(pair.west.entries[path].value == value_of(3) for path in paths)


def test_what_may_not_leave_a_region_is_not_asserted_by_it() -> None:
    pair = RecoveryState(Scope((Rule(P, Direction.APPLY), *DEFAULT_RULES)))
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    for _ in range(6):
        pair.beat()
    assert pair.west.known(P) is None
    assert not any(isinstance(said, MetadataChangeEvent) for said in pair.heard)


def test_one_that_is_paused_does_not_say_that_it_has_nothing_and_gives_nothing_up() -> None:
    for paused in ("east", "west"):
        pair = RecoveryState()
        pair.beat(2)
        pair.west.lacks(P, 1, 50, "east", stands=2)
        site = pair.east if paused == "east" else pair.west
        parts_of(site.driver).group.paused = "maintenance"
        pair.beat(10)
        assert P not in pair.east.entries
        parts_of(site.driver).group.paused = None
        pair.beat(40)
        assert pair.east.entries[P].value == value_of(2)


def test_a_value_that_comes_after_all_is_kept_as_a_conflict() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    pair.beat(6)
    pair.west.hear([told_late()], Millis(pair.now))
    assert [row.value for row in pair.west.conflicts] == [value_of(1)]
    assert pair.west.entries[P].value == value_of(2)


def test_a_value_that_comes_before_it_was_given_up_is_taken() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    driver, now = pair.west.driver, Millis(pair.now)
    driver.tick(now)
    pair.west.work(now)
    driver.tick(now)
    driver.correspond(now)
    control = Control(region=EAST, sender="db-east", action=ControlAction.LACKING, paths=(P,), sent_at_ms=now)
    pair.west.hear([control], now)
    driver.correspond(now)
    pair.west.hear([told_late()], now)
    pair.west.work(now)
    assert pair.west.entries[P].value == value_of(1)


def test_who_does_not_answer_is_asked_more_and_more_rarely() -> None:
    pair = RecoveryState()
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    pair.loses = lambda said: isinstance(said, Control)
    pair.beat(6)
    few = len(pair.asked)
    pair.beat(60)
    assert 3 <= few <= 5
    assert 4 <= len(pair.asked) <= few + 4
    pair.loses = lambda _: False
    pair.beat(40)
    assert pair.equal


def test_who_has_said_it_has_none_is_not_asked_again_while_another_one_is_silent() -> None:
    pair = RecoveryState()
    parts_of(pair.west.driver).group.expected = frozenset({EAST, Region("north")})
    pair.beat(2)
    pair.west.lacks(P, 1, 50, "east", stands=2)
    pair.beat(30)
    asked = [control.target for control in pair.asked]
    assert asked.count("east") == 1
    assert asked.count("north") > 3
    assert P not in pair.east.entries, "the silent one may have it"


def test_what_lies_outside_the_scope_of_who_is_asked_is_nothing_that_it_could_tell() -> None:
    pair = RecoveryState()
    pair.beat(2)
    outside = MetaPath("/admin/local-policies/x")
    control = Control(region=EAST, sender="db-east", action=ControlAction.REQUEST, paths=(outside,), sent_at_ms=T0)
    pair.west.hear([control], Millis(pair.now))
    (said,) = pair.west.driver.correspond(Millis(pair.now))
    assert isinstance(said, Control)
    assert (said.action, said.paths, said.target) == (ControlAction.LACKING, (outside,), "")


def test_what_waits_for_a_person_is_neither_told_nor_said_to_be_nothing() -> None:
    for reason, local in ((HoldReason.MASS_DELETE, True), (HoldReason.UNREADABLE, False)):
        pair = RecoveryState()
        pair.beat(2)
        known = version(P, 1, 50, "west")
        revision = pair.west.put(P, b"\xff not readable").revision
        hold = Hold(reason=reason, stamp=known.stamp, since_ms=T0, detail="why", local=local)
        register = replace(Register(path=P, known=known).sit(known, revision), hold=hold)
        with pair.west.state.transaction() as tx:
            tx.save([replace(register, stored=None) if local else register])
        asked = Control(region=EAST, sender="db-east", action=ControlAction.REQUEST, paths=(P,), sent_at_ms=T0)
        pair.west.hear([asked], Millis(pair.now))
        pair.west.put(P, b"\xfe nor now")
        pair.west.work(Millis(pair.now))
        assert not [said for said in pair.west.said if isinstance(said, MetadataChangeEvent | Control)]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_values, "LACKS_BOUND", 3)
    monkeypatch.setattr(missing_values, "PATHS_AT_ONCE", 2)
    monkeypatch.setattr(missing_values, "NOTHING_BOUND", 2)
    monkeypatch.setattr(missing_values, "TOLD_BOUND", 1)
    pair = RecoveryState()
    pair.loses = lambda said: isinstance(said, Control)
    pair.beat(2)
    paths = [path_of(f"lost-{number}") for number in range(5)]
    for path in paths:
        pair.west.lacks(path, 1, 50, "east", stands=2)
    pair.beat(5)
    assert len(parts_of(pair.west.driver).recovery.values.lacks) == 3
    missing_values.note(parts_of(pair.west.driver).recovery, dict.fromkeys(paths))
    assert list(parts_of(pair.west.driver).recovery.values.nothing) == paths[:2]
    pair.loses = lambda _: False
    pair.beat(20, BEAT_MS)
    assert pair.equal
    assert all(pair.east.entries[path].value == value_of(2) for path in paths)
