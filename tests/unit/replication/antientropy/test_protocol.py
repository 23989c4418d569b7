"""Two drivers on a bus that a test holds in its hands: what a comparison sends, and what it never does."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from unittest import mock

import orjson
import pytest

from syncer.bus.limits import MAX_MESSAGE_BYTES, message_bytes
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.messages import LEFT, Control, ControlAction, Heartbeat, TreeMessage
from syncer.bus.wire.tree_bodies import Listing, TreeEntry, TreeStep, buckets_of, groups_body, listing_body
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.digest_tree import bucket_of
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.model import Digest, EventType, MetadataChangeEvent, MetaPath, Millis, Region, Revision, Stamp, Version
from syncer.naming.cluster_names import ClusterNames
from syncer.replication.antientropy import protocol, tree_state
from syncer.replication.antientropy.exchanges import MAX_OUTGOING, Exchanges, Pace
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.uncompared import NOTHING_UNCOMPARED
from syncer.state.contract.membership import JOINING
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Capabilities, Entry, Put, Written
from tests.simulation.store import digest_of
from tests.support.parts import parts_of

T0 = Millis(1_700_000_000_000)
BEAT_MS = 10_000
CAPABILITIES = Capabilities(
    modified_times=False,
    real_parents=False,
    transactions=True,
    max_batch_writes=50,
    max_batch_bytes=32_768,
    max_value_bytes=1_000_000,
)
Said = MetadataChangeEvent | Heartbeat | Control | TreeMessage


def path_of(number: int | str) -> MetaPath:
    return MetaPath(f"/admin/resourcegroups/{number}")


def value_of(edition: int) -> bytes:
    return b'{"edition":%d}' % edition


def version(path: MetaPath, edition: int | None, time: int, region: str) -> Version:
    digest = None if edition is None else digest_of(path, value_of(edition))
    by = Settings(region=Region(region)).by
    return Version(stamp=Stamp(Millis(T0 + time), Region(region)), by=by, seen={by: Millis(T0 + time)}, digest=digest)


@dataclass
class Site:
    """One region: a driver, a store of plain entries, and what it has said and not yet sent."""

    region: str
    scope: Scope = field(default_factory=Scope)
    state: MemoryState = field(init=False)
    driver: Driver = field(init=False)
    entries: dict[MetaPath, Entry] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = MemoryState(MemoryDatabase(Region(self.region), f"db-{self.region}"))
        self.begin()

    def begin(self) -> None:
        self.state.activate()
        with self.state.transaction() as tx:
            tx.set_identity(first_scan_done=True)
        self.driver = Driver(Replica(Settings(region=Region(self.region))), self.scope, self.state, CAPABILITIES)
        raised = self.driver.raise_fence(
            self.entries.get(parts_of(self.driver).core.fence_path), f"store-{self.region}", T0
        )
        self.driver.activated(raised, self.put(raised.path, raised.value), T0)
        self.driver.armed()

    def put(self, path: MetaPath, value: bytes) -> Written:
        revision = Revision(f"{len(value)}.{hash(value)}")
        self.entries[path] = Entry(path=path, value=value, revision=revision, modified_at_ms=None)
        return Written(path=path, revision=revision)

    def has(self, path: MetaPath, edition: int | None, time: int, region: str | None = None) -> None:
        """Known and seated from the beginning."""
        revision = None
        self.entries.pop(path, None)
        if edition is not None:
            revision = self.put(path, value_of(edition)).revision
        known = version(path, edition, time, region or self.region)
        with self.state.transaction() as tx:
            tx.save([Register(path=path, known=known).sit(known, revision)])
        self.sum_again()

    def sum_again(self) -> None:
        """Registers were saved beside the tree."""
        parts_of(self.driver).antientropy.tree_state._stale = True
        self.state.database.tree.clear()
        self.state.database.tree[""] = replace(MemoryDatabase(Region("x"), "x").tree[""])

    def known(self, path: MetaPath) -> Version | None:
        with self.state.transaction() as tx:
            register = tx.registers([path]).get(path)
        return register.known if register is not None else None

    def hear(self, messages: list[Said], now: Millis) -> None:
        if messages:
            through = [encode(message) for message in messages]
            told = [decode(sent.payload, sent.properties) for sent in through]
            self.driver.consume([Arrived(message=message, position=str(at)) for at, message in enumerate(told)], now)

    def work(self, now: Millis) -> None:
        driver = self.driver
        for _ in range(100):
            self.said += driver.compare(now)
            if not driver.comparing:
                break
        while (plan := driver.plan_reads()) is not None:
            driver.take_answers(plan, {path: self.entries.get(path) for path in plan.paths}, now)
        while (found := driver.next_transaction()) is not None:
            batch, writes = found
            answers = []
            for write in writes:
                if isinstance(write, Put):
                    answers.append(self.put(write.path, write.value))
                else:
                    self.entries.pop(write.path)
                    answers.append(Written(path=write.path, revision=None))
            driver.landed([driver.answered(batch, answers)], now)
        while rows := driver.outbox(100):
            self.said += [row.event for row in rows]
            driver.published(rows, now)


class Pair:
    """East and west, and everything that was said between them."""

    def __init__(self, east: Site | None = None, west: Site | None = None) -> None:
        self.east = east or Site("east")
        self.west = west or Site("west")
        self.heard: list[Said] = []
        self.loses: Callable[[Said], bool] = lambda _: False
        self.behind: set[str] = set()
        """Regions that have yet to read what they said themselves."""
        self.now = T0 + 1_000_000

    @property
    def steps(self) -> list[str]:
        return [said.step for said in self.heard if isinstance(said, TreeMessage)]

    @property
    def events(self) -> list[MetadataChangeEvent]:
        return [said for said in self.heard if isinstance(said, MetadataChangeEvent)]

    def beat(self, beats: int = 1, interval_ms: int = BEAT_MS) -> None:
        for _ in range(beats):
            self.now += interval_ms
            now = Millis(self.now)
            for site in (self.east, self.west):
                site.driver.tick(now)
                site.work(now)
                site.said.append(site.driver.heartbeat(now, "1"))
            for _ in range(20):
                quiet = True
                for one, other in ((self.east, self.west), (self.west, self.east)):
                    said, one.said = one.said, []
                    quiet = quiet and not said
                    self.heard += said
                    other.hear([message for message in said if not self.loses(message)], now)
                    if one.region not in self.behind:
                        one.hear([message for message in said if isinstance(message, Heartbeat)], now)
                self.east.work(now)
                self.west.work(now)
                if quiet:
                    break

    def roots(self) -> tuple[int, int]:
        trees = [parts_of(site.driver).antientropy.tree_state.tree for site in (self.east, self.west)]
        return tuple(tree.root for tree in trees if tree is not None)  # type: ignore[return-value]  # there are two

    @property
    def equal(self) -> bool:
        one, other = self.roots()
        return one == other


def both_have(pair: Pair, count: int = 20) -> None:
    for number in range(count):
        pair.east.has(path_of(number), 0, 1, "east")
        pair.west.has(path_of(number), 0, 1, "east")


def test_equal_regions_say_nothing_beside_heartbeats() -> None:
    pair = Pair()
    both_have(pair)
    pair.beat(10)
    assert pair.equal
    assert all(isinstance(said, Heartbeat) for said in pair.heard)
    assert parts_of(pair.west.driver).antientropy.exchanges.report()[Region("east")]["state"] == "equal"


def test_the_greater_stamp_travels_whichever_side_has_it() -> None:
    pair = Pair()
    both_have(pair)
    pair.east.has(path_of(1), 1, 5)
    pair.west.has(path_of(2), 1, 5)
    pair.east.has(path_of("only-east"), 3, 5)
    pair.west.has(path_of("only-west"), 3, 5)
    pair.beat(4)
    assert pair.equal
    assert {event.path for event in pair.events} == {path_of(name) for name in (1, 2, "only-east", "only-west")}
    assert len(pair.events) == 4
    for site in (pair.east, pair.west):
        for name, edition in ((1, 1), (2, 1), ("only-east", 3), ("only-west", 3), (3, 0)):
            assert site.entries[path_of(name)].value == value_of(edition)


@pytest.mark.parametrize(("dead", "alive"), [("east", "west"), ("west", "east")])
def test_a_greater_tombstone_travels_and_a_lesser_one_gives_way(dead: str, alive: str) -> None:
    pair = Pair()
    both_have(pair)
    sites = {"east": pair.east, "west": pair.west}
    sites[dead].has(path_of(1), None, 5, dead)
    sites[alive].has(path_of(2), 7, 5, alive)
    sites[dead].has(path_of(2), None, 3, dead)
    pair.beat(4)
    assert pair.equal
    assert {(event.path, event.type) for event in pair.events} == {
        (path_of(1), EventType.DELETED),
        (path_of(2), EventType.MODIFIED),
    }
    assert path_of(1) not in sites[alive].entries
    assert sites[dead].entries[path_of(2)].value == value_of(7)


def test_a_tombstone_of_a_path_that_the_other_never_heard_of_costs_nothing() -> None:
    pair = Pair()
    both_have(pair)
    pair.east.has(path_of("gone"), None, 5)
    pair.beat(6)
    assert pair.equal
    assert not pair.steps


def test_equal_values_under_different_stamps_cost_nothing() -> None:
    pair = Pair()
    pair.east.has(path_of(1), 1, 5, "east")
    pair.west.has(path_of(1), 1, 9, "west")
    pair.beat(6)
    assert not pair.steps
    assert not pair.events


def test_a_value_that_changed_in_the_store_is_a_local_change_first() -> None:
    pair = Pair()
    pair.east.has(path_of(1), 1, 5)
    pair.east.put(path_of(1), value_of(2))  # and no notice of it has come
    pair.beat(4)
    assert pair.equal
    assert pair.west.entries[path_of(1)].value == value_of(2)
    assert {event.value for event in pair.events} == {value_of(2)}


@pytest.mark.parametrize("step", [*TreeStep, "request", "event"])
def test_any_step_may_be_lost_and_is_asked_for_again(step: str) -> None:
    pair = Pair()
    both_have(pair)
    pair.west.has(path_of("only-west"), 3, 5)
    lost: list[Said] = []

    def loses(said: Said) -> bool:
        name = said.step if isinstance(said, TreeMessage) else "request" if isinstance(said, Control) else "event"
        hit = name == step and not isinstance(said, Heartbeat) and len(lost) < 2
        lost.extend([said] * hit)
        return hit

    pair.loses = loses
    pair.beat(30)
    assert len(lost) == 2
    assert pair.equal
    assert pair.east.entries[path_of("only-west")].value == value_of(3)


def test_traffic_under_way_is_no_difference_until_it_has_lasted() -> None:
    pair = Pair()
    both_have(pair)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    pair.beat(2)
    pair.east.put(path_of("late"), value_of(1))
    pair.east.driver.noticed([path_of("late")], Millis(pair.now))
    pair.beat(4)
    assert not pair.steps, "the event may still arrive"
    pair.loses = lambda _: False
    pair.beat(8)
    assert pair.steps[:2] == ["groups", "buckets"]
    assert pair.equal


def test_who_should_not_begin_does_when_nobody_else_does() -> None:
    pair = Pair()
    both_have(pair)
    pair.west.has(path_of("only-west"), 3, 5)
    pair.loses = lambda said: isinstance(said, TreeMessage) and said.region == "east" and said.step == "groups"
    pair.beat(80)
    assert pair.equal


def test_a_region_that_is_gone_is_not_asked() -> None:
    pair = Pair()
    both_have(pair)
    pair.west.has(path_of("only-west"), 3, 5)
    pair.beat(1)
    now = Millis(pair.now)
    pair.east.said.clear()
    for _ in range(1000):
        now = Millis(now + 60_000)
        pair.east.work(now)
    assert len(pair.east.said) <= 1


def test_a_held_delete_is_never_told() -> None:
    pair = Pair()
    both_have(pair)
    path = path_of(1)
    pair.east.has(path, None, 9)
    with pair.east.state.transaction() as tx:
        (register,) = tx.registers([path]).values()
        hold = Hold(
            reason=HoldReason.MASS_DELETE,
            stamp=Stamp(Millis(T0 + 9), Region("east")),
            since_ms=T0,
            detail="",
            local=True,
        )
        tx.save([replace(register, hold=hold)])
    pair.beat(40)
    assert not pair.events
    assert pair.west.entries[path].value == value_of(0)
    assert "regions-differ" in dict(parts_of(pair.east.driver).antientropy.exchanges.conditions())
    assert pair.steps.count("groups") < 8, "the pauses grow"


def test_regions_whose_paths_flow_in_other_directions_are_compared_like_any() -> None:
    directed = [
        Rule(rule.pattern, Direction.APPLY if rule.direction is Direction.BOTH else rule.direction)
        for rule in DEFAULT_RULES
    ]
    assert label_of(Scope(directed)) == label_of(Scope())
    pair = Pair(west=Site("west", scope=Scope(directed)))
    both_have(pair)
    pair.beat(2)
    assert parts_of(pair.east.driver).antientropy.exchanges.report()[Region("west")]["state"] == "equal"
    assert not parts_of(pair.east.driver).antientropy.tree_state.of_classes


@pytest.mark.parametrize("root", ["", "no number"])
def test_a_root_that_is_no_number_is_reported_and_stops_nothing(root: str) -> None:
    pair = Pair()
    both_have(pair)
    pair.beat(2)
    beat = replace(pair.east.driver.heartbeat(Millis(pair.now), "1"), root=root)
    pair.west.hear([beat], Millis(pair.now))
    assert "no number" in parts_of(pair.west.driver).antientropy.exchanges.of(Region("east")).blocked
    pair.beat(2)
    assert parts_of(pair.west.driver).antientropy.exchanges.report()[Region("east")]["state"] == "equal"


def test_paths_outside_the_buckets_that_they_were_listed_for_are_not_taken() -> None:
    pair = Pair()
    both_have(pair)
    pair.beat(2)
    path = path_of("smuggled")
    entry = TreeEntry(path, Digest(b"\1" * 16), Stamp(Millis(T0 + 5), Region("west")))
    outside = MetaPath("/admin/clusters/west")
    for listed in (entry, replace(entry, path=outside)):
        buckets = [bucket_of(path) ^ 1, bucket_of(outside)]
        body = listing_body(Listing(buckets=buckets, entries=[listed]))
        said = TreeMessage(
            region=Region("west"), sender="db-west", sent_at_ms=Millis(pair.now), target="east",
            label=label_of(Scope()), step="remainder", round=1, body=body,
        )  # fmt: skip
        pair.east.hear([said], Millis(pair.now))
        pair.east.work(Millis(pair.now))
        assert not [said for said in pair.east.said if isinstance(said, Control)]
        assert "comparison-malformed" in dict(parts_of(pair.east.driver).antientropy.exchanges.conditions())
        pair.beat()


@pytest.mark.parametrize("path", ["/admin/resourcegroups/\0", "/admin/resourcegroups/" + "x" * 40_000, "no path"])
def test_a_path_that_nobody_understands_keeps_no_other_one_from_being_healed(path: str) -> None:
    """A version before this one tells of it in each of its listings; the paths beside it were lost."""
    pair = Pair()
    both_have(pair, 30)
    pair.beat(2)
    for number in range(30):
        pair.west.has(path_of(number), 2, 50)

    def with_one_more(listing: Listing) -> bytes:
        differing, buckets, entries = orjson.loads(zlib.decompress(listing_body(listing)))
        return zlib.compress(orjson.dumps((differing, buckets, [[path, "00" * 16, T0 + 50, "west"], *entries])))

    with mock.patch.object(protocol, "listing_body", with_one_more):
        pair.beat(10)
    assert pair.equal
    assert all(pair.east.known(path_of(number)) == pair.west.known(path_of(number)) for number in range(30))


def test_long_paths_are_listed_and_asked_for_in_messages_that_a_bus_takes() -> None:
    pair = Pair()
    both_have(pair, 3)
    pair.beat(2)
    long = [path_of(f"{number}{'é' * 16_000}") for number in range(200)]
    for path in long:
        pair.west.has(path, 1, 50)
    pair.beat(12)
    assert pair.equal
    assert all(pair.east.known(path) is not None for path in long)
    sizes = [message_bytes(encode(said)) for said in pair.heard]
    assert max(sizes) < MAX_MESSAGE_BYTES // 2


def test_a_peer_that_asks_without_pause_is_answered_with_pauses() -> None:
    pair = Pair()
    both_have(pair)
    pair.beat(2)
    said = TreeMessage(
        region=Region("west"), sender="db-west", sent_at_ms=Millis(pair.now), target="east",
        label=label_of(Scope()), step="groups", round=1, body=groups_body([0] * 256),
    )  # fmt: skip
    parts = parts_of(pair.east.driver)
    pause_ms = parts.antientropy.exchanges.pace.pause_ms // 2
    assert parts.antientropy.tree_state.tree is not None
    differing = [group for group, own in enumerate(parts.antientropy.tree_state.tree.groups) if own]
    assert differing

    def answered(after_ms: int) -> list[int]:
        """Groups that fifty questions at once are answered with."""
        pair.east.said.clear()
        pair.east.hear([said] * 50, Millis(pair.now + after_ms))
        pair.east.work(Millis(pair.now + after_ms))
        told = [each for each in pair.east.said if isinstance(each, TreeMessage)]
        return sorted(group for each in told for group in buckets_of(each.body))

    assert answered(0) == differing, "one of them, with each group once"
    assert answered(pause_ms - 1) == []
    assert answered(pause_ms) == differing


def test_what_waits_to_be_sent_is_bounded() -> None:
    comparisons = Exchanges(Pace())
    control = Control(region=Region("a"), sender="b", action="request", sent_at_ms=T0)  # type: ignore[arg-type]  # any
    for _ in range(MAX_OUTGOING + 5):
        comparisons.send(control)
    assert len(comparisons.outgoing) == MAX_OUTGOING


def test_of_one_stamp_with_two_values_the_same_one_is_told_and_stands() -> None:
    for values in ((1, 2), (2, 1)):
        pair = Pair()
        for site, value in zip((pair.east, pair.west), values, strict=True):
            site.has(path_of(1), value, 5, "east")
        pair.beat(6)
        assert pair.events
        trees = [parts_of(site.driver).antientropy.tree_state.tree for site in (pair.east, pair.west)]
        assert trees[0] is not None
        assert trees[0] == trees[1]


def test_more_than_one_comparison_may_list_takes_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncer.replication.antientropy.protocol.MAX_LISTED", 20)
    monkeypatch.setattr("syncer.replication.antientropy.protocol.ENTRIES_PER_MESSAGE", 7)
    pair = Pair()
    both_have(pair, 5)
    for number in range(100, 200):
        pair.west.has(path_of(number), 1, 5)
    pair.beat(4)
    assert 0 < len(pair.events) < 100
    pair.beat(40)
    assert pair.equal
    assert len(pair.events) == 100


def test_an_empty_region_gets_everything() -> None:
    pair = Pair()
    for number in range(300):
        pair.east.has(path_of(number), 1, 5)
    pair.beat(10)
    assert pair.equal
    assert len(pair.west.entries) == 300 + 1
    assert len(pair.events) == 300


# -- the sums


def test_an_existing_database_is_summed_a_slice_at_a_time_while_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_state, "SLICE", 7)
    site = Site("east")
    for number in range(30):
        site.has(path_of(f"{number:02}"), 1, 5)
    site.begin()
    driver, now = site.driver, Millis(T0 + 1000)
    driver.compare(now)
    assert parts_of(driver).antientropy.tree_state.tree is None
    assert driver.heartbeat(now, "1").tree == ""
    for name in ("03", "25"):
        site.put(path_of(name), value_of(9))
    site.put(path_of("40"), value_of(9))
    driver.noticed([path_of(name) for name in ("03", "25", "40")], now)
    site.work(now)
    other = Site("west")
    for number in range(30):
        other.has(path_of(f"{number:02}"), 9 if number in {3, 25} else 1, 5)
    other.has(path_of("40"), 9, 5)
    other.work(now)
    assert parts_of(driver).antientropy.tree_state.tree is not None
    assert parts_of(driver).antientropy.tree_state.tree == parts_of(other.driver).antientropy.tree_state.tree
    site.begin()
    assert parts_of(site.driver).antientropy.tree_state.tree == parts_of(other.driver).antientropy.tree_state.tree


def test_the_sums_are_written_anew_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_state, "LOG_ROWS", 3)
    site = Site("east")
    site.work(T0)
    for number in range(5):
        site.put(path_of(number), value_of(1))
        site.driver.noticed([path_of(number)], Millis(T0 + number))
        site.work(Millis(T0 + number))
    kept = site.state.database.tree[""]
    assert (kept.number, len(kept.log)) == (5, 2)
    before = parts_of(site.driver).antientropy.tree_state.tree
    site.begin()
    assert parts_of(site.driver).antientropy.tree_state.tree == before


def test_another_scope_is_summed_anew_and_what_left_it_is_not_counted() -> None:
    site = Site("east")
    site.has(path_of(1), 1, 5)
    site.has(MetaPath("/admin/policies/acme"), 1, 5)
    site.work(T0)
    tree = parts_of(site.driver).antientropy.tree_state.tree
    assert tree is not None
    assert tree.count == 2
    site.scope = Scope((Rule("/admin/resourcegroups/*", Direction.BOTH),))
    site.begin()
    assert parts_of(site.driver).antientropy.tree_state.tree is None
    assert site.state.database.tree[""].label.startswith("left ")
    site.work(T0)
    assert parts_of(site.driver).antientropy.tree_state.tree is None, "what came in is met first"
    parts_of(site.driver).core.uncompared = NOTHING_UNCOMPARED
    site.work(T0)
    tree = parts_of(site.driver).antientropy.tree_state.tree
    assert tree is not None
    assert tree.count == 1


def test_a_commit_whose_answer_was_lost_is_seen_by_its_number() -> None:
    site = Site("east")
    site.work(T0)
    site.put(path_of(1), value_of(1))
    sums = parts_of(site.driver).antientropy.tree_state
    sums.commit = lambda *_: None  # type: ignore[method-assign]  # memory does not hear of it
    site.driver.noticed([path_of(1)], T0)
    site.work(T0)
    del sums.commit
    assert sums.tree is not None
    assert sums.tree.count == 0
    assert site.driver.heartbeat(Millis(T0 + 1), "1").alive == 0
    assert sums.tree is None
    site.work(T0)
    assert sums.tree is not None
    assert sums.tree.count == 1


def test_who_has_not_joined_yet_learns_and_says_nothing_of_its_own() -> None:
    pair = Pair()
    both_have(pair)
    pair.east.has(path_of("theirs"), 1, 5)
    pair.west.has(path_of("ours"), 1, 5)
    pair.west.has(path_of(3), 9, 9)
    parts_of(pair.west.driver).group.paused = JOINING
    pair.beat(12)
    assert pair.west.known(path_of("theirs")) is not None
    assert path_of("theirs") not in pair.west.entries
    assert {event.sender for event in pair.events} == {"db-east"}
    with pair.west.state.transaction() as tx:
        assert not tx.outbox(1)
    parts_of(pair.west.driver).group.paused = None
    pair.beat(12)
    assert pair.equal


def test_a_change_that_is_found_when_a_register_is_asked_for_answers_the_request() -> None:
    east = Site("east")
    east.has(path_of(1), 1, 5)
    east.entries.pop(path_of(1))
    ask = Control(
        region=Region("west"),
        sender="db-west",
        action=ControlAction.REQUEST,
        paths=(path_of(1),),
        sent_at_ms=T0,
        target="east",
    )
    east.hear([ask], T0)
    east.work(Millis(T0 + 10))
    assert [(said.path, said.type) for said in east.said if isinstance(said, MetadataChangeEvent)] == [
        (path_of(1), EventType.DELETED)
    ]
    assert not parts_of(east.driver).recovery.values.requested


def test_who_has_left_is_neither_compared_nor_listened_to() -> None:
    pair = Pair()
    both_have(pair)
    pair.west.has(path_of(3), 1, 2)
    left = replace(pair.west.driver.heartbeat(T0, "1"), mode=LEFT)
    pair.east.hear([left], T0)
    label = parts_of(pair.east.driver).antientropy.tree_state.label
    step = TreeMessage(
        region=Region("west"), sender="db-west", sent_at_ms=T0, target=Region("east"),
        label=label, step=TreeStep.GROUPS.value, round=1, body=b"broken",
    )  # fmt: skip
    pair.east.hear([step], T0)
    assert not parts_of(pair.east.driver).antientropy.exchanges.peers


SPACE = MetaPath("/admin/policies/acme/orders")
B2 = ClusterNames({"b2": "b"})
"""The west calls its own cluster otherwise."""


class OwnNames(dict[MetaPath, Entry]):
    """A store whose brokers have names of their own, as the daemon reads and writes it; digests are over what it reads.

    Args:
        read_mapped: By the group's names, as the product does it; else in the stored form.
    """

    def __init__(self, *, read_mapped: bool) -> None:
        super().__init__()
        self.read_mapped = read_mapped

    def __setitem__(self, path: MetaPath, entry: Entry) -> None:
        super().__setitem__(path, replace(entry, value=B2.value_here(path, entry.value)))

    def get(self, path: MetaPath, default: Entry | None = None) -> Entry | None:  # type: ignore[override]  # as it is called
        entry = super().get(path, default)
        if entry is None or not self.read_mapped:
            return entry
        return replace(entry, value=B2.value_in_group(path, entry.value))


def policies(ttl: int, *clusters: str) -> bytes:
    return orjson.dumps({"replication_clusters": clusters, "message_ttl_in_seconds": ttl})


def named_otherwise(*, read_mapped: bool) -> Pair:
    """Both hold the same policies, the west by its own name for a cluster."""
    pair = Pair(Site("east"), Site("west", entries=OwnNames(read_mapped=read_mapped)))
    for site in (pair.east, pair.west):
        for path, value in ((SPACE, policies(60, "a", "b")), (MetaPath("/admin/policies/acme"), b'{"adminRoles":[]}')):
            revision = site.put(path, value).revision
            found = site.entries.get(path)
            assert found is not None
            known = replace(version(path, 0, 5, "east"), digest=digest_of(path, found.value))
            with site.state.transaction() as tx:
                tx.save([Register(path=path, known=known).sit(known, revision)])
        site.sum_again()
    assert dict.__getitem__(pair.west.entries, SPACE).value == policies(60, "a", "b2")
    pair.beat(4)
    return pair


def edited(pair: Pair) -> None:
    """Somebody edits in the east, then somebody in the west, each by the names of the brokers there."""
    pair.east.put(SPACE, policies(61, "a", "b"))
    pair.east.driver.noticed([SPACE], Millis(pair.now))
    pair.beat(4)
    entry = Entry(path=SPACE, value=policies(62, "b2"), revision=Revision("w"), modified_at_ms=None)
    dict.__setitem__(pair.west.entries, SPACE, entry)
    pair.west.driver.noticed([SPACE], Millis(pair.now))
    pair.beat(4)


def test_schedule_26_mapping() -> None:
    pair = named_otherwise(read_mapped=True)
    assert pair.equal
    assert (pair.steps, pair.events) == ([], [])
    edited(pair)
    assert pair.equal
    assert not pair.steps, "equal roots need no comparison"
    assert [event.value for event in pair.events] == [policies(61, "a", "b"), policies(62, "b")]
    assert pair.east.entries[SPACE].value == policies(62, "b")
    assert pair.west.entries[SPACE].value == policies(62, "b2")
    for site in (pair.east, pair.west):
        assert not list(site.state.database.conflicts)


def test_schedule_26_digests_over_the_stored_form_would_differ_by_the_name_alone() -> None:
    pair = named_otherwise(read_mapped=False)
    assert pair.steps
    assert [event.path for event in pair.events] == [SPACE]
