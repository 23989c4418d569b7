"""What a member, or who says that he is one, tells of others: each defence against it, step by step."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from unittest import mock

import orjson

from syncer.bus.wire.messages import LEFT, Control, ControlAction, Heartbeat, Message, StateEntry, StatePage
from syncer.bus.wire.messages import TreeMessage as Tree
from syncer.bus.wire.tree_bodies import Listing, TreeEntry, TreeStep, listing_body
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.digest_tree import bucket_of
from syncer.errors import Fenced
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.replication.group import peers
from syncer.replication.group.evidence import Evidence
from tests.simulation.region import SILENCE_MS
from tests.simulation.script import ETCD, Script, second
from tests.simulation.store import digest_of
from tests.simulation.test_lying import YEAR_9999, A, C, Lied
from tests.simulation.test_schedules import YEAR_MS, P, W, X, Y, Z, knows
from tests.simulation.world import TENANT
from tests.support.parts import parts_of

ALL = ("a", "b", "c")
BEGIN_MS = 1_000_000
BEAT_MS = 10_000
AWAY_MS = 3 * SILENCE_MS
HOUR_MS = 3_600_000


class Group(Script):
    """Three regions that hear one another, and name nobody; what is false is said by ``c``, or as if by somebody."""

    def __init__(self, *, expected: bool = False, forgets: bool = False, compares: bool = False) -> None:
        super().__init__(ETCD, ETCD, ETCD, forgets=forgets, compares=compares)
        if not expected:
            for region in self.sites:
                parts_of(self.daemon(region).driver).group.expected = frozenset()
        self.moment = BEGIN_MS
        self.at(BEGIN_MS)
        self.speak(2 * SILENCE_MS, ALL)

    def speak(self, milliseconds: int, speakers: Collection[str], hearers: Collection[str] = ALL) -> None:
        """For so long these say every ten seconds how they are, and these hear it."""
        until = self.moment + milliseconds
        while self.moment < until:
            self.pass_time(BEAT_MS)
            for speaker in speakers:
                self.beat(speaker, *hearers)

    def pass_time(self, milliseconds: int) -> None:
        """Everybody looks at the clock after so long."""
        self.moment += milliseconds
        self.at(self.moment)
        for site in self.sites.values():
            site.daemon.driver.tick(site.clock())

    def lie(self, *hearers: str, **told: object) -> Heartbeat:
        """These hear a heartbeat that is ``c``'s but for this."""
        self.daemon("c").beat_heart()
        true = self.bus.log[-1]
        assert isinstance(true, Heartbeat)
        forged = replace(true, **told)  # type: ignore[arg-type] # fields of a heartbeat
        self.hear(forged, *hearers)
        return forged

    def hear(self, message: Message, *hearers: str) -> None:
        """These hear a message that none of the daemons has sent."""
        self.bus.log.append(message)
        for region in hearers:
            self.deliver(region, message)

    def forgets_what_came_back(self, region: str) -> None:
        """A region knows nothing yet of whether it is heard."""
        site = self.sites[Region(region)]
        evidence = parts_of(site.daemon.driver).group.evidence = Evidence(silence_ms=SILENCE_MS)
        evidence.begin(site.clock())

    def does(self, at: str, kind: str, **told: str) -> str:
        """What an operator of a region asks for; what becomes of it."""
        site = self.sites[Region(at)]
        number = site.disk.ask(kind, **told)
        self.daemon(at).operate()
        return str(site.disk.tables.operations[number].state)

    def refuses(self, region: str, database: str) -> bool:
        """Whether a region takes no message of a database any more."""
        return parts_of(self.daemon(region).driver).group.peers.refuses(database) is not None

    def members(self, region: str) -> list[str]:
        """Whom a region waits for."""
        parts = parts_of(self.daemon(region).driver)
        return [str(member) for member in parts.group.peers.members(parts.group.expected)]

    def stands_still(self, region: str) -> bool:
        """Whether a region takes no part any more."""
        return parts_of(self.daemon(region).driver).group.left_at is not None

    def edit_reaches(self, hearer: str, path: MetaPath = P) -> bool:
        """Whether an edit of ``b`` is known in another region."""
        self.write("b", path, X)
        event = self.tell("b")
        self.deliver(hearer, event)
        register = self.sites[Region(hearer)].disk.tables.registers.get(path)
        return register is not None and register.known is not None and register.known.stamp == event.stamp


# -- of databases, and who is forgotten


