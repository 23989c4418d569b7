"""A path that was out of scope for a while: what was deleted meanwhile is asked about, not deleted elsewhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from syncer.conflict.register import HoldReason
from syncer.conflict.scope import DEFAULT_RULES
from syncer.model import MetaPath, Region
from syncer.repair.preview import Consent
from syncer.repair.repair_file import RepairFile, write
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on
from tests.shell.region import Site, active, path_of, tenant
from tests.shell.snapshots import compared, head, picture, synced

IN, OUT = path_of("stays"), path_of("comes-and-goes")


def scope(*patterns: str) -> dict[str, Any]:
    return {"rules": [{"pattern": pattern, "direction": "both"} for pattern in patterns]}


def without(*tenants: str) -> dict[str, Any]:
    """All but some tenants, by three rules each, as an operator opts them out."""
    places = (f"{prefix}/{name}{below}" for name in tenants for prefix, below in PLACES)
    return {"rules": [*({"pattern": place, "direction": "ignore"} for place in places), *WIDE["rules"]]}


PLACES: Final = (("/admin/policies", ""), ("/admin/policies", "/**"), ("/admin/partitioned-topics", "/**"))
BY_DEFAULT: Final = {"rules": [{"pattern": each.pattern, "direction": each.direction.value} for each in DEFAULT_RULES]}
EAST, WEST = Region("east"), Region("west")
WIDE: Final = scope("/admin/policies/**")
NARROW: Final = scope(str(IN))
SPACE: Final = MetaPath("/admin/policies/acme/orders")
TOPIC: Final = MetaPath("/admin/partitioned-topics/acme/orders/persistent/invoices")


def scanned(site: Site) -> bool:
    """Whether the daemon that runs now has compared all."""
    status, report = site.status(), site.report()
    return report.get("epoch") == status.identity.epoch and bool(report["tally"].get("scans.finished"))


async def test_what_was_deleted_while_it_was_out_of_scope_is_held_when_it_comes_back(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = make_site("east", scope=WIDE), make_site("west", scope=WIDE)
    async with west.running():
        await active(west)
        async with east.running():
            await active(east)
            for path in (IN, OUT):
                east.writer.put(path, tenant("a"))
            await until(lambda: west.get(OUT) is not None and west.get(IN) is not None, "both are carried")
        async with east.running(scope=NARROW):
            await active(east)
            await until(lambda: scanned(east), "all was compared")
            east.writer.delete(OUT)
            east.writer.put(IN, tenant("b"))
            await until(lambda: west.get(IN) == east.get(IN), "what is in scope goes on")
        assert west.get(OUT) is not None, "what leaves the scope is deleted nowhere"
        published = len(changes_on(bus_file))
        async with east.running():
            await active(east)
            await until(lambda: east.status().counts.holds == 1, "a person is asked")
            (hold,) = east.ask(lambda views: views.holds(9, None))
            assert (hold.path, hold.hold.reason) == (OUT, HoldReason.MASS_DELETE)
            assert "where the scope has been changed" in hold.hold.detail
            await until(lambda: scanned(east), "all was compared")
            east.writer.delete(IN)
            await until(lambda: west.get(IN) is None, "from then on a delete is a delete again")
        assert west.get(OUT) is not None
        assert len(changes_on(bus_file)) == published + 1


async def test_a_child_that_left_the_scope_brings_no_parent_back(make_site: MakeSite) -> None:
    """Nobody reads it any more, so nobody would ever learn that it is gone, and each delete be taken back for it."""
    limits = {"park_grace": "1s"}
    both = scope("/admin/policies/**", "/admin/partitioned-topics/**")
    east, west = make_site("east", scope=both, limits=limits), make_site("west", scope=both, limits=limits)
    async with east.running():
        await active(east)
        async with west.running():
            await active(west)
            east.writer.put(path_of("acme"), tenant("a"))
            east.writer.put(SPACE, b'{"replication_clusters":["east","west"]}')
            east.writer.put(TOPIC, b'{"partitions":2}')
            await until(lambda: west.get(TOPIC) is not None, "all three are carried")
        async with west.running(scope=WIDE):
            await active(west)
            await until(lambda: scanned(west), "all was compared")
            for site in (east, west):
                site.writer.delete(TOPIC)
            await until(lambda: east.status().outbox.depth == 0, "its delete is told")
            east.writer.delete(SPACE)
            await until(lambda: west.get(SPACE) is None, "the delete arrives")
            assert west.status().counts.parked == 0
        assert east.get(SPACE) is None


async def test_of_what_has_left_the_scope_nothing_counts_for_the_share_of_deletes(make_site: MakeSite) -> None:
    """One path stays: where all are gone, a scan after a gap of the watch takes the store for another one."""
    limits = {"min_deletes": 2, "max_delete_fraction": 0.1}
    kept, *inside = (path_of(f"inside-{number}") for number in range(5))
    outside = [path_of(f"outside-{number}") for number in range(40)]
    east, west = make_site("east", scope=WIDE, limits=limits), make_site("west", scope=WIDE)
    async with west.running():
        await active(west)
        async with east.running():
            await active(east)
            paths = (kept, *inside, *outside)
            for path in paths:
                east.writer.put(path, tenant("a"))
            await until(lambda: all(west.get(path) is not None for path in paths), "all are carried")
        async with east.running(scope=scope("/admin/policies/inside-*")):
            await active(east)
            await until(lambda: scanned(east), "all was compared")
            for path in inside:
                east.writer.delete(path)
            await until(lambda: east.status().counts.holds > 0, "a person is asked: they are most that it carries")
            await until(lambda: east.status().outbox.depth == 0, "what is not held is told")
        assert sum(west.get(path) is None for path in inside) <= 2


async def test_what_comes_into_a_scope_that_is_too_long_to_be_told_is_met_at_first(
    make_site: MakeSite, bus_file: Path
) -> None:
    """More rules than any other region takes: the region's own database has them all the same."""
    others, came, gone = [f"other-{number}" for number in range(90)], path_of("came"), path_of("gone")
    east, west = make_site("east", scope=without(*others)), make_site("west", scope=WIDE)
    async with west.running():
        await active(west)
        async with east.running(scope=without("came", "gone", *others)):
            await active(east)
            for path in (came, gone, IN):
                west.writer.put(path, tenant("group"))
            await until(lambda: east.get(IN) is not None, "what is in scope is carried")
            await until(lambda: {came, gone} <= {change.path for change in changes_on(bus_file)}, "it is told")
            west.writer.delete(gone)
            for path in (came, gone):
                east.writer.put(path, tenant("of old"))
            await until(lambda: sum(change.path == gone for change in changes_on(bus_file)) == 2, "it is deleted")
            await until(lambda: scanned(east), "all was compared")
        published = len(changes_on(bus_file))
        async with east.running():
            await active(east)
            await until(lambda: scanned(east), "all was compared")
            await until(lambda: len(changes_on(bus_file)) == published + 2, "what it brings is told")
            assert all(change.stamp.is_baseline for change in changes_on(bus_file)[published:])
            west.writer.put(came, tenant("newer"))
            await until(lambda: east.status().counts.holds == 1, "a person is asked")
            (hold,) = east.ask(lambda views: views.holds(9, None))
            assert (hold.path, hold.hold.reason) == (came, HoldReason.FIRST_CONTACT)
            await until(lambda: west.status().counts.conflicts == 2, "what was brought is kept beside")
            assert west.get(came) == tenant("newer")
            assert (west.get(gone), west.get(IN)) == (None, east.get(IN))


