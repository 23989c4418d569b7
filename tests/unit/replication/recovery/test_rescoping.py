"""A changed scope whose rules before cannot be known: every path that is carried is met as if it had come in."""

from __future__ import annotations

import json
from typing import Final

import pytest

from syncer.bus.wire.messages import StatePage, StateRequest
from syncer.conflict.classes.periods import WITH_THE_DATABASE, ScopePeriod
from syncer.conflict.classes.telling import RULES_TOLD
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.table import parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind
from syncer.paths import GLOBAL_TOPIC_POLICIES
from syncer.replacing import replace
from syncer.replication.antientropy.class_sums import SumsLabel
from syncer.replication.assembly import begin_anew
from syncer.replication.driver import Driver
from syncer.replication.recovery.progress import Phase, Rebuild
from syncer.replication.recovery.rebuild import BeginAnew
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES, T0, Site, path_of, value_of, version
from tests.unit.replication.local.test_store_migration import NOW, scanned

WIDER: Final = Scope((*DEFAULT_RULES, Rule(f"{GLOBAL_TOPIC_POLICIES}/**", Direction.BOTH)))
SAME, EDITED, MADE, LACKS, DEAD = (path_of(name) for name in ("same", "edited", "made", "lacks", "dead"))


def untold(site: Site, rules: str = "perhaps /admin/policies/**") -> None:
    """The sums are of a scope whose rules this version cannot read."""
    kept = site.state.database.tree[""]
    label = SumsLabel(head="256x256/other/1/0123456789ab paths/2", rules=rules)
    site.state.database.tree[""] = replace(kept, label=label.text)


def register_of(site: Site, path: MetaPath) -> Register | None:
    with site.state.transaction() as tx:
        return tx.registers([path]).get(path)


def changes(site: Site) -> list[MetadataChangeEvent]:
    return [said for said in site.said if isinstance(said, MetadataChangeEvent)]


@pytest.fixture
def site() -> Site:
    """Started with other rules than those before, which nobody knows; nothing was read yet."""
    site = Site("east", scope=WIDER)
    for path in (SAME, EDITED, LACKS):
        site.has(path, 1, 5)
    site.has(DEAD, None, 6)
    untold(site)
    del site.entries[LACKS]
    for path in (EDITED, MADE):
        site.put(path, value_of(8))
    site.begin()
    return site


def test_what_stands_as_the_group_knows_it_is_not_met(site: Site) -> None:
    core = parts_of(site.driver).core
    assert (core.uncompared.rules, core.uncompared.former) == (True, None)
    scanned(site, NOW)
    assert SAME not in {change.path for change in changes(site)}
    register = register_of(site, SAME)
    assert register is not None
    assert register.known == version(SAME, 1, 5, "east")
    assert register.stored is not None
    assert (register.stored.stamp, register.hold) == (version(SAME, 1, 5, "east").stamp, None)
    assert not core.uncompared.lets_in


def test_what_differs_is_older_than_all_that_the_group_has(site: Site) -> None:
    scanned(site, NOW)
    found = {change.path: change for change in changes(site)}
    assert found.keys() == {EDITED, MADE}
    for change in found.values():
        assert change.stamp.is_baseline
        assert change.seen.keys() == {change.by}, "it includes nothing that was known before"


def test_what_lacks_is_held_and_what_was_deleted_is_forgotten(site: Site) -> None:
    assert register_of(site, DEAD) is None, "somebody may have brought it anew"
    scanned(site, NOW)
    held = register_of(site, LACKS)
    assert held is not None
    assert held.hold is not None
    assert (held.hold.reason, held.hold.local) == (HoldReason.MASS_DELETE, True)
    assert "where the scope has been changed" in held.hold.detail


def test_an_older_version_has_kept_no_rules_and_nothing_counts_as_having_come_in() -> None:
    site = Site("east", scope=WIDER)
    site.has(SAME, 1, 5)
    untold(site, rules="")
    site.put(SAME, value_of(8))
    site.begin()
    core = parts_of(site.driver).core
    assert (core.uncompared.rules, core.uncompared.lets_in, core.uncompared.was_carried(SAME)) == (True, False, True)