def test_a_database_is_of_no_other_region_because_a_member_says_so() -> None:
    w = Group()
    w.lie("a", refused=(("x1", "db-b"),))
    assert list(parts_of(w.daemon("a").driver).group.hearsay.void) == ["c"]
    w.speak(AWAY_MS, ("a",))
    w.lie("a", refused=(("x1", "db-b"),))
    assert not w.refuses("a", "db-b")
    assert w.edit_reaches("a")


def test_nobody_leaves_by_the_database_of_another_region() -> None:
    w = Group()
    w.lie("a", region=Region("x1"), sender="db-b", mode=LEFT)
    w.speak(AWAY_MS, ("a", "c"))
    assert not w.refuses("a", "db-b")
    assert w.edit_reaches("a")


def test_a_leaving_that_was_said_in_a_name_is_taken_back_by_its_next_heartbeat() -> None:
    w = Group()
    w.lie("a", "c", region=Region("b"), sender="db-b", mode=LEFT)
    assert "b" in w.members("a")
    w.speak(BEAT_MS, ALL)
    assert not parts_of(w.daemon("a").driver).group.peers.has_left(Region("b"))
    w.speak(AWAY_MS, ALL)
    assert "b" in w.members("a")
    assert w.edit_reaches("a")


def test_who_does_not_hear_the_bus_takes_that_for_no_silence() -> None:
    w = Group()
    w.speak(AWAY_MS, ("b", "c"), ("b", "c"))
    w.lie("a", refused=(("b", "db-b"),))
    assert not w.refuses("a", "db-b")
    w.beat("b", "a")
    assert w.edit_reaches("a")


