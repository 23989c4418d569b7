"""Who is who: one id for two regions, the wrong store, the wrong database, regions that work by other rules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from syncer.conflict.projection import PROJECTIONS
from syncer.daemon import Daemon, cause_of
from syncer.dispositions import ExitCode
from syncer.errors import AccessDenied, PreconditionFailed, StateForeign, SyncerError
from syncer.model import ResourceKind, TieOrder
from syncer.stores.contract import BatchRefused, MetadataStore, Write, Written
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, changes_on, distinct_changes_on, heartbeat
from tests.shell.region import TENANT, Site, active, path_of, tenant


async def ending(daemon: Daemon) -> SyncerError:
    """Run a daemon until it ends by itself; what ended it."""
    with pytest.raises(BaseExceptionGroup) as ended:
        await daemon.run()
    cause = cause_of(ended.value)
    assert isinstance(cause, SyncerError), cause
    return cause


async def test_two_clusters_under_one_region_id_both_notice_and_take_nothing_from_each_other(
    make_site: MakeSite, bus_file: Path
) -> None:
    one = make_site("east", folder="one", bus={"region": "cluster-one"})
    two = make_site("east", folder="two", bus={"region": "cluster-two"})
    async with one.running(), two.running():
        await active(one, two)
        one.writer.put(path_of("mine"), tenant("one"))
        two.writer.put(path_of("yours"), tenant("two"))
        for site in (one, two):
            await until(lambda site=site: site.codes() == ["region-id-in-use"], "the event is quarantined")  # type: ignore[misc]
            await until(lambda site=site: "region-id-in-use" in site.conditions(), "the status says it")  # type: ignore[misc, arg-type]
    assert one.get(path_of("yours")) is None
    assert two.get(path_of("mine")) is None
    assert {event.value for event in changes_on(bus_file)} == {tenant("one"), tenant("two")}


async def test_a_third_region_sees_two_databases_speak_for_one_region(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(heartbeat(sender="a" * 32), heartbeat(sender="b" * 32))  # a lost database is made anew: fine
        await until(lambda: east.report()["peers"], "it is heard")
        assert east.conditions().keys() == {"messages-unsigned"}
        await west.say(heartbeat(sender="a" * 32))
        await until(lambda: "region-id-in-use" in east.conditions(), "the former one speaks again")
    assert "two databases" in east.conditions()["region-id-in-use"]


async def test_of_two_databases_with_the_role_on_one_store_one_takes_over_once_and_the_other_ends(
    east: Site, tmp_path: Path
) -> None:
    daemon = Daemon(east.config())
    ended: list[SyncerError] = []

    async def watch() -> None:
        ended.append(await ending(daemon))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await active(east)
        other = Daemon(east.config(state={"path": str(tmp_path / "other.db")}, bus={"region": "elsewhere"}))
        tasks.start_soon(other.run)
        await until(
            lambda: east.status().identity.first_scan_done and (tmp_path / "other.db").exists(), "the other one starts"
        )

        def touched() -> bool:
            east.writer.put(TENANT, tenant("still"))
            return bool(ended)

        await until(touched, "the former one ends instead of taking it back")
        tasks.cancel_scope.cancel()
    assert isinstance(ended[0], PreconditionFailed)
    assert "another sidecar database" in ended[0].message


async def test_a_database_of_another_region_is_refused(east: Site, make_site: MakeSite) -> None:
    async with east.running():
        await active(east)
    west = make_site("west", state={"path": str(east.database)})
    with pytest.raises(StateForeign, match="belongs to region east"):
        await Daemon(west.config()).run()


def move_store(site: Site, to: Path) -> None:
    """Move the store's files away."""
    to.mkdir()
    for file in site.folder.glob("store.db*"):
        file.rename(to / file.name)


