"""Live ZooKeeper as a reader finds it: whole, of one moment, and only what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.reach import Reach, Share
from spark_snapshot.sources.zookeeper import live
from spark_snapshot.sources.zookeeper.link import Link
from syncer.errors import AccessDenied, ConfigError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperAuth, ZooKeeperConfig
from syncer.stores.zookeeper.requests import MultiRead, Sync
from tests.spark.stores import FIRST_FORM, RESOURCES, collected, fill_zookeeper, kazoo, once, values

pytestmark = pytest.mark.real("zookeeper")

NEW = b'{"message_ttl_in_seconds":77}'


@pytest.fixture
def client(zookeeper_server: ZooKeeperServer) -> Iterator[KazooClient]:
    with kazoo(zookeeper_server.hosts) as client:
        yield client


@pytest.fixture
def config(zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, client: KazooClient) -> ZooKeeperConfig:
    """A chroot with everything in it."""
    client.create(fresh_prefix, b"")
    fill_zookeeper(client, fresh_prefix)
    return ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix)


def during_the_walk(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> None:
    """Do something when the first values have been read."""
    act, taken = once(action), live._Reader._take_nodes

    def take_nodes(self: Any, *arguments: Any) -> Any:
        found = taken(self, *arguments)
        act()
        return found

    monkeypatch.setattr(live._Reader, "_take_nodes", take_nodes)


def test_all_resources_are_found_and_nothing_else(config: ZooKeeperConfig) -> None:
    assert values(live.read(config, Reach())) == RESOURCES


def test_namespaces_of_the_first_form_are_told_where_they_are_asked_for(config: ZooKeeperConfig) -> None:
    assert values(live.read(config, Reach(first_form=True))) == RESOURCES | FIRST_FORM


def test_times_and_revisions_are_those_of_the_store(config: ZooKeeperConfig, client: KazooClient) -> None:
    client.set(f"{config.chroot}/admin/policies/t0/n00", NEW)

    found = collected(live.read(config, Reach()))[MetaPath("/admin/policies/t0/n00")]

    _, stat = client.get(f"{config.chroot}/admin/policies/t0/n00")
    assert (found.value, found.modified_ms) == (NEW, stat.mtime)
    assert found.revision == f"{stat.mzxid}.1.{stat.czxid}"


def test_what_changes_meanwhile_is_of_one_moment(
    config: ZooKeeperConfig, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was read before is changed, deleted, made: the outcome is the store at the end, in all of it."""
    root = f"{config.chroot}/admin/policies"
    monkeypatch.setattr(live, "MAX_PATHS", 16)  # so that most is still to be read

    def change() -> None:
        for tenant in range(4):
            for number in range(0, 20, 2):
                client.set(f"{root}/t{tenant}/n{number:02d}", NEW)
            client.delete(f"{root}/t{tenant}/n01")
            client.create(f"{root}/t{tenant}/new", NEW)
        client.create(f"{root}/newcomer/namespace", NEW, makepath=True)
        client.set(f"{root}/newcomer", b'{"adminRoles":[]}')
        client.delete(f"{root}/t0-b/n")
        client.delete(f"{root}/t0-b")
        client.create(f"{root}/t0-b", NEW)

    during_the_walk(monkeypatch, change)
    found = values(live.read(config, Reach()))

    monkeypatch.undo()
    assert found == values(live.read(config, Reach()))
    assert found[MetaPath("/admin/policies/newcomer/namespace")] == NEW
    assert found[MetaPath("/admin/policies/t0-b")] == NEW
    assert not {MetaPath("/admin/policies/t0-b/n"), MetaPath("/admin/policies/t1/n01")} & found.keys()


