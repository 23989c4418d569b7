"""What the configuration of the bus says about the scope: its locks stay in their own cluster."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from syncer.bus.pulsar.bus import PulsarBusConfig
from syncer.bus.pulsar.names import lock_topic_of
from syncer.config.model import Config
from syncer.config.tables import AdminConfig
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Direction
from syncer.errors import ConfigError
from syncer.model import MetaPath

TOPIC = "persistent://pulsar-syncer/metadata/events"


def config(region: str = "us-east", **bus: object) -> Config:
    table = {"kind": "pulsar", "service_url": "pulsar://127.0.0.1:6650", "topic": TOPIC, **bus}
    return Config.model_validate({"region": region, "store": {"kind": "zookeeper", "hosts": "127.0.0.1"}, "bus": table})


@pytest.mark.parametrize(
    "path",
    [
        "/admin/policies/pulsar-syncer/metadata-local",
        "/admin/partitioned-topics/pulsar-syncer/metadata-local/persistent/us-east-lock",
    ],
)
def test_the_namespace_of_the_locks_takes_no_part(path: str) -> None:
    assert Scope().contains(MetaPath(path))
    assert config().compiled_scope().direction(MetaPath(path)) is Direction.IGNORE


def test_only_that_namespace_is_left_out() -> None:
    scope = config().compiled_scope()
    assert scope.contains(MetaPath("/admin/policies/pulsar-syncer/metadata"))
    assert scope.contains(MetaPath("/admin/policies/pulsar-syncer/metadata-locale"))
    assert scope.contains(MetaPath("/admin/policies/pulsar-syncer"))
    assert scope.prefixes == Scope().prefixes


@pytest.mark.parametrize(
    "broker", ["broker-1.example:8080", "http://", "http://u@b:8080", "http://b:8080/admin", "b", ""]
)
def test_a_broker_that_no_call_could_be_sent_on_to_is_refused_in_both_tables(broker: str) -> None:
    sound = "http://broker-1.example:8080"
    settings = config(admin_brokers=[sound, f"{sound}/"]).bus_settings
    assert isinstance(settings, PulsarBusConfig)
    assert settings.admin_brokers == (sound, f"{sound}/")
    with pytest.raises(ConfigError, match=r"bus\.admin_brokers\.1: "):
        _ = config(admin_brokers=[sound, broker]).bus_settings
    with pytest.raises(ValidationError, match=r"brokers.*1"):
        AdminConfig.model_validate({"url": sound, "brokers": [sound, broker]})


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("pulsar://a:6650", "pulsar://a:6650"),
        ("pulsar://a:6650/", "pulsar://a:6650"),
        ("pulsar+ssl://a,b:6651", "pulsar+ssl://a,b:6651"),
        ("pulsar://a:6650, b:6650 ,c", "pulsar://a:6650,b:6650,c"),
        ("pulsar://[fd00::1]:6650,[fd00::2]", "pulsar://[fd00::1]:6650,[fd00::2]"),
    ],
)
def test_the_address_of_the_bus_may_name_several_hosts(given: str, taken: str) -> None:
    settings = config(service_url=given).bus_settings
    assert isinstance(settings, PulsarBusConfig)
    assert settings.service_url == taken


@pytest.mark.parametrize(
    ("setting", "url", "words"),
    [
        ("service_url", "a:6650", "write it as 'pulsar://HOST:PORT'"),
        ("service_url", "http://a:8080", "write it as 'pulsar://HOST:PORT'"),
        ("service_url", "pulsar://", "a host is empty"),
        ("service_url", "pulsar://a:6650,", "a host is empty"),
        ("service_url", "pulsar://a:6650 b:6650", "has a blank in it"),
        ("service_url", "pulsar://a:6650,pulsar://b:6650", "'pulsar://b:6650' is more than a host and a port"),
        ("service_url", "pulsar://::1:6650", "an IPv6 address without brackets"),
        ("service_url", "pulsar://a:6650/topic", "more than a host and a port"),
        ("service_url", "pulsar://ann:secret@a:6650", "credentials stand before a host"),
        ("service_url", "pulsar://a:six", "is no port"),
        ("admin_url", "http://a:8080, http://b:8080", "names several brokers"),
        ("admin_url", "http://::1:8080", "an IPv6 address without brackets"),
    ],
)
def test_an_address_of_the_bus_that_no_client_takes_is_refused_by_its_setting(
    setting: str, url: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=rf"bus\.{setting}") as refused:
        _ = config(**{setting: url}).bus_settings
    assert words in refused.value.message
    assert "secret" not in refused.value.message


def test_a_lock_topic_of_ones_own_names_the_namespace() -> None:
    scope = config(lock_topic="persistent://ops/locks/east").compiled_scope()
    assert not scope.contains(MetaPath("/admin/policies/ops/locks"))
    assert scope.contains(MetaPath("/admin/policies/pulsar-syncer/metadata-local"))


def test_regions_of_one_bus_have_one_scope() -> None:
    assert config("us-east").compiled_scope().fingerprint == config("us-west").compiled_scope().fingerprint


def test_what_is_left_out_is_where_the_lock_is() -> None:
    settings = config().bus_settings
    assert isinstance(settings, PulsarBusConfig)
    assert settings.lock == lock_topic_of(TOPIC, "us-east") == "persistent://pulsar-syncer/metadata-local/us-east-lock"


def test_a_bus_without_topics_leaves_the_scope_alone() -> None:
    table = {"region": "r", "store": {"kind": "sqlite", "path": "s"}, "bus": {"kind": "embedded", "path": "b"}}
    assert Config.model_validate(table).compiled_scope().fingerprint == Scope().fingerprint