async def test_another_store_at_the_address_ends_the_daemon_and_nothing_is_stamped(
    east: Site, bus_file: Path, tmp_path: Path
) -> None:
    async with east.running():
        await active(east)
        for number in range(20):
            east.writer.put(path_of(f"t{number}"), tenant())
        await until(lambda: len(distinct_changes_on(bus_file)) == 20, "all are published")
    move_store(east, tmp_path / "away")
    east.writer.close()
    east.writer = type(east.writer)(east.store_file)
    east.writer.put(path_of("t1"), tenant("impostor"))
    cause = await ending(Daemon(east.config()))
    assert isinstance(cause, PreconditionFailed)
    assert "was replaced, or has another root" in cause.message
    assert len(distinct_changes_on(bus_file)) == 20
    assert east.status().counts.alive == 20


async def test_a_store_replaced_under_the_running_daemon_ends_it(east: Site, bus_file: Path, tmp_path: Path) -> None:
    async with east.running():
        await active(east)
        east.writer.put(TENANT, tenant())
        await until(lambda: len(distinct_changes_on(bus_file)) == 1, "it is published")
    daemon = Daemon(east.config())
    ended: list[SyncerError] = []

    async def watch() -> None:
        ended.append(await ending(daemon))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await until(lambda: daemon.pumps is not None and east.report().get("fence") == 2, "it is active")
        move_store(east, tmp_path / "away")
        east.writer.close()
        east.writer = type(east.writer)(east.store_file)
        east.writer.put(path_of("impostor"), tenant())
        await until(lambda: ended, "it ends")
    assert isinstance(ended[0], PreconditionFailed)
    assert [event.path for event in distinct_changes_on(bus_file)] == [TENANT]


async def test_a_store_that_answers_empty_ends_the_daemon_and_nothing_is_deleted_elsewhere(
    east: Site, bus_file: Path
) -> None:
    async with east.running():
        await active(east)
        for number in range(20):
            east.writer.put(path_of(f"t{number}"), tenant())
        await until(lambda: len(distinct_changes_on(bus_file)) == 20, "all are published")
    for path in east.picture():
        east.writer.delete(path)
    cause = await ending(Daemon(east.config()))
    assert isinstance(cause, PreconditionFailed)
    assert "answers empty, where 20 paths were alive" in cause.message
    assert len(distinct_changes_on(bus_file)) == 20


def test_the_command_says_what_is_wrong_and_exits_with_its_code(east: Site, tmp_path: Path) -> None:
    async def first() -> None:
        async with east.running():
            await active(east)

    anyio.run(first)
    move_store(east, tmp_path / "away")
    config = tmp_path / "config.yaml"
    config.write_text(east.dumped(), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("syncer")), "run", "-c", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == ExitCode.REFUSED, done.stderr
    assert "error: the store does not hold this region's fence" in done.stderr
    assert "hint: Point the store's address and chroot at the former root." in done.stderr
    assert "Traceback" not in done.stderr