def test_nobody_else_proves_to_a_region_that_it_is_heard() -> None:
    """It cannot be heard, and the others forget it; what comes back to it meanwhile, it has never said."""
    w = Group()
    for _ in range(AWAY_MS // BEAT_MS):
        w.pass_time(BEAT_MS)
        w.lie("a", region=Region("a"), sender="db-a", sent_at_ms=Millis(w.sites[Region("a")].clock()))
    for region in ("b", "c"):
        w.lie("a", region=Region(region), sender=f"db-{region}", refused=(("a", "db-a"),))
    assert w.stands_still("a")


def test_one_member_alone_does_not_stop_a_region_that_was_away() -> None:
    w = Group()
    w.speak(AWAY_MS, ("b", "c"), ("b", "c"))
    w.beat("b", "a")
    w.lie("a", refused=(("a", "db-a"),))
    assert not w.stands_still("a")


def test_a_region_that_one_member_has_stopped_moves_again_once_another_one_is_heard() -> None:
    w = Group()
    w.speak(AWAY_MS, ("b", "c"), ("b", "c"))
    w.lie("a", refused=(("a", "db-a"),))
    assert w.stands_still("a"), "nobody else was heard since, so it may be true"
    w.beat("b", "a")
    assert not w.stands_still("a")


def test_a_database_that_is_new_was_forgotten_by_nobody() -> None:
    w = Group()
    w.forgets_what_came_back("a")
    w.lie("a", refused=(("a", "db-a"),))
    assert not w.stands_still("a")


def test_what_an_operator_has_decided_holds_whatever_is_said_later() -> None:
    w = Group()
    w.lie("a", refused=(("b", "db-b"),))
    assert w.does("a", "regions-admit", region="b") == "done"
    for _ in range(AWAY_MS // BEAT_MS):
        w.speak(BEAT_MS, ("a",))
        w.lie("a", refused=(("b", "db-b"),))
    assert not w.refuses("a", "db-b")
    assert w.edit_reaches("a")


def test_a_database_that_members_refuse_before_it_spoke_waits_for_an_operator_and_not_longer() -> None:
    w = Group()
    w.forgets_what_came_back("a")
    w.beat("a", "a")
    w.lie("a", refused=(("b", "db-b-2"),))
    heard = parts_of(w.daemon("a").driver).group.peers
    w.lie("a", region=Region("b"), sender="db-b-2")
    assert heard.region_of("db-b-2") is None
    assert w.does("a", "regions-admit", region="b") == "done"
    w.lie("a", refused=(("b", "db-b-2"),))
    w.lie("a", region=Region("b"), sender="db-b-2")
    assert heard.region_of("db-b-2") == "b"


def forgetting(w: Group, rounds: int, **told: object) -> bool:
    """Whether a delete is forgotten within some rounds in which all say how they are, and ``c`` says this, too."""
    w.everybody_has(P, W)
    w.at(w.moment)
    w.remove("a", P)
    tombstone = w.tell("a")
    for region in ("b", "c"):
        w.deliver(region, tombstone)
        w.apply(region)
    for _ in range(rounds):
        w.pass_time(BEAT_MS)
        for region in ALL:
            if region == "c" and told:
                w.lie(*ALL, **told)
            else:
                w.beat(region, *ALL)
            w.daemon(region).tick()
    return not knows(w, "a")


def test_no_delete_is_forgotten_while_members_do_not_refuse_the_same() -> None:
    assert forgetting(Group(forgets=True), 12)
    assert not forgetting(Group(forgets=True), 12, refused=(("b", "db-b"),))


def test_what_is_said_of_a_database_under_another_name_keeps_no_delete() -> None:
    assert forgetting(Group(forgets=True), 12, refused=(("x1", "db-b"),))


# -- of generations, and of what was given out


def test_a_generation_that_was_never_taken_is_neither_believed_nor_told_on() -> None:
    w = Group()
    w.lie("a", generations={"a": (10**12 - 1, "db-never")})
    w.pass_time(BEAT_MS)
    assert w.sites[Region("a")].disk.tables.identity.generation == 1
    assert "generation-claimed" in parts_of(w.daemon("a").driver).telemetry.conditions


def test_a_generation_of_the_future_is_not_told_on() -> None:
    w = Group()
    w.lie("a", generation=10**12 - 1)
    w.beat("a", "b")
    told = w.bus.log[-1]
    assert isinstance(told, Heartbeat)
    assert told.generations["c"] == (1, "db-c")


def test_what_was_to_be_published_survives_that_a_database_is_said_to_be_an_old_copy() -> None:
    w = Group(expected=True)
    w.everybody_has(P, W)
    w.at(w.moment)
    w.write("b", P, X)
    w.learn("b")
    forged = replace(w.bus.events[0], sender="db-b", sequence=2**50)
    w.bus.lie(forged)
    w.deliver("b", forged)
    with suppress(Fenced):
        w.pass_time(BEAT_MS)
    assert w.sites[Region("b")].disk.tables.identity.database_id == "db-b-2"
    w.settle()
    w.holds(P, X)


def test_the_word_of_one_member_has_no_database_rebuilt_and_holds_a_pair_for_a_minute() -> None:
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(BEGIN_MS)
    b = w.sites[Region("b")]
    held, sent = 0, 0
    for number in range(24):
        w.at(BEGIN_MS + number * BEAT_MS)
        w.daemon("b").driver.tick(b.clock())
        w.daemon("a").beat_heart()
        true = w.bus.log[-1]
        assert isinstance(true, Heartbeat)
        liar = {"region": Region(f"x{number}"), "sender": f"db-x{number}"} if number % 2 else {}
        forged = replace(true, reached={"db-b": 2**50}, **liar)  # type: ignore[arg-type] # fields of a heartbeat
        w.bus.log.append(forged)
        parts_of(w.daemon("b").driver).group.expected = frozenset()
        w.deliver("b", forged)
        w.write("b", P, X + number)
        w.learn("b")
        held += w.daemon("b").driver.in_doubt
        sent += not w.daemon("b").driver.in_doubt and bool(w.daemon("b").driver.outbox(1))
    assert b.disk.tables.identity.database_id == "db-b"
    assert "database-doubted" in parts_of(w.daemon("b").driver).telemetry.conditions
    assert 0 < held * BEAT_MS <= 60_000
    assert sent == 24 - held


def test_a_claim_of_a_generation_is_not_proved_by_what_another_region_tells() -> None:
    """A member tells changes of others by its own database: by that it has not counted under their generation."""
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(BEGIN_MS)
    b = w.sites[Region("b")]
    w.write("b", P, X)
    event = w.tell("b")
    w.deliver("a", event)
    w.beat("a", "b")
    true = w.bus.log[-1]
    assert isinstance(true, Heartbeat)
    again = replace(event, sender=true.sender, sequence=true.last_sequence + 1)
    for said in (replace(true, generations={"b": (b.disk.tables.identity.generation, true.sender)}), again):
        w.bus.log.append(said)
        w.deliver("b", said)
    with suppress(Fenced):
        w.daemon("b").driver.tick(b.clock())
    assert b.disk.tables.identity.database_id == "db-b"


def test_an_old_copy_of_a_database_is_proved_by_what_its_peer_has_kept() -> None:
    """Nothing in the store shows that it is one: it is as old as the database."""
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(BEGIN_MS)
    b = w.sites[Region("b")]
    copy, store = b.disk.backup(), b.store.copy()
    w.write("b", P, X)
    w.deliver("a", w.tell("b"))
    w.apply("a")
    w.beat("b", "a")
    w.drain(b)  # its own messages do not come again
    w.wipe(b, copy)
    b.store.put_back(store)
    w.settle()
    assert "the bus has event" in (b.disk.tables.identity.rebuild or "")
    w.holds(P, X)


def test_what_is_written_beside_an_old_copy_has_not_seen_what_it_lacks() -> None:
    """Both the change that the copy lacks and the one that was made beside it are kept."""
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(BEGIN_MS)
    b = w.sites[Region("b")]
    copy, store = b.disk.backup(), b.store.copy()
    w.write("b", P, X)
    w.deliver("a", w.tell("b"))
    w.apply("a")
    w.beat("b", "a")
    w.drain(b)  # its own messages do not come again
    w.wipe(b, copy)
    b.store.put_back(store)
    w.at(BEGIN_MS + BEAT_MS)
    w.start("b")
    w.drain(b)
    w.write("b", P, Y)
    w.learn("b")
    w.settle()
    assert "the bus has event" in (b.disk.tables.identity.rebuild or "")
    w.holds(P, Y)
    kept = w.sites[Region("a")].disk.tables.conflicts.values()
    assert [row.value for row in kept] == [w.value(P, X)]


def test_an_old_copy_from_before_its_peer_was_heard_is_filled_by_it() -> None:
    """The peer is first heard when it says so: nobody waits for it, and it tells all the same."""
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    b = w.sites[Region("b")]
    copy, store = b.disk.backup(), b.store.copy()
    copy.peers.clear()
    w.at(BEGIN_MS)
    w.write("b", P, X)
    w.deliver("a", w.tell("b"))
    w.apply("a")
    w.beat("b", "a")
    w.drain(b)  # its own messages do not come again
    w.wipe(b, copy)
    b.store.put_back(store)
    with mock.patch.object(w, "expected_by", return_value=[]):
        w.start("b")
    w.settle()
    kept = orjson.loads(b.disk.tables.identity.rebuild or "{}")
    assert kept["strangers"] == ["a"]
    w.holds(P, X)


def test_a_rebuild_does_not_wait_for_whoever_says_that_he_is_there() -> None:
    w = Group()
    b = w.sites[Region("b")]
    w.wipe(b, None)
    parts = parts_of(w.start(b.region).driver)
    parts.group.expected, parts.recovery.hear_ms = frozenset(), 60_000
    for _ in range(12):
        for region in ALL:
            w.drain(w.sites[Region(region)])
        w.lie("b", region=Region("x1"), sender="db-x1")
        w.advance(BEAT_MS)
    assert not w.daemon("b").driver.hearing


def test_a_rebuild_is_not_over_while_what_a_peer_has_said_waits_on_the_bus() -> None:
    """A daemon that reads more slowly than others speak has not found silent who has spoken long ago."""
    w = Group()
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))  # c gets it later
    w.apply("b")
    w.wipe(w.sites[Region("b")], None)
    w.restart("b")
    parts = parts_of(w.daemon("b").driver)
    parts.group.expected = frozenset()
    w.beat("a")
    for _ in range(6):
        w.pass_time(BEAT_MS)
        w.beat("b", "c")
        w.beat("c", "b")
        w.daemon("b").correspond()
        w.deliver("c", w.bus.log[-1])
        w.daemon("c").correspond()
        w.deliver("b", w.bus.log[-1])
    assert parts.recovery.progress.members.keys() == {"c"}
    assert w.daemon("b").driver.hearing
    w.settle()
    w.holds(P, X)
    w.no_conflicts()


