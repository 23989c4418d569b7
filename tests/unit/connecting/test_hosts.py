"""Hosts of a configuration: each that is taken means the same to the clients, and each other is refused in words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.client import KazooClient
from pydantic import TypeAdapter, ValidationError

from syncer.admin.addresses import BrokerUrl
from syncer.connecting.hosts import host_fault, separated
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.zookeeper.config import ZooKeeperConfig

NAMES = st.from_regex(r"\A[a-z0-9_]([a-z0-9_-]{0,8}[a-z0-9_])?(\.[a-z][a-z0-9]{0,5}){0,2}\Z")
ADDRESSES = st.ip_addresses(v=6).map(lambda address: f"[{address}]")
PORTS = st.integers(1, 65_535)
HOSTS = st.one_of(NAMES, st.ip_addresses(v=4).map(str), ADDRESSES)


@given(st.lists(st.tuples(HOSTS, st.none() | PORTS), min_size=1, max_size=4), st.sampled_from([",", ", ", " ,", " , "]))
def test_what_is_written_properly_reaches_the_client_unchanged(parts: list[tuple[str, int | None]], comma: str) -> None:
    texts = [host if port is None else f"{host}:{port}" for host, port in parts]
    assert not any(map(host_fault, texts))
    assert separated(comma.join(texts)) == texts
    found = KazooClient(hosts=ZooKeeperConfig(hosts=comma.join(texts)).hosts).hosts
    assert list(found) == [(host.strip("[]"), port or 2181) for host, port in parts]


@given(st.text(st.sampled_from("ab01:[]/.%@,; \n-f"), max_size=14))
def test_what_is_taken_is_one_host_to_the_client(text: str) -> None:
    if host_fault(text):
        return
    parts = urlsplit(f"//{text}")
    assert parts.hostname
    assert not parts.path
    assert parts.username is None
    assert len(KazooClient(hosts=text).hosts) == 1


@given(st.text(max_size=30), st.booleans())
def test_any_text_is_judged_in_one_printable_line(text: str, needs_port: bool) -> None:
    fault = host_fault(text, needs_port=needs_port)
    assert fault == "" or fault.isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("fd00::1", "brackets"),
        ("fd00::1:2181", "brackets"),
        ("[fd00::1]x", "brackets"),
        ("[zk]:2181", "brackets"),
        ("fd00::1]:2181", "brackets"),
        ("zk:2181:2182", "more than one port"),
        ("zk:", "no port"),
        ("zk:0", "no port"),
        ("zk:65536", "no port"),
        ("zk:\uff19", "no port"),
        ("zk: 2181", "blank"),
        ("a,b", "several"),
        ("a;b", "several"),
        ("zk/chroot", "more than a host"),
        ("ann:secret@zk:2181", "credentials"),
        (":2181", "names no host"),
        ("a%b", "names no host"),
        ("x" * 254, "names no host"),
    ],
)
def test_each_fault_is_named(text: str, words: str) -> None:
    assert words in host_fault(text)
    assert "secret" not in host_fault(text)


def test_a_port_may_be_needed() -> None:
    assert "no port" in host_fault("etcd-1", needs_port=True)
    assert not host_fault("etcd-1:2379", needs_port=True)


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("zk:a:2181,b:2181/pulsar", "write hosts = 'a:2181,b:2181' and chroot = '/pulsar'"),
        ("a:2181,b:2181/pulsar/east", "write hosts = 'a:2181,b:2181' and chroot = '/pulsar/east'"),
        ("metadata-store:zk:a:2181", "write hosts = 'a:2181'"),
        ("zk://10.0.0.1:2181/", "write hosts = '10.0.0.1:2181'"),
        ("zk+hierarchical://a:2181;b:2181/ledgers", "several hosts"),
        ("a:2181/pulsar,b:2181", "a chroot stands before a host"),
        (["a:2181", "b:2181"], "it is a list; write the servers as one text"),
        ("fd00::1", "brackets"),
        ("a:2181,,b:2181", "a host is empty"),
    ],
)
def test_brokers_form_of_a_store_is_answered_with_the_settings(hosts: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=r"\S") as refused:
        ZooKeeperConfig(hosts=hosts)
    assert words in str(refused.value)


@pytest.mark.parametrize("hosts", ["zk:2181", "zk:2181,zk:2182", "zk"])
def test_a_host_may_have_the_name_of_the_scheme(hosts: str) -> None:
    assert ZooKeeperConfig(hosts=hosts).hosts == hosts


@pytest.mark.parametrize("chroot", ["pulsar", "/pulsar/", "//a", "/"])
def test_a_chroot_is_a_path(chroot: str) -> None:
    with pytest.raises(ValidationError, match="no chroot"):
        ZooKeeperConfig(hosts="zk", chroot=chroot)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://b1:8080,b2:8080", "several brokers"),
        ("http://b1:8080,http://b2:8080", "several brokers"),
        ("http://fd00::1", "brackets"),
        ("http://fd00::1:8080", "brackets"),
        ("http://b1:8080/admin", "more than a host"),
        ("http://ann:secret@b1:8080", "credentials"),
        ("pulsar://b1:6650", "http://HOST:PORT"),
        ("b1:8080", "http://HOST:PORT"),
        ("http://", "empty"),
        ("https://b1:http", "no port"),
    ],
)
def test_the_address_of_a_broker_is_one_host(url: str, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(BrokerUrl).validate_python(url)
    said = refused.value.errors()[0]["msg"]
    assert words in said
    assert "secret" not in said


@pytest.mark.parametrize("url", ["http://b1:8080", "https://[fd00::1]:8443/", "http://localhost", "http://10.0.0.1:1"])
def test_one_broker_is_taken(url: str) -> None:
    assert TypeAdapter(BrokerUrl).validate_python(url) == url


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("http://e:2379", "leave out the scheme"),
        ("fd00::1:2379", "brackets"),
        ("e", "no port"),
        ("e:2379,f:2379", "several"),
    ],
)
def test_an_endpoint_of_etcd_is_a_host_and_a_port(endpoint: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        EtcdConfig(endpoints=(endpoint,))
