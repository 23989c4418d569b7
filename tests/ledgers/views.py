"""What the readers of snapshots find of a cluster's ledgers, decoded by the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deploy.lab.brokers.bookie_shell import PrintedLedger
from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.place import StorePlace, source
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.managed import managed_ledger
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import AuditorVote, BookieRegistration, StoreNode, UnderReplicationMark
from syncer.ledgers.placement.racks import RackMap, rack_map
from syncer.paths import MANAGED_LEDGERS
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths
from tests.spark.stores import collected


@dataclass(frozen=True, slots=True)
class LedgersView:
    """Ledgers by id, ledgers of topics by ``tenant/namespace/topic``, all other nodes, racks, and what was no value."""

    ledgers: Mapping[int, LedgerMetadata]
    topics: Mapping[str, tuple[int, ...]]
    nodes: tuple[StoreNode, ...]
    racks: RackMap
    flaws: tuple[Undecodable, ...]

    @property
    def marks(self) -> dict[int, tuple[str, ...]]:
        """Ledgers that are marked under-replicated, each with its missing bookies."""
        return {node.ledger_id: node.bookies for node in self.nodes if isinstance(node, UnderReplicationMark)}

    @property
    def writable(self) -> frozenset[str]:
        """Bookies that are up and take entries."""
        up = (node for node in self.nodes if isinstance(node, BookieRegistration))
        return frozenset(node.bookie for node in up if not node.read_only)

    @property
    def auditors(self) -> list[AuditorVote]:
        """Votes for an auditor, the leader's first."""
        votes = [node for node in self.nodes if isinstance(node, AuditorVote)]
        return sorted(votes, key=lambda vote: vote.number)

    def named(self, bookie: str) -> set[int]:
        """Ledgers that name a bookie."""
        return {ledger_id for ledger_id, ledger in self.ledgers.items() if bookie in ledger.bookies()}


def view(store: ZooKeeperServer | EtcdNode) -> LedgersView:
    """Read a store's ledgers, what refers to them, their bookies and their recovery, part after part."""
    if isinstance(store, EtcdNode):
        place = StorePlace.made("etcd", EtcdConfig(endpoints=(store.endpoint,)))
    else:
        place = StorePlace.made("zookeeper", ZooKeeperConfig(hosts=store.hosts))
    ledgers: dict[int, LedgerMetadata] = {}
    topics: dict[str, tuple[int, ...]] = {}
    nodes: list[StoreNode] = []
    flaws: list[Undecodable] = []
    racks = RackMap()
    for row in _rows(place):
        match row.kind:
            case LedgerPathKind.MANAGED_LEDGER:
                found = managed_ledger(str(row.path), row.value)
                if isinstance(found, Undecodable):
                    flaws.append(found)
                else:
                    name = str(row.path).removeprefix(f"{MANAGED_LEDGERS}/").replace("/persistent/", "/")
                    topics[name] = tuple(each.ledger_id for each in found.ledgers)
            case LedgerPathKind.RACKS:
                racks = rack_map(row.value)
            case _:
                match ledger_entry(str(row.path), row.value, row.created_ms):
                    case LedgerMetadata() as ledger:
                        ledgers[ledger.ledger_id] = ledger
                    case Undecodable() as flaw:
                        flaws.append(flaw)
                    case None:
                        pass
                    case node:
                        nodes.append(node)
    return LedgersView(ledgers, topics, tuple(nodes), racks, tuple(flaws))


def as_printed(ledger: LedgerMetadata) -> PrintedLedger:
    """A ledger as BookKeeper's shell prints it, the password aside."""
    ensemble, write, ack = ledger.quorums
    fields = {
        "formatVersion": str(ledger.origin.format_version),
        "ensembleSize": str(ensemble),
        "writeQuorumSize": str(write),
        "ackQuorumSize": str(ack),
        "state": ledger.state.name,
    }
    if ledger.is_closed:
        fields |= {"length": str(ledger.length_bytes), "lastEntryId": str(ledger.last_entry)}
    if ledger.origin.digest is not None:
        fields["digestType"] = ledger.origin.digest.name
    ensembles = {segment.first_entry: segment.bookies for segment in ledger.segments}
    return PrintedLedger(fields, ensembles, dict(ledger.origin.custom))


def _rows(place: StorePlace) -> Iterator[Found]:
    reader = source(place)
    for part in LedgerPart:
        wanted = ledger_paths(part)
        for share in reader.parts(wanted, 2):
            yield from collected(reader.read(wanted, share)).values()
