"""Racks are configured after ledgers were written: what is said to adhere is what BookKeeper's own auditor counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import Replication
from syncer.config import Config, load
from syncer.inspection.ledgers.reading import LedgersWish, read_ledgers
from syncer.ledgers.auditing.explaining import explain_ledger
from syncer.ledgers.auditing.spreading import LedgersSpread, ledgers_spread
from syncer.waiting import wait_until
from tests.ledgers.conftest import MakeCluster
from tests.ledgers.topics import Ways, close, write

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]

CHECKS: Final = {
    "auditorPeriodicPlacementPolicyCheckInterval": "10",
    "reppDnsResolverClass": "org.apache.pulsar.bookie.rackawareness.BookieRackAffinityMapping",
}
COUNTED: Final = "NUM_LEDGERS_NOT_ADHERING_TO_PLACEMENT_POLICY"
WAYS: Final[Ways] = {"two": (Replication(2, 2, 2), 10), "three": (Replication(3, 2, 2), 2)}


@pytest.fixture(scope="module")
def cluster(make_cluster: MakeCluster) -> BrokersCluster:
    """Three bookies, of which one audits how ledgers are placed; all topics are closed, and no bookie has a rack."""
    found = make_cluster(bookies=3, recovery=True, hosts=True, further=CHECKS)
    write(found, "placed", WAYS)
    close(found, "placed", WAYS)
    return found


@pytest.fixture
def config(cluster: BrokersCluster, tmp_path: Path) -> Config:
    """A region beside it."""
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n'
        f'[cluster.lab]\nservice_url = "{cluster.admin_url}"\nbroker_service_url = "{cluster.service_url}"\n'
        f'[cluster.lab.admin]\nurl = "{cluster.admin_url}"\n'
        f'[cluster.lab.store]\nkind = "zookeeper"\nhosts = "{cluster.store.hosts}"\n',
        encoding="utf-8",
    )
    return load(file)


def place(cluster: BrokersCluster, racks: Mapping[int, str]) -> None:
    """Give bookies their racks, as 'pulsar-admin bookies set-bookie-rack' does."""
    for number, rack in racks.items():
        bookie = cluster.bookies[number].endpoint
        url = f"{cluster.admin_url}/admin/v2/bookies/racks-info/{bookie}?group=default"
        rest.send("POST", url, {"rack": rack, "hostname": bookie})


def counted(cluster: BrokersCluster) -> float:
    """Ledgers that the auditor has counted; there is one auditor."""
    figures = [each.figures() for each in cluster.bookies]
    return sum(value for each in figures for name, value in each.items() if COUNTED in name)


def test_what_is_counted_is_what_the_auditor_counts_and_each_segment_tells_it(
    cluster: BrokersCluster, config: Config
) -> None:
    wish = LedgersWish(table="lab")
    assert ledgers_spread(read_ledgers(config, wish)) is None, "nobody configured a rack"
    found: list[LedgersSpread] = []
    for racks in ({0: "/r1", 1: "/r1", 2: "/r2"}, {1: "/r2"}, {0: "/r2"}):
        place(cluster, racks)

        def agreed() -> bool:
            spread = ledgers_spread(read_ledgers(config, wish))
            if spread is None or spread.counted != counted(cluster):
                return False
            found.append(spread)
            return True

        wait_until(agreed, "both count the same", shown=lambda: counted(cluster))
    first, second, last = found[-3:]
    assert len({first.not_spread, second.not_spread, last.not_spread}) == 3
    assert 0 < len(first.not_spread) < first.ledgers
    assert (last.counted, len(last.not_spread)) == (last.closed, last.ledgers), "all bookies are in one rack"

    place(cluster, {0: "/r1", 1: "/r1", 2: "/r2"})
    picture = read_ledgers(config, wish)
    alone = cluster.bookies[2].endpoint
    for ledger in picture.ledgers.values():
        for segment in explain_ledger(picture, ledger).segments:
            there = {each.bookie: each.rack for each in segment.bookies}
            assert segment.spread is (alone in there and len(there) == 2)
            assert set(there.values()) <= {"/r1", "/r2"}
