"""Regions of different scopes: they compare what both carry, and tell nothing else of it to each other."""

from __future__ import annotations

import pytest

from syncer.bus.wire.messages import Control, Heartbeat, TreeMessage
from syncer.bus.wire.tree_bodies import TreeStep, listing_of
from syncer.conflict.classes import telling
from syncer.conflict.classes.pairs import class_of
from syncer.conflict.classes.telling import told_rules
from syncer.conflict.digest_tree import DigestTree, bucket_of, note
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import StateUnavailable
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region
from syncer.replacing import replace
from syncer.replication.antientropy import tree_state
from syncer.replication.antientropy.class_sums import SumsLabel
from syncer.replication.antientropy.tree_state import DigestTreeState
from syncer.replication.uncompared import NOTHING_UNCOMPARED
from syncer.state.contract.transaction import Transaction
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Pair, Site, path_of, value_of

WITHOUT_ODD = Scope((Rule("/admin/resourcegroups/*1", Direction.IGNORE), *DEFAULT_RULES))
WITHOUT_THREES = Scope((Rule("/admin/resourcegroups/*3", Direction.IGNORE), *DEFAULT_RULES))
OUT = (path_of(1), path_of(3), path_of(11), path_of(13))


def filled(scope: Scope, site: Site) -> DigestTree:
    """A fold of the registers, filtered by the paths that both carry."""
    shared = class_of(site.scope, scope)
    tree = DigestTree()
    changes: dict[int, tuple[int, int]] = {}
    with site.state.transaction() as tx:
        for path, digest in tx.living(1_000):
            if shared.contains(path):
                note(changes, path, None, digest)
    tree.apply(changes)
    return tree


def mixed() -> Pair:
    pair = Pair(Site("east", scope=WITHOUT_ODD), Site("west", scope=WITHOUT_THREES))
    for number in range(20):
        pair.east.has(path_of(number), 1, 5, "east")
        pair.west.has(path_of(number), 1, 5, "east")
    return pair


def state(pair: Pair) -> object:
    return parts_of(pair.east.driver).antientropy.exchanges.report()[Region("west")]["state"]


def told(pair: Pair) -> set[str]:
    """Every path that anybody has listed, asked for or told."""
    found: set[str] = set()
    for said in pair.heard:
        if isinstance(said, TreeMessage) and said.step in {TreeStep.LISTING, TreeStep.REMAINDER}:
            found.update(entry.path for entry in listing_of(said.body).entries)
        elif isinstance(said, Control):
            found.update(said.paths)
        elif isinstance(said, MetadataChangeEvent):
            found.add(said.path)
    return found


def test_regions_of_different_scopes_compare_what_both_carry_and_mend_it() -> None:
    pair = mixed()
    pair.beat(4)
    assert state(pair) == "equal"

    pair.west.has(path_of(2), 2, 900, "west")
    pair.east.has(path_of(4), 2, 901, "east")
    pair.west.has(path_of(6), None, 902, "west")
    pair.east.has(path_of(8), None, 903, "east")
    for path in OUT:
        pair.west.has(path, 7, 910, "west")
    pair.beat(12)
    assert state(pair) == "equal"
    assert told(pair) == {path_of(number) for number in (2, 4, 6, 8)}
    for site, other in ((pair.east, pair.west), (pair.west, pair.east)):
        assert site.entries[path_of(2)].value == value_of(2)
        assert site.entries[path_of(4)].value == value_of(2)
        assert path_of(6) not in site.entries
        assert path_of(8) not in site.entries
        trees = parts_of(site.driver).antientropy.tree_state.of_classes
        assert list(trees.values()) == [filled(other.scope, site)]
    assert all(path in pair.east.entries and path in pair.west.entries for path in OUT), "nothing is deleted"


def neighbours() -> list[tuple[MetaPath, MetaPath]]:
    """Paths that both carry, each with one in the same bucket of a tree that the west does not carry."""
    buckets = {bucket_of(path): path for number in range(3, 40_000, 10) if (path := path_of(number))}
    both = (path_of(number) for number in range(2, 40_000, 10))
    found = [(path, buckets[bucket]) for path in both if (bucket := bucket_of(path)) in buckets]
    assert len(found) > 3
    return found[:3]