@pytest.mark.parametrize(
    ("former", "rebuild", "changed"),
    [
        (Scope(), None, True),
        (WIDER, None, False),
        (Scope(), Rebuild(phase=Phase.SCANNING, reason="lost").encode(), False),
    ],
)
def test_a_scope_that_is_changed_before_the_first_scan_is_over_lets_paths_in_too(
    former: Scope, rebuild: str | None, *, changed: bool
) -> None:
    """What was taken from the bus before counts as known; a database that is rebuilt has nothing of before."""
    site = Site("east", scope=WIDER)
    site.state.activate()
    with site.state.transaction() as tx:
        tx.keep_scope_periods((ScopePeriod(WITH_THE_DATABASE, former.text),))
        tx.set_identity(first_scan_done=False, rebuild=rebuild)
    core = parts_of(Driver(Replica(Settings(region=Region("east"))), WIDER, site.state, CAPABILITIES)).core
    assert core.uncompared.rules is changed
    assert core.uncompared.was_carried(SAME) is True
    assert core.uncompared.was_carried(MetaPath(f"{GLOBAL_TOPIC_POLICIES}/acme/orders/persistent/a")) is not changed


@pytest.mark.parametrize("lost", [False, True])
def test_what_waits_for_a_path_that_has_left_is_let_go_though_the_rules_before_are_not_known(*, lost: bool) -> None:
    left = MetaPath("/admin/policies/pulsar/left")
    site = Site("east", scope=WIDER)
    site.has(left, 1, 5)
    if lost:
        with site.state.transaction() as tx:
            tx.save([replace(tx.registers([left])[left], known=version(left, 2, 9, "west"))])
    untold(site)
    site.begin()
    register = register_of(site, left)
    assert register is not None
    assert (register.known is None) is lost


def test_what_stands_with_fields_that_its_brokers_drop_is_not_met() -> None:
    """The store alone differs from what the group knows; completed it does not."""
    path, kind = MetaPath("/admin/policies/acme/orders"), ResourceKind.NAMESPACE
    newer = {"scalableTopicAutoScalePolicy": {"enabled": True}}
    whole = json.dumps({"message_ttl_in_seconds": 5, **newer}).encode()
    site = Site("east", scope=WIDER)
    known = replace(version(path, None, 5, "east"), digest=PROJECTIONS[kind].digest(whole))
    revision = site.put(path, b'{"message_ttl_in_seconds": 5}').revision
    with site.state.transaction() as tx:
        tx.save([Register(path=path, known=known, own=Millis(T0), kept=KeptFields({}, newer)).sit(known, revision)])
    untold(site)
    site.begin()
    core = parts_of(site.driver).core
    core.replica = Replica(replace(core.replica.settings, brokers=Brokers(parse_version("4.2.4"))))
    scanned(site, NOW)
    assert changes(site) == []
    register = register_of(site, path)
    assert register is not None
    assert (register.known, register.kept) == (known, KeptFields({}, newer))


def test_the_rules_that_a_region_has_kept_of_itself_may_be_more_than_any_that_it_tells() -> None:
    many = [Rule(f"/admin/policies/other-{number}", Direction.IGNORE) for number in range(RULES_TOLD + 1)]
    long = Scope([*many, *DEFAULT_RULES])
    label = SumsLabel(head="left 1/0123456789ab paths/2", rules=long.text)
    found = SumsLabel.of(label.text).scope
    assert found is not None
    assert found.rules == long.rules
    assert SumsLabel(head=label.head, rules="perhaps /admin/policies/**").scope is None, "of a newer version"


def test_an_old_copy_that_begins_anew_tells_whoever_has_lost_theirs_too_that_it_has_nothing(site: Site) -> None:
    """Nothing of it is met for the first time: two that have lost their databases would wait for each other."""
    asked = StateRequest(region=Region("west"), sender="db-west", sent_at_ms=NOW, target=Region("east"))
    parts = parts_of(site.driver)
    parts.recovery.progress.owed[asked.region] = asked
    assert site.driver.correspond(NOW) == [], "what has come in is met first"
    begin_anew(parts, BeginAnew("the fence names another database", None))
    parts.recovery.progress.owed[asked.region] = asked
    pages = [said for said in site.driver.correspond(NOW) if isinstance(said, StatePage)]
    assert [(page.target, page.rebuilding, page.last, page.entries) for page in pages] == [("west", True, True, ())]