def applying(*patterns: str) -> dict[str, Any]:
    """All but some paths both ways; those are only applied."""
    return {"rules": [*({"pattern": each, "direction": "apply"} for each in patterns), *WIDE["rules"]]}


async def test_a_region_that_only_applies_a_tenant_does_not_undo_its_delete(
    make_site: MakeSite, bus_file: Path
) -> None:
    grace_ms, name = 1_000, path_of("acme")
    east = make_site("east", scope=WIDE)
    west = make_site("west", scope=applying(str(name), f"{name}/**"), limits={"park_grace": f"{grace_ms}ms"})
    async with west.running(), east.running():
        await active(east)
        await active(west)
        east.writer.put(name, tenant("a"))
        await until(lambda: west.get(name) is not None, "the tenant is carried")
        west.writer.put(SPACE, b'{"replication_clusters":["west"]}')
        west.writer.put(IN, tenant("a"))
        await until(lambda: east.get(IN) is not None, "the daemon has seen what was made by hand before that")
        east.writer.delete(name)
        await until(lambda: west.status().counts.parked == 1, "the delete waits above the namespace, and is shown")
        parked = time.monotonic()
        await until(lambda: time.monotonic() > parked + 3 * grace_ms / 1_000, "the grace is over")
        west.writer.put(OUT, tenant("b"))
        await until(lambda: east.get(OUT) is not None, "what the region publishes comes, and all before it has come")
        assert east.get(name) is None
        assert west.status().counts.parked == 1
    assert {each.stamp.region for each in changes_on(bus_file) if each.path == name} == {"east"}


