"""Edits of every field of a namespace, each way, between two clusters of different versions: what is lost by them.

Namespaces are edited in turns, by the broker of the one cluster and then of the other; between two turns everything
arrives. What a broker's store holds of the edited field right after the edit is what has to be there at the end, in the
store of each cluster whose brokers know the field. Nothing of the product is asked: the stores are, so that any
version of it can be told by the same measure::

    python -m tests.versions.edits_both_ways --versions 5.0.0-M1,4.2.4
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from syncer.config import Config
from syncer.conflict.fields.table import known_fields, parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.model import MetaPath, ResourceKind
from syncer.paths import namespace_path
from syncer.waiting import wait_until
from tests.versions.namespace_edits import CALLS, FieldCall

_TENANT: Final = "edited"


@dataclass(slots=True)
class Outcome:
    """What became of the edits.

    Args:
        edits: How many were made by each side.
        lost: Settings that are not as they were made, in words.
        held: Paths that wait for a person, with the reason.
        conflicts: Paths of conflicts.
    """

    edits: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Both in one line."""
        made = ", ".join(f"{count} in {side}" for side, count in self.edits.items())
        return f"{made}: {len(self.lost)} lost, {len(self.held)} held, {len(self.conflicts)} in conflict"


class MixedPair:
    """Two clusters with a daemon beside each, and namespaces that both serve.

    Args:
        clusters: Both.
        regions: The daemons' regions, likewise.
        name: Of the namespaces' tenant.
    """

    def __init__(
        self, clusters: Sequence[PulsarCluster | BrokersCluster], regions: Sequence[LabRegion], name: str = _TENANT
    ) -> None:
        self.clusters, self.regions, self.tenant = list(clusters), list(regions), name
        self.expected: dict[str, dict[str, Any]] = {}
        self.outcome = Outcome({cluster.name: 0 for cluster in clusters})

    def make(self, count: int) -> None:
        """Have so many namespaces in both, those included that are there."""
        names = [cluster.name for cluster in self.clusters]
        first = f"{self.clusters[0].admin_url}/admin/v2"
        if not self.expected:
            rest.send("PUT", f"{first}/tenants/{self.tenant}", {"adminRoles": [], "allowedClusters": names})
        for number in range(len(self.expected), count):
            name = f"{self.tenant}/n{number}"
            rest.send("PUT", f"{first}/namespaces/{name}", {"replication_clusters": names})
            self.expected[name] = {}
        self.settle("namespaces that were made")

    def settle(self, what: str) -> None:
        """Wait until both regions are quiet and know the same."""
        wait_until(self._equal, f"equal: {what}")

    def _equal(self) -> bool:
        if not all(region.quiet() for region in self.regions):
            return False
        one, other = self._trees()
        return one is not None and one == other

    def _trees(self) -> list[Any]:
        """The digest tree of each region, as it was last reported."""
        return [(region.status().document or {}).get("tree") for region in self.regions]

    def edit(self, side: int, name: str, called: str, number: int) -> None:
        """Have a side's broker set one field, and note what its store holds of it then."""
        cluster, call = self.clusters[side], CALLS[called]
        path = call.path.replace("{n}", str(number))
        rest.send(call.method, f"{cluster.admin_url}/admin/v2/namespaces/{name}/{path}", call.body(number))
        self.expected[name][called] = self.stored(side, name).get(called)
        self.outcome.edits[cluster.name] += 1

    def remove(self, side: int, name: str, called: str) -> None:
        """Have a side's broker remove a field."""
        cluster, call = self.clusters[side], CALLS[called]
        before = self._trees()[side]
        rest.send(call.removed_by, f"{cluster.admin_url}/admin/v2/namespaces/{name}/{call.path}")
        wait_until(lambda: self._trees()[side] != before, f"the removal of {called} is taken")
        self.expected[name][called] = None
        self.outcome.edits[cluster.name] += 1

    def stored(self, side: int, name: str) -> dict[str, Any]:
        """What a side's store holds of a namespace."""
        value = anyio.run(_value, self.regions[side].config, _path(name))
        return PROJECTIONS[ResourceKind.NAMESPACE].project(value)

    def version(self, side: int) -> str:
        """What a side's brokers run."""
        return self.clusters[side].settings.version

    def lost(self) -> list[str]:
        """Settings that are not in the store of a side whose brokers know the field, in words."""
        lost = []
        for side, region in enumerate(self.regions):
            known = known_fields(parse_version(self.version(side)), ResourceKind.NAMESPACE)
            entries = region.entries()
            for name, fields in self.expected.items():
                document = PROJECTIONS[ResourceKind.NAMESPACE].project(entries.get(_path(name), b"{}"))
                lost += [
                    f"{region.name}: {called} of {name} is {_short(document.get(called))}, was set to {_short(value)}"
                    for called, value in fields.items()
                    if called in known and _comparable(document.get(called)) != _comparable(value)
                ]
        return lost

    def judge(self) -> Outcome:
        """Compare both stores with what was set."""
        self.outcome.lost += self.lost()
        for region in self.regions:
            self.outcome.held |= {
                f"{region.name} {path}": str(row.hold.reason)
                for path, row in region.holds().items()
                if path.startswith(f"/admin/policies/{self.tenant}")
            }
            with region.views() as views:
                rows = views.conflicts(1_000)
            self.outcome.conflicts += [row.path for row in rows if f"/{self.tenant}/" in row.path]
        return self.outcome