def test_a_store_that_never_rests_is_refused(
    config: ZooKeeperConfig, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ROUNDS", 5)
    noted = Link.noted

    def noted_then_changed(self: Any) -> list[str]:
        client.set(f"{config.chroot}/admin/policies/t0/n00", NEW)
        self.ask(Sync("/"))  # what it brings is noted before its answer
        return noted(self)

    monkeypatch.setattr(Link, "noted", noted_then_changed)
    with pytest.raises(StoreUnavailable, match="kept changing"):
        list(live.read(config, Reach()))


def test_a_lost_session_begins_anew(
    config: ZooKeeperConfig, zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MAX_PATHS", 16)

    def restart() -> None:
        zookeeper_server.kill()
        zookeeper_server.start()

    during_the_walk(monkeypatch, restart)
    assert values(live.read(config, Reach())) == RESOURCES


def test_a_store_that_dies_gives_no_half_result(
    config: ZooKeeperConfig, zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = config.model_copy(update={"connect_timeout": config.connect_timeout / 15})
    monkeypatch.setattr(live, "MAX_PATHS", 16)
    during_the_walk(monkeypatch, zookeeper_server.kill)
    found: list[object] = []
    try:
        with pytest.raises(StoreUnavailable):
            found.extend(live.read(impatient, Reach()))
    finally:
        zookeeper_server.start()
    assert not found


def test_credentials_decide(
    config: ZooKeeperConfig, client: KazooClient, zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    hidden = f"{config.chroot}/admin/policies/hidden"
    client.create(hidden, NEW, acl=[make_digest_acl("reader", "secret", all=True)])
    with pytest.raises(AccessDenied, match="/admin/policies/hidden"):
        list(live.read(config, Reach()))

    (tmp_path / "password").write_text("secret\n")
    auth = ZooKeeperAuth(user="reader", password_file=tmp_path / "password")
    found = values(live.read(config.model_copy(update={"auth": auth}), Reach()))
    assert found == {**RESOURCES, MetaPath("/admin/policies/hidden"): NEW}


def test_a_chroot_that_does_not_exist_is_told(config: ZooKeeperConfig) -> None:
    with pytest.raises(ConfigError, match="chroot"):
        list(live.read(config.model_copy(update={"chroot": f"{config.chroot}/not"}), Reach()))


def test_an_empty_store_is_empty(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, client: KazooClient
) -> None:
    client.create(fresh_prefix, b"")
    config = ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix)
    assert list(live.read(config, Reach())) == []


@pytest.mark.parametrize("of", [2, 3])
def test_several_readers_find_everything_once(config: ZooKeeperConfig, of: int) -> None:
    shares = [values(live.read(config, Reach(), Share(index, of))) for index in range(of)]

    assert all(shares)
    assert sum(map(len, shares)) == len(RESOURCES)
    assert {path: value for share in shares for path, value in share.items()} == RESOURCES


def test_only_what_is_asked_for_is_read(config: ZooKeeperConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    nodes = MultiRead.nodes.__func__  # type: ignore[attr-defined]

    def recorded(cls: type[MultiRead], paths: list[str]) -> MultiRead:
        asked.extend(paths)
        made: MultiRead = nodes(cls, paths)
        return made

    monkeypatch.setattr(MultiRead, "nodes", classmethod(recorded))
    found = values(live.read(config, Reach(tenants=frozenset({"t0", "große"}))))

    assert found == {
        path: value
        for path, value in RESOURCES.items()
        if path.split("/")[3] in {"t0", "große"} and "resourcegroups" not in path
    }
    assert set(asked) == {config.chroot, *(config.chroot + path for path in found)}


def test_the_facts_name_the_store_and_its_moment(config: ZooKeeperConfig, client: KazooClient) -> None:
    place = StorePlace.made("zookeeper", config, region="here")
    before = facts(place)
    client.set(f"{config.chroot}/admin/policies/t0", NEW)
    _, stat = client.get(f"{config.chroot}/admin/policies/t0")
    after = facts(place)

    assert (before.kind, before.identity) == ("zookeeper", "the-store")
    assert int(before.position, 16) < stat.mzxid <= int(after.position, 16)
