"""A store's address, as a digest that tells one place from another."""

from __future__ import annotations

from pydantic import BaseModel

from syncer.config.adapters import address_digest
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.zookeeper.config import ZooKeeperConfig


class Elsewhere(BaseModel):
    """Settings that name the address in their own way."""

    table: str


def test_only_what_says_where_the_store_is_counts() -> None:
    here = ZooKeeperConfig(hosts="a:2181")
    assert address_digest(here, {}) == address_digest(here.model_copy(update={"max_batch_writes": 7}), {})
    others = [
        ZooKeeperConfig(hosts="b:2181"),
        ZooKeeperConfig(hosts="a:2181", chroot="/x"),
        EtcdConfig(endpoints=("a:2181",)),
        Elsewhere(table="a"),
        Elsewhere(table="b"),
    ]
    assert len({address_digest(each, {}) for each in (here, *others)}) == 1 + len(others)


def test_where_topic_policies_are_is_told_beside_where_the_store_is() -> None:
    here = ZooKeeperConfig(hosts="a:2181")
    store, plus, topics = address_digest(here, {}, ["acme/*"]).partition("+")
    assert (store, plus) == (address_digest(here, {}), "+")
    assert topics != address_digest(here, {}, ["acme/orders"]).partition("+")[2] != ""