# -- of rules, and of who is new


def other_rules(w: Group) -> dict[str, str]:
    """Projections that nobody has."""
    w.daemon("c").beat_heart()
    true = w.bus.log[-1]
    assert isinstance(true, Heartbeat)
    return {kind: f"{kind}/99" for kind in true.projections}


def writes(w: Group, region: str) -> bool:
    """Whether a region writes what another one has changed."""
    event = w.edit_reaches(region)
    w.daemon(region).plan()
    w.learn(region)
    w.daemon(region).send()
    return event and w.daemon(region).request is not None


def test_a_region_that_nobody_has_stops_nothing_by_its_rules() -> None:
    w = Group()
    w.lie("a", region=Region("x1"), sender="db-x1", projections=other_rules(w))
    assert writes(w, "a")


def test_what_a_newcomer_says_is_kept_aside_and_not_counted_until_an_operator_takes_it_in() -> None:
    w = Group()
    w.lie("a", region=Region("x1"), sender="db-x1", projections=other_rules(w))
    w.write("c", P, X)
    said = replace(w.tell("c"), sender="db-x1", sequence=1)
    w.hear(said, "a")
    assert not knows(w, "a")
    consumed = w.sites[Region("a")].disk.tables.consumed
    assert "db-x1" not in consumed
    assert w.does("a", "regions-admit", region="x1") == "done"
    w.lie("a", region=Region("x1"), sender="db-x1")
    w.hear(said, "a")
    assert knows(w, "a")


