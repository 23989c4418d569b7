"""Edits of every field of a namespace, each way, between two clusters of different versions: what is lost by them.

Namespaces are edited in turns, by the broker of the one cluster and then of the other; between two turns everything
arrives. A field that no call of a broker sets is written into its store, as the broker's own document has it. What a
store holds of the edited field right after the edit is what has to be there at the end, in the store of each cluster
whose brokers know the field; what they do not know has to be kept beside it. Fields that each region has for itself
have to stay as their own side left them. Nothing of the product is asked: the stores are, so that any version of it can
be told by the same measure::

    python -m tests.versions.edits_both_ways --versions 3.0.7,4.0.8
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from deploy.lab.releases.versions import release
from syncer.config import Config
from syncer.conflict.fields.table import BrokerVersion, Tree, known_fields, parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.model import MetaPath, ResourceKind
from syncer.paths import namespace_path
from syncer.stores.contract import Entry, MetadataStore, Put
from syncer.waiting import wait_until
from tests.versions.documents import Document, edited, known_part, lacks, tells_apart
from tests.versions.namespace_edits import ALL_CALLS, HOME_CLUSTERS, RESOURCE_GROUPS, SPARE_CLUSTERS, STORED

_TENANT: Final = "edited"
_TTL: Final = "message_ttl_in_seconds"
_PROJECTION: Final = PROJECTIONS[ResourceKind.NAMESPACE]
OWN: Final = _PROJECTION.local
"""The fields that each region has for itself."""


@dataclass(slots=True)
class Outcome:
    """What became of the edits.

    Args:
        edits: How many were made by each side.
        fields: The fields that each side edited.
        dropped: How many left a store without a field that stands elsewhere, since the broker does not know it.
        lost: Settings that are not as they were made, in words.
        held: Paths that wait for a person, with the reason.
        conflicts: Paths of conflicts.
    """

    edits: dict[str, int] = field(default_factory=dict)
    fields: dict[str, set[str]] = field(default_factory=dict)
    dropped: int = 0
    lost: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """All in one line."""
        made = ", ".join(f"{count} in {side}" for side, count in self.edits.items())
        fields = set().union(*self.fields.values())
        told = f", of {len(fields)} fields, {self.dropped} drops" if fields else ""
        return f"{made}{told}: {len(self.lost)} lost, {len(self.held)} held, {len(self.conflicts)} in conflict"


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
        self.expected: dict[str, Document] = {}
        self.turn = 0
        self.outcome = Outcome(
            {cluster.name: 0 for cluster in clusters}, fields={cluster.name: set() for cluster in clusters}
        )
        self._own: dict[tuple[int, str], Document] = {}
        self._widened = False

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
        """Wait until both regions are quiet, know the same, and each has what was set until now.

        The former two alone also hold of an edit that no daemon has seen yet.
        """
        wait_until(lambda: self._equal() and not self.lost(), f"equal: {what}", shown=self.lost)

    def _equal(self) -> bool:
        if not all(region.quiet() for region in self.regions):
            return False
        one, other = self._trees()
        return one is not None and one == other

    def _trees(self) -> list[Any]:
        """The digest tree of each region, as it was last reported."""
        return [(region.status().document or {}).get("tree") for region in self.regions]

    def widen(self) -> None:
        """Have what edits need beside the namespaces: further clusters that nobody runs, and resource groups."""
        if self._widened:
            return
        self._widened = True
        for cluster in self.clusters:
            for spare in SPARE_CLUSTERS:
                urls = {"serviceUrl": "http://127.0.0.1:9", "brokerServiceUrl": "pulsar://127.0.0.1:9"}
                rest.put_or_update(f"{cluster.admin_url}/admin/v2/clusters/{spare}", urls)
        first = f"{self.clusters[0].admin_url}/admin/v2"
        for number, group in enumerate(RESOURCE_GROUPS):
            rest.send("PUT", f"{first}/resourcegroups/{group}", {"publishRateInMsgs": 1_000 + number})
        allowed = [*(cluster.name for cluster in self.clusters), *SPARE_CLUSTERS]
        rest.send("POST", f"{first}/tenants/{self.tenant}", {"adminRoles": [], "allowedClusters": allowed})
        self.settle("further clusters and resource groups")

    def fields(self) -> list[str]:
        """The fields that the brokers of either side know, in the order of their edits."""
        known = {name for side in (0, 1) for name in self.known(side)}
        return [name for name in dict.fromkeys((*ALL_CALLS, *STORED)) if name in known]

    def known(self, side: int) -> Tree:
        """The fields of a namespace that a side's brokers know."""
        return known_fields(parse_version(self.version(side)), ResourceKind.NAMESPACE)

    def edits(self, side: int, called: str) -> bool:
        """Tell if a side can edit a field: by a call of its broker, or as that one's own document has it."""
        call = ALL_CALLS.get(called)
        return called in self.known(side) and (
            called in STORED or (call is not None and call.is_in(self.version(side)))
        )

    def edit(self, side: int, name: str, called: str, number: int) -> None:
        """Have a side set one field, and note what its store holds of it then."""
        cluster, call = self.clusters[side], ALL_CALLS.get(called)
        before = self.document(side, name)
        if call is not None and call.is_in(self.version(side)):
            path = call.path.format(n=number, parity=number % 2, bundle="_".join(before["bundles"]["boundaries"][:2]))
            url = f"{cluster.admin_url}/admin/v2/namespaces/{name}/{path}"
            rest.send(call.method, url, call.body(number))
        else:
            anyio.run(_write, self.regions[side].config, _path(name), self.known(side), called, STORED[called](number))
        self._take(side, name, called, before)
        self.outcome.edits[cluster.name] += 1
        self.outcome.fields[cluster.name].add(called)

    def _take(self, side: int, name: str, called: str, before: Document) -> None:
        """Note what an edit has set: the field, and others that were set with it."""
        after, known, expected = self.document(side, name), self.known(side), self.expected[name]
        self._own[side, name] = {each: after[each] for each in OWN if each in after}
        carried, former = _carried(after), _carried(before)
        changed = {each for each in known if each not in OWN and carried.get(each) != former.get(each)}
        for each in {called, *changed} - OWN:
            value = edited(expected.get(each), carried[each], known[each]) if each in carried else None
            expected[each] = value
        self.outcome.dropped += lacks(carried, expected)

    def remove(self, side: int, name: str, called: str) -> None:
        """Have a side's broker remove a field."""
        cluster, call = self.clusters[side], ALL_CALLS[called]
        before = self._trees()[side]
        rest.send(call.removed_by, f"{cluster.admin_url}/admin/v2/namespaces/{name}/{call.path}")
        wait_until(lambda: self._trees()[side] != before, f"the removal of {called} is taken")
        self.expected[name][called] = None
        self.outcome.edits[cluster.name] += 1

    def stored(self, side: int, name: str) -> dict[str, Any]:
        """What a side's store holds of a namespace, but for what each region has for itself."""
        return _carried(self.document(side, name))

    def document(self, side: int, name: str) -> Document:
        """A namespace as it stands in a side's store."""
        document: Document = json.loads(anyio.run(_value, self.regions[side].config, _path(name)))
        return document

    def version(self, side: int) -> str:
        """What a side's brokers run."""
        return self.clusters[side].settings.version

    def lost(self, among: Collection[tuple[str, str]] | None = None) -> list[str]:
        """Settings that are not as they were made, in words.

        That is: not in the store of a side whose brokers know them, not kept by a side whose brokers do not, or, of
        what each region has for itself, not as that region's brokers left it.

        Args:
            among: Namespaces and fields that are looked at alone; ``None``: all of them.
        """
        lost = []
        for side, region in enumerate(self.regions):
            known, entries, whole = self.known(side), region.entries(), region.whole_entries()
            lost += [f"{region.name}: {name} is not there" for name in self.expected if _path(name) not in entries]
            for name, fields in self.expected.items():
                document, kept = (_PROJECTION.project(each.get(_path(name), b"{}")) for each in (entries, whole))
                for called, value in fields.items():
                    if among is not None and (name, called) not in among:
                        continue
                    wanted, found = ({called: each} for each in (value, document.get(called)))
                    if known_part(wanted, known) != known_part(found, known):
                        lost.append(_differs(f"{region.name}: {called} of {name}", document.get(called), value))
                    elif kept.get(called) != value:
                        lost.append(_differs(f"{region.name}: {called} kept of {name}", kept.get(called), value))
            for (owner, name), part in self._own.items():
                document = json.loads(entries.get(_path(name), b"{}"))
                if owner == side and any(document.get(each) != node for each, node in part.items()):
                    lost.append(_differs(f"{region.name}: own fields of {name}", document, part))
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
    """Make so many edits by each side, in rounds over one namespace a field, and judge.

    Before the first round every namespace gets each field that one side knows more of than the other, by the side that
    does: so whatever the other one writes afterwards could take it away.
    """
    fields = pair.fields()
    pair.make(len(fields))
    pair.widen()
    names = list(pair.expected)
    before = dict(pair.outcome.edits)
    if not pair.turn:
        lade(pair)
    while min(made - before[side] for side, made in pair.outcome.edits.items()) < edits or pair.turn % 2:
        for number, name in enumerate(names):
            side, called = (number + pair.turn) % 2, fields[(number + pair.turn // 2) % len(fields)]
            pair.edit(side, name, called if pair.edits(side, called) else _TTL, pair.turn)
        pair.turn += 1
        pair.settle(f"round {pair.turn}")
    return pair.judge()


def lade(pair: MixedPair) -> None:
    """Have every namespace set in all that the brokers of the newer side alone know."""
    newer = max((0, 1), key=lambda side: parse_version(pair.version(side)) or BrokerVersion(()))
    known, others = pair.known(newer), pair.known(1 - newer)
    for called in pair.fields():
        alone = called in known and (called not in others or tells_apart(known[called], others[called]))
        if alone and called not in OWN and pair.edits(newer, called):
            for number, name in enumerate(pair.expected):
                pair.edit(newer, name, called, number)
            pair.settle(f"{called} is everywhere")


async def _value(config: Config, path: MetaPath) -> bytes:
    async with _opened(config) as store:
        return (await _entry(store, path)).value


async def _write(config: Config, path: MetaPath, known: Tree, called: str, value: object) -> None:
    """Set a field as a broker does that keeps these fields."""
    async with _opened(config) as store:
        entry = await _entry(store, path)
        document = {**known_part(json.loads(entry.value), known), called: value}
        text = json.dumps(document, separators=(",", ":")).encode()
        await store.apply([Put(path=path, value=text, expected=entry.revision)])


@asynccontextmanager
async def _opened(config: Config) -> AsyncIterator[MetadataStore]:
    store = config.make_store()
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def _entry(store: MetadataStore, path: MetaPath) -> Entry:
    entry = (await store.read([path]))[path]
    if entry is None:
        raise AssertionError(f"{path} is not there")
    return entry


def _path(name: str) -> MetaPath:
    return namespace_path(*name.split("/"))


def _carried(document: Document) -> Document:
    return _PROJECTION.project(json.dumps(document).encode())


def _differs(place: str, found: object, wanted: object) -> str:
    return f"{place} is {_short(found)}, was set to {_short(wanted)}"


def _short(value: object) -> str:
    return json.dumps(value)[:200]


def main() -> None:
    """Run it on two clusters that are made for it, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", default="3.0.7,4.0.8", help="of the two clusters")
    parser.add_argument("--edits", type=int, default=200, help="by each of them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncer-edits-") as place:
        outcome = _on_clusters(Path(place), given.versions.split(","), given.edits)
    print(*outcome.lost[:20], *(f"held: {path} {why}" for path, why in outcome.held.items()), sep="\n")
    print(outcome.words)
    sys.exit(1 if outcome.lost or outcome.held else 0)


def _on_clusters(place: Path, versions: Sequence[str], edits: int) -> Outcome:
    kinds = (StoreKind.ZOOKEEPER, StoreKind.ETCD if release(versions[1]).etcd else StoreKind.ZOOKEEPER)
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
        for name, kind, version in zip(HOME_CLUSTERS, kinds, versions, strict=True)
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