def each_way(pair: MixedPair, edits: int) -> Outcome:
    """Make so many edits by each side, in rounds over one namespace a field, and judge."""
    pair.make(len(CALLS))
    names, calls = list(pair.expected), list(CALLS)
    turn = 0
    before = min(pair.outcome.edits.values())
    while min(pair.outcome.edits.values()) < before + edits:
        for number, name in enumerate(names):
            side = (number + turn) % 2
            called = calls[(number + turn // 2) % len(calls)]
            if knows(pair.version(side), CALLS[called]):
                pair.edit(side, name, called, turn)
            else:
                pair.edit(side, name, "message_ttl_in_seconds", turn)
        turn += 1
        pair.settle(f"round {turn}")
    return pair.judge()


def knows(version: str, call: FieldCall) -> bool:
    """Tell if brokers of a version have a call.

    Args:
        version: As Pulsar counts them.
        call: That sets a field.
    """
    own, since = parse_version(version), parse_version(call.since)
    return own is not None and since is not None and own >= since


async def _value(config: Config, path: MetaPath) -> bytes:
    store = config.make_store()
    await store.open()
    try:
        entry = (await store.read([path]))[path]
    finally:
        await store.close()
    if entry is None:
        raise AssertionError(f"{path} is not there")
    return entry.value


def _path(name: str) -> MetaPath:
    return namespace_path(*name.split("/"))


def _comparable(value: object) -> object:
    return sorted(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else value


def _short(value: object) -> str:
    return json.dumps(value)[:80]


def main() -> None:
    """Run it on two clusters that are made for it, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", default="5.0.0-M1,4.2.4", help="of the two clusters")
    parser.add_argument("--edits", type=int, default=200, help="by each of them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncer-edits-") as place:
        outcome = _on_clusters(Path(place), given.versions.split(","), given.edits)
    print(*outcome.lost[:20], *(f"held: {path} {why}" for path, why in outcome.held.items()), sep="\n")
    print(outcome.words)
    sys.exit(1 if outcome.lost or outcome.held else 0)


def _on_clusters(place: Path, versions: Sequence[str], edits: int) -> Outcome:
    kinds = (StoreKind.ZOOKEEPER, StoreKind.ZOOKEEPER if versions[1].startswith("5") else StoreKind.ETCD)
    with pair_of(place, versions, kinds) as pair:
        began = time.monotonic()
        outcome = each_way(pair, edits)
        print(f"{time.monotonic() - began:.0f} s for the edits")
        return outcome


@contextmanager
def pair_of(place: Path, versions: Sequence[str], kinds: Sequence[StoreKind]) -> Iterator[MixedPair]:
    """Have two standalone clusters, and a daemon beside each, for as long as this lasts.

    Args:
        place: Directory of all of it.
        versions: Of the two clusters.
        kinds: Of their stores.
    """
    clusters = [
        PulsarCluster(place / name, ClusterSettings(name=name, store=kind, version=version), leashed=True)
        for name, kind, version in zip(("us-east", "us-west"), kinds, versions, strict=True)
    ]
    regions: list[LabRegion] = []
    try:
        bring_up(clusters)
        regions += (
            LabRegion.beside(each, place / f"{each.name}-syncer", admin={"url": each.admin_url}) for each in clusters
        )
        regions[0].init_topic(clusters)
        for region in regions:
            region.start()
        yield MixedPair(clusters, regions)
    finally:
        for region in regions:
            region.stop()
        for cluster in clusters:
            cluster.stop()


if __name__ == "__main__":
    main()
