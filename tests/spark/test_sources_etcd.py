"""Live etcd as a reader finds it: whole, of one revision, in parts, and begun anew when that revision is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from deploy.lab.etcd import EtcdNode
from deploy.lab.ports import free_ports
from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.etcd import live
from spark_snapshot.sources.reach import Reach
from syncer.errors import AccessDenied, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.etcd.connection import RevisionCompacted
from syncer.stores.etcd.paging import PageSize
from tests.spark.stores import EVERYTHING, FIRST_FORM, RESOURCES, collected, once, values
from tests.support.etcd import EtcdGateway, EtcdServer

pytestmark = pytest.mark.real("etcd")

NEW = b'{"message_ttl_in_seconds":77}'


@pytest.fixture
def gateway(etcd_server: EtcdNode) -> Iterator[EtcdGateway]:
    gateway = EtcdGateway(etcd_server.endpoint)
    yield gateway
    gateway.close()


@pytest.fixture
def config(etcd_server: EtcdNode, fresh_prefix: MetaPath, gateway: EtcdGateway) -> EtcdConfig:
    """A namespace with everything in it, and a key of a session."""
    config = EtcdConfig(endpoints=(etcd_server.endpoint,), namespace=fresh_prefix)
    for path, value in EVERYTHING.items():
        gateway.put(fresh_prefix + path, value)
    gateway.put(f"{fresh_prefix}/admin/policies/t3/session", b"{}", lease=gateway.grant_lease(60))
    return config


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PAGE", PageSize(first_keys=4, max_keys=4, page_bytes=1 << 20))


def after_a_page(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None], page: int = 3) -> None:
    """Do something when so many pages have come."""
    act, finish, count = once(action), live._Caller.finish, [0]

    def finished(self: Any) -> Any:
        answer = finish(self)
        count[0] += 1
        if count[0] == page:
            act()
        return answer

    monkeypatch.setattr(live._Caller, "finish", finished)


def test_all_resources_are_found_and_nothing_else(config: EtcdConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert values(live.read(config, Reach())) == RESOURCES
    small_pages(monkeypatch)
    assert values(live.read(config, Reach())) == RESOURCES


def test_namespaces_of_the_first_form_are_told_where_they_are_asked_for(config: EtcdConfig) -> None:
    assert values(live.read(config, Reach(first_form=True))) == RESOURCES | FIRST_FORM


def test_revisions_are_those_of_the_store(config: EtcdConfig, gateway: EtcdGateway) -> None:
    key = f"{config.namespace}/admin/policies/t0/n00"
    revision = gateway.put(key, NEW)
    found = collected(live.read(config, Reach()))[MetaPath("/admin/policies/t0/n00")]
    assert (found.value, found.modified_ms) == (NEW, None)
    assert found.revision == str(revision)


def test_what_changes_meanwhile_is_not_seen(
    config: EtcdConfig, gateway: EtcdGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change() -> None:
        gateway.put(f"{config.namespace}/admin/policies/t3/n19", NEW)
        gateway.put(f"{config.namespace}/admin/policies/t0/n00", NEW)
        gateway.delete(f"{config.namespace}/admin/policies/t2/n05")

    small_pages(monkeypatch)
    after_a_page(monkeypatch, change)
    assert values(live.read(config, Reach())) == RESOURCES


def test_a_compacted_revision_is_given_up_for_a_later_one(
    config: EtcdConfig, gateway: EtcdGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = MetaPath("/admin/policies/t0/n00")

    def compact() -> None:
        gateway.put(config.namespace + path, NEW)
        gateway.compact()

    small_pages(monkeypatch)
    after_a_page(monkeypatch, compact)
    assert values(live.read(config, Reach())) == {**RESOURCES, path: NEW}


def test_a_store_that_compacts_for_ever_is_refused(
    config: EtcdConfig, gateway: EtcdGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, count = live._Caller.finish, [0]

    def finished(self: Any) -> Any:
        answer = finish(self)
        count[0] += 1
        if count[0] % 3 == 0:
            gateway.put(f"{config.namespace}/admin/policies/t0/n00", NEW)
            gateway.compact()
        return answer

    small_pages(monkeypatch)
    monkeypatch.setattr(live._Caller, "finish", finished)
    with pytest.raises(RevisionCompacted):
        list(live.read(config, Reach()))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_parts_are_everything_once_at_one_revision(
    config: EtcdConfig, gateway: EtcdGateway, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(live, "FEW", 2)
    parts = live.parts(config, Reach(), count)
    gateway.put(f"{config.namespace}/admin/policies/t0/n00", NEW)
    found = [values(live.read(config, Reach(), part)) for part in parts]

    assert len(parts) == count
    assert all(len(each) > len(RESOURCES) / count / 3 for each in found)
    assert sum(map(len, found)) == len(RESOURCES)
    assert {path: value for each in found for path, value in each.items()} == RESOURCES


def test_only_what_is_asked_for_is_read(config: EtcdConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    found_of = live._Reader._found

    def recorded(self: Any, answer: Any) -> Any:
        seen.extend(kv.key for kv in answer.kvs)
        return found_of(self, answer)

    monkeypatch.setattr(live._Reader, "_found", recorded)
    found = values(live.read(config, Reach(tenants=frozenset({"t0"}))))

    assert found == {path: value for path, value in RESOURCES.items() if path.split("/")[3] == "t0"}
    assert all(b"/t0" in key for key in seen)


def test_a_store_that_is_not_there_is_told() -> None:
    config = EtcdConfig(endpoints=(f"127.0.0.1:{free_ports(1)[0]}",), request_timeout=timedelta(seconds=1))
    with pytest.raises(StoreUnavailable):
        list(live.read(config, Reach()))


def test_wrong_credentials_are_told(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    (tmp_path / "password").write_text("wrong")
    try:
        server.start()
        gateway = server.gateway()
        gateway.put("/admin/policies/t", b"{}")
        gateway.enable_auth("secret")
        gateway.close()
        config = EtcdConfig(endpoints=(server.endpoint,), username="root", password_file=tmp_path / "password")
        with pytest.raises(AccessDenied):
            list(live.read(config, Reach()))
        (tmp_path / "password").write_text("secret")
        assert values(live.read(config, Reach())) == {"/admin/policies/t": b"{}"}
    finally:
        server.remove()


def test_the_facts_name_the_store_and_its_moment(config: EtcdConfig, gateway: EtcdGateway) -> None:
    place = StorePlace.made("etcd", config, region="here")
    before = facts(place)
    gateway.put(f"{config.namespace}/admin/policies/t0", NEW)
    after = facts(place)
    assert before.identity == "the-store"
    assert before.cluster
    assert before.cluster == after.cluster
    assert int(before.position) < int(after.position)
