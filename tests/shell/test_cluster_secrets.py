"""With cluster declarations in scope: what opens a door stays in its store, and an older database is no change."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from typer.testing import CliRunner

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.reach import Reach
from syncer.cli.main import app
from syncer.conflict.projection import PROJECTIONS
from syncer.model import MetaPath, Millis, ResourceKind, Revision
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, changes_on, heartbeat
from tests.shell.region import Site, active, path_of, tenant

SECRET: Final = "Geheimnis"
GREEN: Final = MetaPath("/admin/clusters/green")
BEFORE: Final = Path(__file__).resolve().parents[1] / "support"
IN_SCOPE: Final = {"clusters": True}


def cluster(name: str, **changes: Any) -> bytes:
    """A cluster's data with a secret in each place that has one."""
    return json.dumps(
        {
            "serviceUrl": f"http://{name}:8080",
            "proxyServiceUrl": f"http://me:{SECRET}@{name}:8080",
            "authenticationPlugin": f"org.example.{SECRET}",
            "authenticationParameters": f"token:{SECRET}",
            "brokerClientTlsKeyStorePassword": SECRET,
            "brokerClientTlsTrustStorePassword": SECRET,
            "brokerClientSslFactoryPluginParams": SECRET,
            "aFieldOfANewerVersion": SECRET,
            "peerClusterNames": [],
            **changes,
        }
    ).encode()


