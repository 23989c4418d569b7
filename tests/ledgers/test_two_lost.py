"""Two of three bookies are lost: topics called not loadable are not loaded, all others are; what is safe is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from deploy.lab.brokers.cluster import BrokersCluster
from syncer.ledgers.judging.ledger import judge, lost_ranges
from syncer.ledgers.judging.recovery import RecoveryOutlook, recovery_outlook
from syncer.ledgers.losses.opening import NoOpening, may_open
from syncer.ledgers.metadata import LedgerMetadata, Quorums
from syncer.ledgers.placement.adherence import RackPolicy
from tests.ledgers.conftest import MakeCluster
from tests.ledgers.topics import close, entry, let_open_on_one, loaded, payload, write
from tests.ledgers.views import LedgersView, view

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class TwoLost:
    """A cluster that has lost two bookies: as it was read at once, and when all knew of it."""

    cluster: BrokersCluster
    found: LedgersView
    later: LedgersView
    lost: frozenset[str]

    def last(self, topic: str) -> LedgerMetadata:
        """A topic's last ledger."""
        return self.found.ledgers[self.found.topics[topic][-1]]

    def outlook(self, topic: str, now: LedgersView) -> RecoveryOutlook | None:
        """Whether a topic's last ledger can be recovered with the bookies of now."""
        return recovery_outlook(self.last(topic), self.lost, now.writable)


@pytest.fixture(scope="module")
def two_lost(make_cluster: MakeCluster) -> TwoLost:
    """The broker dies with open ledgers, then two bookies at once; a broker comes back, nothing is copied."""
    cluster = make_cluster(bookies=3, recovery=False)
    write(cluster, "closed")
    close(cluster, "closed")
    write(cluster, "open")
    for server in (*cluster.brokers, *cluster.bookies[1:]):
        server.kill()
    found = view(cluster.keeper)
    cluster.bring_back(*cluster.brokers)
    assert found.flaws == ()
    lost = frozenset(bookie.endpoint for bookie in cluster.bookies[1:])
    return TwoLost(cluster, found, view(cluster.keeper), lost)


def test_no_ledger_is_opened_on_more_bookies_than_are_left(two_lost: TwoLost) -> None:
    now = two_lost.later
    assert len(now.writable) == 1
    verdict = may_open(Quorums(3, 2, 2), now.writable, now.racks, RackPolicy())
    assert verdict.reason is NoOpening.TOO_FEW_BOOKIES
    assert may_open(Quorums(1, 1, 1), now.writable, now.racks, RackPolicy()).possible


def test_a_topic_is_loaded_if_and_only_if_it_is_called_loadable(two_lost: TwoLost) -> None:
    """Loadable is one whose last ledger is closed, or recovered for sure.

    One that is short of bookies is loaded when there is a further one; before, it is not: these ledgers have entries,
    and each entry is on all bookies of its ledger.
    """
    cluster = two_lost.cluster
    let_open_on_one(cluster, "closed", "open")
    topics = sorted(topic for topic in two_lost.found.topics if topic.startswith("audit/"))
    outlooks = {topic: two_lost.outlook(topic, two_lost.later) for topic in topics}
    short = {topic for topic in topics if outlooks[topic] is RecoveryOutlook.SHORT_OF_BOOKIES}
    assert {topic.split("/")[1] for topic in short} == {"open-two"}
    expected = {topic for topic in topics if outlooks[topic] in {None, RecoveryOutlook.SURE}}
    kinds = Counter((topic.split("/")[1], topic in expected) for topic in topics)
    assert kinds["open-three-of-two", False] == kinds["closed-three-of-two", True] > 0, kinds
    found = loaded(cluster, topics)
    assert found == expected, {topic: two_lost.last(topic) for topic in found ^ expected}
    cluster.add_bookie()
    now = view(cluster.keeper)
    assert {two_lost.outlook(topic, now) for topic in short} == {RecoveryOutlook.SURE}
    assert loaded(cluster, set(topics) - expected) == short


def test_each_entry_of_a_closed_ledger_is_read_that_is_called_safe_and_no_other(two_lost: TwoLost) -> None:
    let_open_on_one(two_lost.cluster, "closed", "open")
    closed = {name: ids for name, ids in two_lost.found.topics.items() if name.startswith("audit/closed-")}
    tally: Counter[bool] = Counter()
    for topic, (ledger_id, *_) in closed.items():
        ledger = two_lost.found.ledgers[ledger_id]
        assert ledger.last_entry is not None
        away = {each for first, last in lost_ranges(ledger, two_lost.lost) for each in range(first, last + 1)}
        assert len(away) == judge(ledger, two_lost.lost).lost_entries
        for number in range(ledger.last_entry + 1):
            found = entry(two_lost.cluster, topic, ledger_id, number)
            assert found == (None if number in away else payload(topic, number)), (topic, ledger, number)
            tally[number in away] += 1
    assert tally[True]
    assert tally[False]