def test_a_listing_of_a_bucket_has_what_both_carry_and_nothing_that_lies_beside_it() -> None:
    pair, between = mixed(), neighbours()
    for shared, beside in between:
        pair.east.has(beside, 7, 5, "east")
        for site in (pair.east, pair.west):
            site.has(shared, 1, 5, "east")
    pair.beat(4)
    assert state(pair) == "equal"
    for shared, _ in between:
        pair.west.has(shared, 2, 900, "west")
    pair.beat(8)
    assert state(pair) == "equal"
    listed = [
        entry.path
        for said in pair.heard
        if isinstance(said, TreeMessage) and said.step in {TreeStep.LISTING, TreeStep.REMAINDER}
        for entry in listing_of(said.body).entries
    ]
    assert set(listed) == {shared for shared, _ in between}
    assert told(pair) == {shared for shared, _ in between}
    for site in (pair.east, pair.west):
        assert all(each.trouble == "" for each in parts_of(site.driver).antientropy.exchanges.peers.values())


def test_what_is_outside_the_class_is_refused_when_it_is_listed_or_asked_for() -> None:
    pair = mixed()
    pair.beat(4)
    east = parts_of(pair.east.driver)
    assert not east.antientropy.contains(east.antientropy.label_with(Region("west")))(path_of(13))
    assert east.antientropy.contains(east.antientropy.label_with(Region("west")))(path_of(2))


def test_the_trees_of_classes_are_kept_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_state, "SLICE", 7)
    pair = mixed()
    pair.beat(4)
    for number in (2, 5):
        pair.east.put(path_of(number), value_of(9))
        pair.east.driver.noticed([path_of(number)], Millis(pair.now))
    pair.beat(3)
    assert state(pair) == "equal"
    kept = pair.east.state.database.tree[""]
    assert len(kept.log) == 1
    before = parts_of(pair.east.driver).antientropy.tree_state.of_classes
    assert list(before.values()) == [filled(WITHOUT_THREES, pair.east)]
    pair.east.begin()
    again = parts_of(pair.east.driver).antientropy.tree_state
    assert again.of_classes == before, "they are read, not summed anew"
    assert not again.busy
    pair.beat(3)
    assert state(pair) == "equal"


def test_rules_that_a_former_version_has_not_kept_are_kept_with_the_sums_that_go_on() -> None:
    """Else nobody could tell what comes in when they are changed."""
    pair = Pair(Site("east", scope=WITHOUT_ODD), Site("west", scope=WITHOUT_ODD))
    pair.east.has(path_of(2), 1, 5, "east")
    pair.beat(4)
    east = pair.east
    kept = east.state.database.tree[""]
    east.state.database.tree[""] = replace(kept, label=SumsLabel.of(kept.label).head)
    east.begin()
    before = parts_of(east.driver).antientropy.tree_state.tree
    pair.beat(2)
    assert SumsLabel.of(east.state.database.tree[""].label).rules == WITHOUT_ODD.text
    east.begin()
    again = parts_of(east.driver).antientropy.tree_state
    assert before is not None
    assert (again.tree, again.busy, again.of_another_scope) == (before, False, False)