def test_a_database_that_was_forgotten_does_not_come_back_by_a_heartbeat() -> None:
    w = Group()
    assert w.does("a", "regions-forget", region="c", force="true") == "done"
    w.lie("a")
    assert w.members("a") == ["b"]


def test_a_region_that_was_forgotten_does_not_come_back_by_another_database() -> None:
    w = Group()
    assert w.does("a", "regions-forget", region="c", force="true") == "done"
    w.lie("a", sender="db-c-2")
    assert w.members("a") == ["b"]


def test_the_rules_of_a_region_that_was_forgotten_count_no_longer() -> None:
    w = Group()
    w.lie("a", projections=other_rules(w))
    assert not writes(w, "a"), "a member that works by others, after an upgrade, keeps its kind waiting"
    assert w.does("a", "regions-forget", region="c", force="true") == "done"
    w.pass_time(BEAT_MS)
    w.learn("a")
    w.daemon("a").send()
    assert w.daemon("a").request is not None


def test_who_is_not_expected_is_neither_heard_nor_obeyed() -> None:
    w = Group(expected=True)
    w.lie("a", region=Region("x1"), sender="db-x1")
    assert not parts_of(w.daemon("a").driver).group.peers.remembers(Region("x1"))
    pause = Control(
        region=Region("x1"),
        sender="db-x1",
        action=ControlAction.PAUSE,
        reason="",
        sent_at_ms=Millis(w.story.now),
        number=1,
    )
    w.hear(pause, "a")
    assert w.sites[Region("a")].disk.tables.identity.paused is None


def test_a_database_that_never_tells_its_region_keeps_deletes_for_so_long_and_no_longer() -> None:
    w = Group(forgets=True)
    w.write("c", TENANT, X)
    change = w.tell("c")
    w.hear(replace(change, sender="db-nameless", sequence=1), *ALL)
    for region in ("a", "b"):
        w.deliver(region, change)
        w.apply(region)
    assert not forgetting(w, 12)
    w.speak(300_000, ALL)
    for region in ALL:
        w.daemon(region).tick()
    w.speak(60_000, ALL)
    for _ in range(12):
        w.speak(BEAT_MS, ALL)
        for region in ALL:
            w.daemon(region).tick()
    assert not knows(w, "a")


def crowd(w: Group, many: int) -> None:
    """So many regions that nobody has say that they are there."""
    for number in range(many):
        w.lie("a", region=Region(f"x{number}"), sender=f"db-x{number}")


def test_a_crowd_of_regions_that_nobody_has_keeps_no_honest_one_from_being_heard() -> None:
    w = Group()
    with mock.patch.object(peers, "PEERS_KEPT", 5):
        crowd(w, 9)
        w.lie("a", region=Region("d"), sender="db-d")
        assert parts_of(w.daemon("a").driver).group.peers.remembers(Region("d"))


def test_a_crowd_of_regions_that_nobody_has_displaces_no_member() -> None:
    w = Group()
    w.pass_time(HOUR_MS)
    w.speak(BEAT_MS, ALL)
    with mock.patch.object(peers, "PEERS_KEPT", 5):
        crowd(w, 9)
    assert {"b", "c"} <= set(w.members("a"))


# -- of what is listed, and of what is refused


def entry(w: Script, path: MetaPath, tag: int, time: int, digest: str | None = None) -> StateEntry:
    """A listing's entry of a value of ``c``."""
    digest = digest if digest is not None else digest_of(path, w.value(path, tag)).hex()
    return (path, time, "c", C, {C: time}, digest)


