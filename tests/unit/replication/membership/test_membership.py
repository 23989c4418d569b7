"""Who belongs to the group: what is refused, what is told on about it, and what is cleared up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from syncer.bus.wire.messages import LEFT, Heartbeat
from syncer.errors import PreconditionFailed
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.group import peers
from syncer.replication.group.evidence import SILENCE_MS
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.local.dirty import ReadCause
from syncer.replication.membership.leave import leave
from syncer.state.contract.operations import OperationState
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import BEAT_MS, T0, Pair, Site, path_of
from tests.unit.replication.gc.test_gap_fill import FORGETTING, GONE, changed, pair_with
from tests.unit.replication.recovery.test_state_transfer import Lost

EAST, WEST = Region("east"), Region("west")


def forgets(site: Site, region: str, now: int) -> None:
    """An operator of the region forgets another one, which spoke a moment ago."""
    number = site.state.ask("regions-forget", {"region": region, "force": "true"}, "an operator", "")
    site.driver.operate(Millis(now))
    operation, _ = site.state.database.operations[number]
    assert operation.state is OperationState.DONE, operation.answer


def test_a_forgotten_region_leaves_no_gap_behind() -> None:
    pair = pair_with()
    pair.beat(2)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.west, GONE, None, 50)
    pair.beat(2)
    retelling = parts_of(pair.east.driver).gc.gaps
    assert retelling.gaps
    forgets(pair.east, "west", pair.now)
    pair.beat(40)
    assert not retelling.gaps
    assert not retelling.conditions(Millis(pair.now), Millis(1))


def listens(site: Site, now: int, said: Sequence[Heartbeat] = ()) -> Millis:
    """The region hears itself for longer than a silence, and these once more at its end; the time then."""
    for _ in range(SILENCE_MS // 60_000 + 1):
        now += 60_000
        site.driver.tick(Millis(now))
        site.hear([site.driver.heartbeat(Millis(now), "1")], Millis(now))
    site.hear([*said], Millis(now))
    return Millis(now)


class Group:
    """Any number of regions that hear one another at once."""

    def __init__(self, *names: str) -> None:
        self.sites = [Site(name) for name in names]
        self.now = T0 + 1_000_000
        for site in self.sites:
            parts_of(site.driver).gc.tombstones.limits = replace(FORGETTING, grace_ms=Millis(1))
            for number in range(3):
                site.has(path_of(number), 0, 1, "east")

    def beat(self, beats: int, *sites: Site) -> None:
        for _ in range(beats):
            self.now += BEAT_MS
            now = Millis(self.now)
            for site in sites:
                site.driver.tick(now)
                site.work(now)
                site.said.append(site.driver.heartbeat(now, "1"))
            while any(site.said for site in sites):
                for site in sites:
                    said, site.said = site.said, []
                    for other in sites:
                        heard = [each for each in said if other is not site or isinstance(each, Heartbeat)]
                        other.hear(heard, now)
                for site in sites:
                    site.work(now)


def refused_by(site: Site) -> Sequence[tuple[str, str]]:
    """What a region says that it refuses."""
    return site.driver.heartbeat(T0, "1").refused


def beat_of(site: Site, region: str, sender: str, **changes: object) -> Heartbeat:
    """A heartbeat by the rules of a region, of another one."""
    return replace(site.driver.heartbeat(T0, "1"), region=Region(region), sender=sender, refused=(), **changes)  # type: ignore[arg-type]  # any field


def test_a_forgotten_region_does_not_return_through_one_that_joined_later() -> None:
    group = Group("east", "old", "new")
    east, old, new = group.sites
    gone = path_of(1)
    group.beat(3, east, old)
    changed(east, gone, None, 50)  # and old is off
    group.beat(3, east)
    forgets(east, "old", group.now)
    new.has(gone, None, 50, "east")
    group.beat(40, east, new)
    assert (east.known(gone), new.known(gone)) == (None, None)
    group.beat(40, east, new, old)
    assert refused_by(new) == (("old", "db-old"),)
    for site in (east, new):
        assert gone not in site.entries
        assert site.known(gone) is None
    assert "forgotten-database" in parts_of(new.driver).telemetry.conditions
    assert "has forgotten this region's database" in parts_of(old.driver).telemetry.conditions["forgotten-here"]
    assert parts_of(old.driver).group.mode == LEFT
    assert gone in old.entries, "it stands still with what it has"


def test_what_a_member_refuses_is_refused_for_good_though_its_region_was_never_heard() -> None:
    east = Site("east")
    beat = replace(beat_of(east, "west", "db-west"), refused=(("old", "a"), ("old", "b")))
    east.hear([beat], T0)
    assert refused_by(east) == (), "it does not listen for long enough"
    east.hear([beat_of(east, "old", "b")], T0)
    assert list(parts_of(east.driver).group.peers.members(())) == ["west"], "what it says meanwhile is kept aside"
    listens(east, T0)
    assert refused_by(east) == (("old", "a"), ("old", "b"))
    assert list(parts_of(east.driver).group.peers.members(())) == ["west"]
    east.begin()
    assert parts_of(east.driver).recovery.progress.unheard == {WEST}, "nobody waits for who is gone"
    assert refused_by(east) == (("old", "a"), ("old", "b"))
    assert list(parts_of(east.driver).group.peers.members(())) == ["west"]
    east.hear([beat_of(east, "old", "b")], T0)
    assert list(parts_of(east.driver).group.peers.members(())) == ["west"]
    assert "forgotten-database" in parts_of(east.driver).telemetry.conditions


def test_a_region_that_has_left_and_says_so_still_is_no_alarm() -> None:
    east = Site("east")
    east.hear([replace(beat_of(east, "west", "db-west"), refused=(("old", "a"),))], T0)
    east.hear([beat_of(east, "old", "a", mode=LEFT)], T0)
    assert not parts_of(east.driver).telemetry.conditions


def test_a_stranger_is_not_believed_about_others() -> None:
    east = Site("east")
    parts_of(east.driver).group.expected = frozenset({WEST})
    east.hear([replace(beat_of(east, "mars", "m"), refused=(("west", "db-west"),))], T0)
    assert refused_by(east) == ()


def test_no_more_regions_are_kept_on_hearsay_than_there_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS_KEPT", 3)
    east = Site("east")
    told = tuple((f"r{number}", f"x{number}") for number in range(10))
    beat = replace(beat_of(east, "west", "db-west"), refused=told)
    east.hear([beat], T0)
    listens(east, T0)
    assert refused_by(east) == told[:2]
    assert list(parts_of(east.driver).group.hearsay.held) == [region for region, _ in told[2:]], "the others are held"


def test_a_database_that_is_refused_stands_still_when_it_hears_so() -> None:
    east = Site("east")
    back = Millis(listens(east, T0) + SILENCE_MS)
    beat = replace(beat_of(east, "west", "db-west"), refused=(("east", "db-east"),))
    east.hear([replace(beat, refused=(("east", "db-former"),))], back)
    assert parts_of(east.driver).group.left_at is None
    east.hear([beat], back)
    assert parts_of(east.driver).group.left_at == back
    assert "west has forgotten" in parts_of(east.driver).telemetry.conditions["forgotten-here"]


@pytest.mark.parametrize("heard_itself_first", [False, True])
def test_a_database_that_takes_the_place_of_a_refused_one_stands_still_too(heard_itself_first: bool) -> None:
    lost = Lost()
    if heard_itself_first:
        own = lost.driver.heartbeat(T0, "0")
        lost.driver.consume([Arrived(message=own, position="own")], T0)
    beat = replace(beat_of(Site("west"), "west", "db-west"), refused=(("east", "another"),))
    for refused in ("another", "lost"):
        assert parts_of(lost.driver).group.left_at is None
        message = replace(beat, refused=(("east", refused),))
        lost.driver.consume([Arrived(message=message, position=refused)], T0)
    assert parts_of(lost.driver).group.left_at == T0
    assert "west has forgotten" in parts_of(lost.driver).telemetry.conditions["forgotten-here"]
    assert lost.driver.heartbeat(T0, "1").mode == LEFT
    number = lost.state.ask("regions-join", {}, "a person", "")
    lost.driver.operate(T0)
    operation, _ = lost.state.database.operations[number]
    assert operation.answer.startswith("this region has left the group, or was forgotten"), "no rebuild is waited for"
    assert operation.answer.endswith("under a region id that was never used.")


def test_exactly_the_named_databases_are_refused_and_a_later_one_speaks_on() -> None:
    pair = Pair()
    pair.beat(2)
    east = pair.east
    third = replace(beat_of(east, "third", "db-third"), refused=(("west", "db-west"),))
    newer = beat_of(east, "west", "db-newer")
    east.hear([newer, third], Millis(pair.now))
    now = listens(east, pair.now, [newer, third])
    assert refused_by(east) == (("west", "db-west"),)
    assert list(parts_of(east.driver).group.peers.members(())) == ["third", "west"]
    east.hear([third, newer], now)
    assert list(parts_of(east.driver).group.peers.members(())) == ["third", "west"]


def test_a_forgotten_region_id_is_not_used_again() -> None:
    pair = pair_with()
    pair.beat(2)
    east = pair.east
    late = changed(pair.west, GONE, None, 50)
    forgets(east, "west", pair.now)
    again = beat_of(east, "west", "db-anew")
    east.hear([again, replace(late, sender="db-anew", sequence=1)], Millis(pair.now))
    assert not parts_of(east.driver).group.peers.members(())
    assert "its id is used again" in parts_of(east.driver).telemetry.conditions["forgotten-region"]
    assert east.known(GONE) is None
    with east.state.transaction() as tx:
        assert not tx.consumed(["db-anew"])
        assert tx.unfolded() == 0


def test_what_a_forgotten_region_made_is_taken_of_a_member() -> None:
    pair = pair_with()
    pair.beat(2)
    pair.east.hear([beat_of(pair.east, "old", "db-old")], Millis(pair.now))
    forgets(pair.east, "old", pair.now)
    pair.west.has(path_of("theirs"), 3, 50, "old")
    pair.beat(6)
    assert path_of("theirs") in pair.east.entries
    assert pair.equal


def left(pair: Pair, *, force: bool = False) -> None:
    """West leaves."""
    parts_of(pair.west.driver).local.watch.scanned = True
    with pair.west.state.transaction() as tx:
        leave(parts_of(pair.west.driver).membership, tx, Millis(pair.now), force=force)


def test_a_region_leaves_once_every_member_has_all_that_it_said() -> None:
    pair = pair_with()
    pair.beat(3)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.west, GONE, None, 50)
    pair.beat(1)
    with pytest.raises(PreconditionFailed, match="east has 0 of 1") as refused:
        left(pair)
    assert "--force" in (refused.value.hint or "")
    pair.loses = lambda _: False
    pair.beat(8)
    left(pair)
    assert parts_of(pair.west.driver).group.left_at is not None


def test_a_region_leaves_once_its_store_is_read_to_its_end() -> None:
    pair = Pair()
    pair.beat(2)
    left(pair)
    assert parts_of(pair.west.driver).group.left_at is not None
    unread = Pair()
    unread.beat(2)
    parts = parts_of(unread.west.driver)
    for scanned, path in ((False, None), (True, GONE)):
        parts.local.watch.scanned = scanned
        parts.local.dirty.add(() if path is None else (path,), ReadCause.NOTICE)
        with unread.west.state.transaction() as tx, pytest.raises(PreconditionFailed, match="read and decided"):
            leave(parts.membership, tx, Millis(unread.now))
    assert parts.group.left_at is None


def test_a_member_that_tells_no_numbers_has_nothing() -> None:
    pair = pair_with()
    pair.beat(3)
    pair.west.hear([beat_of(pair.west, "old", "db-old", unfolded=None)], Millis(pair.now))
    changed(pair.west, GONE, None, 50)
    pair.beat(2)
    with pytest.raises(PreconditionFailed, match="old has 0 of 1"):
        left(pair)


def test_what_a_region_said_before_it_left_is_taken_however_late() -> None:
    pair = pair_with()
    pair.beat(3)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    late = [replace(changed(pair.west, path_of(name), 7, 50), sender="db-west") for name in ("n1", "n2", "n3")]
    pair.west.work(Millis(pair.now))
    pair.west.said.clear()
    left(pair, force=True)
    pair.beat(2)
    east = pair.east
    assert list(parts_of(east.driver).group.peers.members(())) == ["west"], "it is final only after a silence"
    pair.now = listens(east, pair.now)
    assert not parts_of(east.driver).group.peers.members(())
    east.hear([replace(late[0], sequence=1)], Millis(pair.now))
    assert east.known(path_of("n1")) is not None
    with east.state.transaction() as tx:
        assert tx.consumed(["db-west"])["db-west"].through == 1
    parts_of(east.driver).core.floor = late[1].stamp.updated_at_ms
    east.hear([replace(late[1], sequence=2)], Millis(pair.now))
    assert east.known(path_of("n2")) is None, "it may contradict a delete that was forgotten"
    parts_of(east.driver).core.floor = Millis(0)
    east.hear([replace(late[2], sequence=4)], Millis(pair.now))
    assert east.known(path_of("n3")) is None, "it was said after leaving"
    assert "forgotten-database" in {row.poison.code for row in east.state.database.quarantine.values()}