def left(folder: Path) -> dict[str, bytes]:
    """All that was left on the disk, but for the stores."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith("store.db")
    }


def fields(site: Site, path: MetaPath) -> dict[str, Any]:
    """What a store holds at a path."""
    return dict(json.loads(site.get(path) or b"{}"))


async def test_a_secret_of_a_cluster_is_in_nothing_but_its_own_store(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    sites = [make_site(name, scope=IN_SCOPE) for name in ("east", "west")]
    east, west = sites
    for site in sites:
        site.writer.put(GREEN, cluster(site.name))  # first contact with differing values
    heard: list[str] = []
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put("/admin/clusters/new", cluster("new", peerClusterNames=["east"]))
        await until(lambda: west.get(MetaPath("/admin/clusters/new")), "it is carried")
        assert fields(west, MetaPath("/admin/clusters/new")) == {
            "serviceUrl": "http://new:8080",
            "peerClusterNames": ["east"],
        }
        east.writer.put(GREEN, cluster("changed", peerClusterNames=["west"]))
        await until(lambda: fields(west, GREEN).get("peerClusterNames") == ["west"], "peers are carried")
        assert fields(west, GREEN) == json.loads(cluster("west", peerClusterNames=["west"]))
        for site, peers in ((east, ["a"]), (west, ["b"])):
            site.writer.put(GREEN, cluster(site.name, peerClusterNames=peers))  # a conflict, or nearly
        await until(lambda: fields(east, GREEN)["peerClusterNames"] == fields(west, GREEN)["peerClusterNames"], "equal")
        east.writer.put("/admin/clusters/odd", f'{{"authenticationParameters": "{SECRET}'.encode())
        await until(lambda: "value-invalid" in east.codes(), "what cannot be read is set aside")
        west.writer.put("/admin/clusters/gone", cluster("gone"))
        await until(lambda: east.get(MetaPath("/admin/clusters/gone")), "it is carried")
        west.writer.delete("/admin/clusters/gone")
        await until(lambda: east.get(MetaPath("/admin/clusters/gone")) is None, "the delete is carried")
    configs = [site.folder / "config.yaml" for site in sites]
    for site, config in zip(sites, configs, strict=True):
        config.write_text(site.dumped(), encoding="utf-8")
    west.writer.put("/admin/clusters/third", cluster("third"))
    for command in (
        ("backup", "create", str(tmp_path / "backup")),
        ("backup", "verify", str(tmp_path / "backup")),
        ("diff", "--with", str(configs[1]), "-o", "json"),
        ("diff", "--with", str(configs[1]), "--save", str(tmp_path / "made.plan")),
        ("plan", "show", str(tmp_path / "made.plan"), "-o", "json"),
        ("conflicts", "list", "-o", "json"),
        ("conflicts", "show", "1"),
        ("quarantine", "list", "-o", "json"),
        ("explain", GREEN, "-o", "json"),
        ("events", "tail", "-n", "100"),
        ("status", "-o", "json"),
    ):
        result = await anyio.to_thread.run_sync(_invoke, configs[0], command)
        heard.append(result)
    for site in sites:
        site.writer.close()
    found = {name for name, content in left(tmp_path).items() if SECRET.encode() in content}
    assert found == set()
    assert not [said[:300] for said in heard if SECRET in said]
    assert any(event.path == GREEN for event in changes_on(bus_file))
    assert b"http://third:8080" in left(tmp_path)["made.plan"]
    assert (tmp_path / "backup" / "MANIFEST.json").exists()
    taken = Folders(Reach(scope=east.config().compiled_scope()))
    row = taken.found(GREEN, cluster("east"), Millis(1), Revision("1"))
    assert row is not None
    assert SECRET.encode() not in row.value


def _invoke(config: Path, command: tuple[str, ...]) -> str:
    result = CliRunner().invoke(app, ["--config", str(config), *command])
    assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exc_info)
    return result.stdout + result.stderr


@pytest.fixture
def earlier(make_site: MakeSite) -> Site:
    """A region whose database and store were left by the version that projected clusters by ``cluster/1``."""
    site = make_site("east", scope=IN_SCOPE)
    site.writer.close()
    for name in ("store", "state"):
        file = site.folder / f"{name}.db"
        for each in site.folder.glob(f"{name}.db*"):
            each.unlink()
        with closing(sqlite3.connect(file)) as database:
            database.executescript((BEFORE / f"cluster_1_{name}.sql").read_text(encoding="utf-8"))
            if name == "store":
                database.executescript("PRAGMA application_id = 1886609261; PRAGMA user_version = 1;")
    return site


async def test_a_database_of_the_former_projection_is_brought_up_to_date_and_that_is_no_change(
    earlier: Site, bus_file: Path
) -> None:
    clusters = [MetaPath(f"/admin/clusters/{name}") for name in ("east", "north", "west")]
    with closing(sqlite3.connect(earlier.database)) as database:
        former = dict(database.execute("SELECT path, s_digest FROM registers"))
    async with earlier.running(), Bystander(bus_file) as west:

        def digests() -> dict[MetaPath, bytes]:
            found: dict[MetaPath, bytes] = {}
            for path in clusters:
                register = earlier.ask(lambda views, path=path: views.register(path))  # type: ignore[misc]  # its default
                assert register.known.digest == register.stored.digest
                found[path] = register.stored.digest
            return found

        await active(earlier)
        await until(lambda: not (digests().items() & former.items()), "the digests are made anew")
        with closing(sqlite3.connect(earlier.folder / "store.db")) as store:
            held = dict(store.execute("SELECT path, value FROM entries"))
        assert digests() == {path: PROJECTIONS[ResourceKind.CLUSTER].digest(held[path]) for path in clusters}
        await west.say(heartbeat(scope=earlier.config().compiled_scope().fingerprint))
        await until(lambda: earlier.report()["peers"], "a peer of the same rules is heard")
        assert earlier.report()["disagreements"] == []
        assert earlier.status().outbox.depth == 0
    assert changes_on(bus_file) == []


async def test_a_peer_of_the_former_projection_is_paused_for_clusters_and_named(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", scope=IN_SCOPE, peers={"expected": ["west"]})
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        former = {str(kind): projection.id for kind, projection in PROJECTIONS.items()} | {"cluster": "cluster/1"}
        await west.say(heartbeat(projections=former, scope=east.config().compiled_scope().fingerprint))
        await until(lambda: east.report().get("disagreements"), "it is said")
        (said,) = east.report()["disagreements"]
        assert (said["peer"], said["kind"]) == ("west", "cluster")
        assert said["message"] == "west projects it by cluster/1, this region by cluster/2"
        await west.say(change(GREEN, cluster("west")))
        await until(lambda: east.status().counts.due == 1, "it is known, and waits")
        assert east.get(GREEN) is None
        east.writer.put(path_of("acme"), tenant("a"))
        await until(lambda: any(each.path == path_of("acme") for each in changes_on(bus_file)), "others are carried")