def listed(*entries: StateEntry) -> Group:
    """``b`` has lost its database, and ``c`` lists this to it."""
    w = Group(expected=True)
    b = w.sites[Region("b")]
    w.wipe(b, None)
    w.restart("b")
    assert w.daemon("b").driver.hearing
    told = StatePage(
        region=Region("c"),
        sender="db-c",
        sent_at_ms=Millis(w.story.now),
        target=b.region,
        asker=b.disk.tables.identity.database_id,
        entries=tuple(sorted(entries)),
        last=True,
        total=len(entries),
    )
    w.hear(told, "b")
    return w


def test_one_bad_entry_of_a_listing_spoils_no_other_one() -> None:
    w = Script(ETCD)
    told = listed(entry(w, P, X, second(5)), entry(w, TENANT, X, second(5), digest="00"))
    known = told.sites[Region("b")].disk.tables.registers[P].known
    assert known is not None
    assert known.stamp == Stamp(second(5), Region("c"))


def test_a_listing_speaks_of_no_later_time_than_a_change_may() -> None:
    told = listed(entry(Script(ETCD), P, X, YEAR_9999))
    register = told.sites[Region("b")].disk.tables.registers.get(P)
    assert register is None or register.known is None


def test_one_bad_entry_of_a_comparison_spoils_no_other_one() -> None:
    """The sums differ; ``c`` lists what it has, and one of the paths is none: the rest is judged."""
    w = Group(expected=True, compares=True)
    w.everybody_has(P, W)
    w.at(w.moment)
    parts = parts_of(w.daemon("a").driver)
    while parts.antientropy.tree_state.busy:
        parts.antientropy.tree_state.work(parts.core.state)
    later = Stamp(Millis(w.story.now), Region("c"))
    good = TreeEntry(P, digest_of(P, w.value(P, Z)), later)
    bad = TreeEntry(TENANT, Digest(b"none"), later)
    body = listing_body(Listing(buckets=[bucket_of(P)], entries=[bad, good], differing=1))
    said = Tree(
        region=Region("c"),
        sender="db-c",
        sent_at_ms=Millis(w.story.now),
        target=Region("a"),
        label=parts.antientropy.tree_state.label,
        step=TreeStep.LISTING.value,
        round=1,
        body=body,
    )
    w.hear(said, "a")
    assert parts.antientropy.exchanges.of(Region("c")).differing == 1


def test_a_value_that_is_refused_leaves_no_gap_in_the_numbers() -> None:
    w = Group()
    w.write("c", P, X)
    said = w.tell("c")
    w.hear(replace(said, value=b"no document"), "a")
    consumed = w.sites[Region("a")].disk.tables.consumed.get("db-c", Consumed())
    assert consumed.through == said.sequence


# -- of times, and of what was seen


def test_what_a_former_version_has_believed_is_cut_at_the_next_edit() -> None:
    w = Lied()
    tables = w.sites[Region("a")].disk.tables
    register = tables.registers[P]
    assert register.stored is not None
    assert register.known is not None
    seen = {A: second(5), C: YEAR_9999}
    tables.registers[P] = replace(
        register, stored=replace(register.stored, seen=seen), known=replace(register.known, seen=seen)
    )
    parts_of(w.daemon("a").driver).local.watch.ledger.changed([P])
    w.write("a", P, Y)
    assert w.tell("a").seen[C] == w.honest.stamp.updated_at_ms


def test_a_path_that_lies_ahead_is_edited_at_once_everywhere() -> None:
    w = Script(ETCD, ETCD, ETCD)
    w.everybody_has(P, W)
    w.sites[Region("a")].skew_ms = YEAR_MS
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    for region in ("b", "c"):
        w.deliver(region, x)
        w.release(region, P)
        w.daemon(region).operate()
        w.apply(region)
    w.write("b", P, Y)
    w.deliver("c", w.tell("b"))
    assert w.held_for_later("c") == []
    w.apply("c")
    w.holds(P, Y, "b", "c")


def test_a_change_that_a_region_never_made_has_seen_nothing_that_is_known_there() -> None:
    w = Lied()
    w.write("a", P, Y)
    y = w.tell("a")
    said: MetadataChangeEvent = replace(
        w.honest,
        value=w.value(P, Z),
        stamp=Stamp(second(15_000), Region("a")),
        by=A,
        seen={**y.seen, A: second(15_000)},
        sender="db-c",
        sequence=w.honest.sequence + 1,
    )
    w.bus.log.append(said)
    w.deliver("a", said)
    assert [row.loser for row in w.conflicts("a")] == [y.stamp]