def test_what_changes_after_a_failed_save_of_the_sums_is_logged_for_what_the_database_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory has let a class go that the database still keeps: a row of fewer classes could never be read again."""
    pair = mixed()
    pair.beat(4)
    east, sums = pair.east, parts_of(pair.east.driver).antientropy.tree_state
    sums.want({})
    save = DigestTreeState._save

    def failing(self: DigestTreeState, tx: Transaction) -> None:
        save(self, tx)
        raise StateUnavailable("full")

    with monkeypatch.context() as full:
        full.setattr(DigestTreeState, "_save", failing)
        with pytest.raises(StateUnavailable):
            sums.work(east.state)
    kept = east.state.database.tree[""]
    assert len(SumsLabel.of(kept.label).classes) == 1
    east.put(path_of(2), value_of(9))
    east.driver.noticed([path_of(2)], Millis(pair.now))
    plan = east.driver.plan_reads()
    assert plan is not None
    east.driver.take_answers(plan, {path: east.entries[path] for path in plan.paths}, Millis(pair.now))
    assert len(east.state.database.tree[""].log) == 1
    east.begin()
    pair.beat(4)
    assert state(pair) == "equal"
    assert list(parts_of(east.driver).antientropy.tree_state.of_classes.values()) == [filled(WITHOUT_THREES, east)]


def test_a_class_that_nobody_shares_any_more_is_let_go() -> None:
    pair = mixed()
    pair.beat(4)
    assert parts_of(pair.east.driver).antientropy.tree_state.of_classes
    pair.west.scope = WITHOUT_ODD
    pair.west.begin()
    parts_of(pair.west.driver).core.uncompared = NOTHING_UNCOMPARED
    pair.beat(4)
    for site in (pair.east, pair.west):
        assert not parts_of(site.driver).antientropy.tree_state.of_classes
        assert (
            "classes" not in site.state.database.tree[""].label or '"classes": []' in site.state.database.tree[""].label
        )
    assert state(pair) == "equal"
    beat = pair.east.driver.heartbeat(Millis(pair.now), "1")
    assert (beat.rules, dict(beat.roots)) == ("", {})


def test_one_tree_is_kept_for_all_peers_of_one_scope_and_no_more_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree_state, "CLASSES_KEPT", 1)
    pair = mixed()
    pair.beat(4)
    third = Scope((Rule("/admin/resourcegroups/*7", Direction.IGNORE), *DEFAULT_RULES))
    beat = replace(
        pair.west.driver.heartbeat(Millis(pair.now), "1"),
        region=Region("north"),
        sender="db-north",
        scope=third.fingerprint,
        rules=told_rules(third),
        tree=class_of(third, third).label,
    )
    pair.east.hear([beat], Millis(pair.now))
    pair.east.work(Millis(pair.now))
    pair.east.hear([beat], Millis(pair.now))
    assert len(parts_of(pair.east.driver).antientropy.tree_state.of_classes) == 1
    assert "no more than" in parts_of(pair.east.driver).antientropy.exchanges.of(Region("north")).blocked
    pair.beat(2)
    assert state(pair) == "equal"


def test_rules_that_nobody_can_read_or_that_were_not_told_leave_a_region_uncompared() -> None:
    pair = mixed()
    pair.beat(4)
    beat = pair.west.driver.heartbeat(Millis(pair.now), "1")
    assert isinstance(beat, Heartbeat)
    for rules, fingerprint, why in (
        ("", "0" * 12, "has not told its rules"),
        ("both /admin/policies/**", "0" * 12, "nobody can read the rules"),
        (beat.rules, "1" * 12, "not those of scope"),
    ):
        spoilt = replace(beat, rules=rules, scope=fingerprint)
        pair.east.hear([spoilt], Millis(pair.now))
        exchange = parts_of(pair.east.driver).antientropy.exchanges.of(Region("west"))
        assert why in exchange.blocked
        codes = dict(parts_of(pair.east.driver).group.peers.conditions(30_000))
        assert "west replicates other paths" in codes["scope-differs"]
    pair.beat(2)
    assert state(pair) == "equal", "once it tells them, all is well"


def test_rules_that_are_too_long_are_not_told_and_the_region_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = mixed()
    monkeypatch.setattr(telling, "RULES_TOLD", 3)
    pair.beat(3)
    assert "scope-not-told" in parts_of(pair.east.driver).telemetry.conditions
    assert state(pair) == "not-compared"
    monkeypatch.undo()
    pair.beat(3)
    assert "scope-not-told" not in parts_of(pair.east.driver).telemetry.conditions
    assert state(pair) == "equal"


def test_the_rules_of_a_peer_are_known_after_a_restart_before_it_speaks() -> None:
    pair = mixed()
    pair.beat(4)
    pair.east.begin()
    shared = parts_of(pair.east.driver).group.shared_with(Region("west"))
    assert shared is not None
    assert shared.label == class_of(WITHOUT_ODD, WITHOUT_THREES).label
    assert not shared.contains(MetaPath("/admin/resourcegroups/13"))