class ReadOnly(SqliteStore):
    """A store whose credentials allow reading only; ``refusing`` says whether it names the write."""

    refusing = False

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Refuse."""
        denied = AccessDenied("the store is read-only")
        if self.refusing:
            raise BatchRefused(0, denied)
        raise denied


class Refusing(ReadOnly):
    """The same, naming the write."""

    refusing = True


@pytest.mark.parametrize("store", [ReadOnly, Refusing])
async def test_a_read_only_store_ends_the_daemon_with_a_clear_error(
    store: type[ReadOnly], east: Site, bus_file: Path
) -> None:
    class OnReadOnly(Daemon):
        def _make_store(self) -> MetadataStore:
            settings = self.config.store_settings
            assert isinstance(settings, SqliteConfig)
            return store(settings)

    cause = await ending(OnReadOnly(east.config()))
    assert isinstance(cause, AccessDenied)
    assert "read-only" in cause.message
    assert changes_on(bus_file) == []


def comparison(site: Site) -> object:
    """How the trees of a region and its only peer stand."""
    found = site.report()["comparisons"]
    return next((each["state"] for each in found.values()), None)


async def test_regions_of_different_scopes_compare_what_both_carry(make_site: MakeSite) -> None:
    rules = [{"pattern": "/admin/policies/**", "direction": "both"}]
    east, west = make_site("east"), make_site("west", scope={"rules": rules})
    async with east.running(), west.running():
        await active(east, west)
        for site in (east, west):
            await until(lambda site=site: comparison(site) == "equal", "the two are compared")  # type: ignore[misc, arg-type]
        assert not {"scope-differs", "not-compared"} & east.conditions().keys()
        assert [peer["same_scope"] for peer in east.report()["peers"]] == [False]
        east.writer.put(TENANT, tenant("shared"))
        await until(lambda: west.get(TENANT) == tenant("shared"), "what both carry goes on")


async def test_another_projection_stops_its_kind_only_until_the_regions_agree(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    group = "/admin/resourcegroups/gold"
    theirs = {str(kind): projection.id for kind, projection in PROJECTIONS.items()} | {"tenant": "tenant/9"}
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(heartbeat(projections=theirs))
        await west.say(change(TENANT, tenant("other")), change(type(TENANT)(group), b"{}", sequence=2))
        await until(lambda: east.get(type(TENANT)(group)) == b"{}", "another kind is applied")
        await until(lambda: east.report().get("disagreements"), "the reason is shown")
        (reason,) = east.report()["disagreements"]
        assert (reason["peer"], reason["kind"]) == ("west", "tenant")
        assert reason["message"] == "west projects it by tenant/9, this region by tenant/1"
        assert east.get(TENANT) is None
        await until(lambda: east.status().counts.due == 1, "what waits is counted, what was written is not")
    async with east.running(), Bystander(bus_file) as west:  # a restart forgets no disagreement
        await until(lambda: east.report().get("fence") == 2, "it is active again")
        assert east.report()["disagreements"]
        assert east.get(TENANT) is None
        await west.say(heartbeat())
        await until(lambda: east.get(TENANT) == tenant("other"), "they agree: it is applied")


async def test_another_tie_order_stops_everything_from_being_applied(make_site: MakeSite) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    west = make_site("west", tie_order=TieOrder.NATIVE.value, peers={"expected": ["east"]})
    async with east.running(), west.running():
        await active(east, west)
        for site in (east, west):
            await until(
                lambda site=site: len(site.report().get("disagreements", ())) == len(ResourceKind),  # type: ignore[misc, arg-type]
                "every kind is shown",
            )
        west.writer.put(TENANT, tenant("w"))
        await until(lambda: east.status().counts.due == 1, "the change is known in the other region")
        assert east.get(TENANT) is None
        assert "breaks ties by native" in east.report()["disagreements"][0]["message"]


async def test_skew_and_lag_of_a_peer_are_measured_and_a_clock_ahead_is_shown(make_site: MakeSite) -> None:
    east, west = make_site("east", limits={"max_clock_skew": "2s"}), make_site("west")
    west.ahead_ms = 5000
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: east.report().get("peers") and west.report().get("peers"), "both have heard the other")
        await until(lambda: "clock-skew" in east.conditions(), "the status says it")

        def measured(site: Site, fact: str) -> int:
            (peer,) = site.report()["peers"]
            return int(peer[fact])

        # A heartbeat that was under way for long is followed by one that was not.
        await until(lambda: 3000 < measured(east, "skew_ms") <= 5000, "the skew is measured")
        await until(lambda: 0 <= measured(east, "lag_ms") < 5000, "and the lag")
        await until(lambda: -10_000 < measured(west, "skew_ms") <= -5000, "and the skew as west sees it")
        assert "clock-skew" not in west.conditions()
        (row,) = east.ask(lambda views: views.peers())
        assert row.sent_at_ms - row.heard_at_ms > 0