async def test_what_waits_for_the_bus_stays_here_when_the_scope_is_narrowed(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = make_site("east", scope=WIDE), make_site("west", scope=WIDE)
    async with east.running():
        await active(east)
        async with west.running():
            await active(west)
            east.writer.put(IN, tenant("a"))
            await until(lambda: west.get(IN) is not None, "it is carried")
            await until(lambda: east.status().outbox.depth == 0, "all is told")
            await west.do("pause")
            west.writer.put(IN, tenant("of west"))
            await until(lambda: west.status().outbox.depth == 1, "a change waits for the bus")
        async with west.running(scope=applying(str(IN))):
            await active(west)
            await west.do("resume")
            await until(lambda: west.status().counts.holds == 1, "the group's value waits for a person")
            (hold,) = west.ask(lambda views: views.holds(9, None))
            assert (hold.path, hold.hold.reason) == (IN, HoldReason.FIRST_CONTACT)
            assert west.status().outbox.depth == 0
            await west.decide("confirm", IN)
            await until(lambda: west.get(IN) == east.get(IN), "it is written")
            west.writer.put(OUT, tenant("b"))
            await until(
                lambda: east.get(OUT) is not None, "what the region publishes comes, and all before it has come"
            )
            (row,) = west.ask(lambda views: views.conflicts(9))
            assert (row.path, row.reason) == (IN, "drift")
    assert {each.stamp.region for each in changes_on(bus_file) if each.path == IN} == {"east"}


async def test_what_was_deleted_and_forgotten_before_it_came_in_is_not_told_from_an_old_snapshot(
    make_site: MakeSite, tmp_path: Path
) -> None:
    left_out = {"rules": [{"pattern": str(OUT), "direction": "ignore"}, *BY_DEFAULT["rules"]]}
    limits = {"tombstone_grace": "1ms"}
    east, west = (make_site(name, scope=BY_DEFAULT, limits=limits) for name in ("east", "west"))
    async with east.running():
        async with west.running(scope=left_out):
            await active(east, west)
            await until(lambda: all(each.report()["peers"] for each in (east, west)), "both are heard")
            for path in (OUT, IN):
                east.writer.put(path, tenant("a"))
            await until(lambda: west.get(IN) is not None, "what is in scope is carried")
            await until(lambda: OUT in picture(east), "the other one is stamped")
            plan = RepairFile(tmp_path / "old")
            old = {OUT: picture(east)[OUT]}
            write(plan.path, head(east.clock(), "east", "west"), compared({EAST: old, WEST: {}}))
            east.writer.delete(OUT)
            await until(lambda: east.ask(lambda views: views.register(OUT)) is None, "its delete is forgotten")
            await until(lambda: scanned(west), "all was compared")
        epoch = west.status().identity.epoch
        async with west.running():
            await until(lambda: west.status().identity.epoch > epoch and scanned(west), "all was compared")
            repair = await synced(west, plan, Consent(old=True))
            assert (repair.told, repair.refused) == (0, 1)
            (refused,) = west.ask(lambda views: views.refused_tellings(repair.id, 9))
            assert "before the path came into the scope" in refused.reason
            west.writer.put(IN, tenant("b"))
            await until(lambda: east.get(IN) == tenant("b"), "what the region publishes comes, and all before it")
            assert (east.get(OUT), west.get(OUT)) == (None, None)
