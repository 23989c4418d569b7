"""Brokers of one region are given the other service for topic policies, and back: every global policy comes along.

These are the steps of docs/how-to/carry-topic-policies.md, at 4.2.4 beside a region that stays on 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import BrokersSettings
from deploy.lab.region import BUS_TOPIC, LabRegion
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import java, pulsar_home
from syncer.conflict.register import HoldReason
from syncer.model import MetaPath
from syncer.waiting import wait_until
from tests.conftest import require

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow, pytest.mark.timeout(900)]

TENANT: Final = "harbour"
SPACE: Final = f"{TENANT}/quays"
BASE: Final = "/admin/topic-policies/global"
RULES: Final = [
    {"pattern": each, "direction": "both"} for each in (f"/admin/policies/{TENANT}", f"{BASE}/{TENANT}/*/**")
]
TOPICS: Final = ("one", "two", "gone")
SELECTED: Final = f'system_topics = ["{TENANT}/*"]'
SERVICES: Final = "org.apache.pulsar.broker.service"
IN_STORE: Final = {
    "topicPoliciesServiceClassName": f"{SERVICES}.MetadataStoreTopicPoliciesService",
    "systemTopicEnabled": "false",
}
IN_TOPICS: Final = {
    "topicPoliciesServiceClassName": f"{SERVICES}.SystemTopicBasedTopicPoliciesService",
    "systemTopicEnabled": "true",
}


def path_of(topic: str) -> MetaPath:
    return MetaPath(f"{BASE}/{SPACE}/persistent/{topic}")


@dataclass(frozen=True, slots=True)
class Moved:
    """A cluster of one broker, and the region beside it."""

    cluster: BrokersCluster
    region: LabRegion

    @classmethod
    def of(cls, place: Path, name: str, version: str) -> Moved:
        """One that is not started."""
        cluster = BrokersCluster(
            place / name, BrokersSettings(name=name, brokers=1, version=version, cpu_percent=(), broker=IN_TOPICS)
        )
        (broker,) = cluster.brokers
        bus = {
            "kind": "pulsar",
            "service_url": broker.service_url,
            "admin_url": broker.admin_url,
            "topic": BUS_TOPIC,
        }
        tables: dict[str, Any] = {
            "store": cluster.store_config,
            "bus": bus,
            "admin": {"url": broker.admin_url},
            "scope": {"rules": RULES},
            "topic_policies": {"system_topics": [f"{TENANT}/*"], "look_every": "2s"},
        }
        return cls(cluster, LabRegion(place / f"{name}-syncer", name=name, clusters=(name,), tables=tables))

    def ask(self, path: str) -> Any:
        return rest.get(f"{self.cluster.admin_url}/admin/v2/{path}")

    def consumers(self, topic: str, *, everywhere: bool = True) -> Any:
        return self.ask(f"persistent/{SPACE}/{topic}/maxConsumers" + ("?isGlobal=true" if everywhere else ""))

    def set_consumers(self, topic: str, number: int, *, everywhere: bool = True) -> None:
        asked = f"persistent/{SPACE}/{topic}/maxConsumers" + ("?isGlobal=true" if everywhere else "")
        rest.send("POST", f"{self.cluster.admin_url}/admin/v2/{asked}", number)

    def make(self, *topics: str) -> None:
        url = f"{self.cluster.admin_url}/admin/v2"
        rest.put_or_update(f"{url}/tenants/{TENANT}", {"adminRoles": [], "allowedClusters": ["us-east", "us-west"]})
        rest.send("PUT", f"{url}/namespaces/{SPACE}", {"replication_clusters": [self.cluster.name]})
        for topic in topics:
            rest.send("PUT", f"{url}/persistent/{SPACE}/{topic}/partitions", 1)

    def serve(self, settings: dict[str, str], former: str, present: str) -> None:
        """Give the broker another service while the daemon is stopped, and the daemon another selection."""
        self.region.stop()
        (broker,) = self.cluster.brokers
        broker.stop()
        broker.change(settings)
        self.cluster.bring_back(broker)
        text = self.region.file.read_text(encoding="utf-8")
        assert former in text
        self.region.file.write_text(text.replace(former, present), encoding="utf-8")
        self.region.start()

    def held(self, topic: str) -> HoldReason | None:
        hold = self.region.holds().get(path_of(topic))
        return hold.hold.reason if hold is not None else None


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Moved, Moved]]:
    """Both regions in sync, with three topics each."""
    require(java, pulsar_home, lambda: home_of("4.2.4"))
    stays, moves = both = (Moved.of(tmp_path, "us-east", "4.0.8"), Moved.of(tmp_path, "us-west", "4.2.4"))
    try:
        for side in both:
            side.cluster.start()
        for side in both:
            for peer in both:
                urls = {"serviceUrl": peer.cluster.admin_url, "brokerServiceUrl": peer.cluster.service_url}
                rest.put_or_update(f"{side.cluster.admin_url}/admin/v2/clusters/{peer.cluster.name}", urls)
            side.make(*TOPICS)
        words = [word for each in both for word in ("--cluster", f"{each.cluster.name}={each.cluster.admin_url}")]
        stays.region.command("topic", "init", *words, "--yes")
        for side in both:
            side.region.start()
        yield stays, moves
    finally:
        for side in both:
            side.region.stop()
            side.cluster.kill()


def test_global_policies_come_along_between_the_services_of_brokers(sides: tuple[Moved, Moved]) -> None:
    stays, moves = sides

    def both_answer(**wanted: int) -> bool:
        return all(side.consumers(topic) == number for side in sides for topic, number in wanted.items())

    def held(reason: HoldReason, what: str) -> None:
        wait_until(lambda: all(moves.held(topic) is reason for topic in TOPICS), what)

    stays.set_consumers("one", 21)
    moves.set_consumers("two", 22)
    moves.set_consumers("gone", 23)
    wait_until(lambda: both_answer(one=21, two=22, gone=23), "the policies in both regions")
    wait_until(lambda: all(side.region.quiet() for side in sides), "both have written all")

    moves.serve(IN_STORE, SELECTED, "system_topics = []")
    held(HoldReason.MASS_DELETE, "all are missing in the store")
    moves.region.command("holds", "reject", "--all", "--only", "mass-delete", "--yes")
    wait_until(lambda: both_answer(one=21, two=22, gone=23), "the policies in the store of us-west")
    assert {path_of(each) for each in TOPICS} <= moves.region.entries().keys()
    moves.set_consumers("one", 31)
    stays.set_consumers("two", 32)
    rest.send("DELETE", f"{moves.cluster.admin_url}/admin/v2/persistent/{SPACE}/gone/maxConsumers?isGlobal=true")
    wait_until(lambda: both_answer(one=31, two=32), "changes from either side")
    wait_until(lambda: stays.consumers("gone") is None, "and the removal")
    wait_until(lambda: all(side.region.quiet() for side in sides), "both have written all")

    moves.serve(IN_TOPICS, "system_topics = []", SELECTED)
    held(HoldReason.FIRST_CONTACT, "the topics have what was there before")
    assert [stays.consumers(topic) for topic in TOPICS] == [31, 32, None], "and nobody else is told of that"
    moves.region.command("holds", "confirm", "--all", "--only", "first-contact", "--yes")
    wait_until(lambda: [moves.consumers(topic) for topic in TOPICS] == [31, 32, None], "the policies as they are now")
    stays.set_consumers("gone", 43)
    moves.set_consumers("one", 41)
    wait_until(lambda: both_answer(one=41, two=32, gone=43), "and it goes on")
    wait_until(lambda: all(side.region.quiet() for side in sides), "both have written all")
    assert moves.region.holds() == {}
