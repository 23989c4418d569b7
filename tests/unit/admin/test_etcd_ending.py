"""Who is told that etcd ends with Pulsar 4.2, and who is not."""

from __future__ import annotations

import pytest

from syncer.admin.etcd_ending import ending, unsure
from syncer.admin.version_probe import BrokersTold


def told(*versions: str, trouble: str = "") -> BrokersTold:
    return BrokersTold(versions={f"broker-{n}:8080": text for n, text in enumerate(versions)}, trouble=trouble)


@pytest.mark.parametrize("versions", [("4.2.0",), ("4.0.8", "4.2.4"), ("4.2.4-SNAPSHOT", "4.2.0-rc-1"), ("5.0.0-M1",)])
def test_one_broker_at_the_end_is_enough(versions: tuple[str, ...]) -> None:
    said = ending("etcd", told(*versions))
    assert said is not None
    assert any(f"Pulsar {version}," in said for version in versions)
    assert "5.0" in said
    assert "docs/how-to/leave-etcd.md" in said
    assert unsure("etcd", told(*versions, trouble="one did not answer")) is None, "what is known says enough"


@pytest.mark.parametrize(
    ("kind", "brokers"),
    [("zookeeper", told("4.2.4")), ("etcd", told("4.0.8", "4.1.3")), ("etcd", told()), ("etcd", told("nonsense"))],
)
def test_who_is_not_near_the_end_is_left_alone(kind: str, brokers: BrokersTold) -> None:
    assert ending(kind, brokers) is None


def test_where_nobody_can_tell_that_is_said_of_etcd_alone() -> None:
    nobody = told("4.0.8", trouble="no [admin] is configured")
    said = unsure("etcd", nobody)
    assert said is not None
    assert "no [admin] is configured" in said
    assert unsure("zookeeper", nobody) is None
    assert unsure("etcd", told("4.0.8")) is None
