"""One of three bookies is lost: what the core reads, marks and judges is what BookKeeper prints, marks and reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pytest
from kazoo.client import KazooClient

from deploy.lab.brokers.bookie import Bookie
from deploy.lab.brokers.bookie_shell import PrintedLedger
from deploy.lab.brokers.cluster import BrokersCluster
from syncer.ledgers.judging.ledger import LedgerJudgement, ReplicaClass, judge, lost_ranges
from syncer.ledgers.nodes import AuditorPlace
from syncer.waiting import wait_until
from tests.ledgers.conftest import MakeCluster
from tests.ledgers.topics import close, entry, let_open_on_one, payload, write
from tests.ledgers.views import LedgersView, as_printed, view

pytestmark = pytest.mark.real("pulsar", "zookeeper")

TRIES: Final = 5
FENCING: Final = re.compile(r"bookkeeper_server_READ_ENTRY_FENCE_\w+_count")
AUDITED: Final = re.compile(r"Slf4jAuditLogger - session=(0x[0-9a-f]+)")
SESSION: Final = re.compile(r"sid=(0x[0-9a-f]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePicture:
    """A cluster all of whose bookies are up: read by the core, by the shell, and by the core once more.

    ``known`` are ZooKeeper's sessions from before the first read; ``fenced`` the fencing reads that bookies have
    answered, before and after it; ``writers`` the sessions that wrote something during it, ``control`` those that did
    while somebody else wrote.
    """

    before: LedgersView
    after: LedgersView
    ids: list[int]
    printed: Mapping[int, PrintedLedger]
    first: PrintedLedger
    auditor: str | None
    known: frozenset[str]
    fenced: tuple[float, float]
    writers: frozenset[str]
    control: frozenset[str]


@pytest.fixture(scope="module")
def cluster(make_cluster: MakeCluster) -> BrokersCluster:
    """Three bookies that run auto-recovery; topics that are closed, and topics that are open."""
    made = make_cluster(bookies=3, recovery=True)
    made.set_rack(made.bookies[0], "/east")
    write(made, "closed")
    close(made, "closed")
    write(made, "open")
    return made


@pytest.fixture(scope="module")
def whole(cluster: BrokersCluster) -> WholePicture:
    """Before a bookie is lost."""
    known = frozenset(SESSION.findall(cluster.store.ask("cons")))
    fenced, written = fencing(cluster), len(audited(cluster))
    before = view(cluster.keeper)
    fenced_then, writers = fencing(cluster), frozenset(audited(cluster)[written:])
    shell = cluster.shell()
    ids, printed, first = shell.ids(), shell.ledgers(), shell.ledger(min(before.ledgers))
    auditor, after = shell.auditor(), view(cluster.keeper)
    written = len(audited(cluster))
    stranger = KazooClient(hosts=cluster.store.hosts)
    stranger.start()
    stranger.create("/somebody", b"")
    stranger.stop()
    stranger.close()
    return WholePicture(
        before=before,
        after=after,
        ids=ids,
        printed=printed,
        first=first,
        auditor=auditor,
        known=known,
        fenced=(fenced, fenced_then),
        writers=writers,
        control=frozenset(audited(cluster)[written:]),
    )


@pytest.fixture(scope="module")
def lost(cluster: BrokersCluster, whole: WholePicture) -> Bookie:
    """A bookie that has been killed: one that has the only copy of some ledgers, and one of two copies of others."""
    assert whole.before.flaws == whole.after.flaws == ()

    def variety(bookie: Bookie) -> int:
        closed = [each for each in whole.before.ledgers.values() if each.is_closed]
        counts = Counter(each.quorums.ensemble for each in closed if bookie.endpoint in each.bookies())
        return min(counts[1], counts[2])

    bookie = max(cluster.bookies, key=variety)
    bookie.kill()
    return bookie


@pytest.fixture(scope="module")
def marked(cluster: BrokersCluster, lost: Bookie) -> LedgersView:
    """All ledgers that name the lost bookie are marked, and no others; what could be copied was."""
    found: list[LedgersView] = []

    def settled() -> bool:
        found[:] = [view(cluster.keeper)]
        named = found[0].named(lost.endpoint)
        ledgers = [found[0].ledgers[ledger_id] for ledger_id in named]
        waiting = [each for each in ledgers if each.is_closed and each.quorums.ensemble == 2]
        return set(found[0].marks) == named != set() and not waiting

    wait_until(
        settled,
        "the ledgers of the lost bookie are marked, and no others",
        shown=lambda: (found[0].marks.keys() ^ found[0].named(lost.endpoint), found[0].ledgers),
    )
    return found[0]


def fencing(cluster: BrokersCluster) -> float:
    """Fencing reads that bookies have answered."""
    figures = [pair for bookie in cluster.bookies for pair in bookie.figures().items()]
    counts = [value for name, value in figures if FENCING.match(name)]
    assert len(counts) >= len(cluster.bookies)
    return sum(counts)


def audited(cluster: BrokersCluster) -> list[str]:
    """Sessions of all writes that ZooKeeper has noted, in their order."""
    return AUDITED.findall(cluster.store.process.log_file.read_text())


def test_every_ledger_is_decoded_as_bookkeeper_prints_it(whole: WholePicture) -> None:
    ledgers = whole.before.ledgers
    assert ledgers == whole.after.ledgers
    assert {ledger.state.name for ledger in ledgers.values()} == {"OPEN", "CLOSED"}
    assert sorted(ledgers) == sorted(whole.ids) == sorted(whole.printed)
    for ledger_id, ledger in ledgers.items():
        ours, theirs = as_printed(ledger), whole.printed[ledger_id]
        assert (ours.ensembles, ours.custom) == (theirs.ensembles, theirs.custom)
        assert {**ours.fields, "password": "base64:"} == theirs.fields
    assert whole.first == whole.printed[min(ledgers)]


def test_the_auditor_and_the_racks_are_those_of_the_cluster(whole: WholePicture, cluster: BrokersCluster) -> None:
    (leader,) = whole.before.auditors
    assert (leader.bookie, leader.place) == (whole.auditor, AuditorPlace.PULSAR)
    assert whole.before.writable == {bookie.endpoint for bookie in cluster.bookies}
    assert whole.before.racks.racks == {cluster.bookies[0].endpoint: "/east"}


def test_reading_writes_nothing_and_fences_nobody(whole: WholePicture) -> None:
    assert whole.writers <= whole.known
    assert whole.control - whole.known, "a write by a session that was not there is noted"
    assert whole.fenced[0] == whole.fenced[1]


def test_what_names_the_lost_bookie_is_what_the_auditor_marks(
    marked: LedgersView, lost: Bookie, cluster: BrokersCluster
) -> None:
    assert marked.marks
    found = view(cluster.keeper)
    for _ in range(TRIES):  # meanwhile a worker may come to the end of a ledger
        before, told, found = found, cluster.shell().under_replicated(), view(cluster.keeper)
        if (before.marks, before.ledgers) == (found.marks, found.ledgers):
            break
    assert told == found.marks
    assert all(bookies == (lost.endpoint,) for bookies in told.values())
    assert set(told) == {each.ledger_id for each in judged(found, lost) if each.named}


def test_what_has_two_copies_is_copied_and_what_has_one_or_no_free_bookie_stays(
    marked: LedgersView, whole: WholePicture, lost: Bookie
) -> None:
    before = {each.ledger_id: each for each in judged(whole.before, lost)}
    copied = {ledger_id for ledger_id, each in before.items() if each.named} - set(marked.marks)
    assert copied
    assert all(marked.ledgers[ledger_id].quorums.ensemble == 2 for ledger_id in copied)
    stays = [before[ledger_id] for ledger_id in marked.marks if marked.ledgers[ledger_id].is_closed]
    assert any(each.is_single_copy and each.replica_class is ReplicaClass.NO_REPLICA for each in stays)
    assert all(each.is_single_copy or marked.ledgers[each.ledger_id].quorums.ensemble == 3 for each in stays)


def test_each_entry_is_read_that_is_called_safe_and_no_other(
    marked: LedgersView, lost: Bookie, cluster: BrokersCluster
) -> None:
    let_open_on_one(cluster, "closed")
    closed = {name: ids for name, ids in marked.topics.items() if name.startswith("audit/closed-")}
    tally: Counter[bool] = Counter()
    for topic, (ledger_id, *_) in closed.items():
        ledger = marked.ledgers[ledger_id]
        assert ledger.last_entry is not None
        away = {each for first, last in lost_ranges(ledger, {lost.endpoint}) for each in range(first, last + 1)}
        assert len(away) == judge(ledger, {lost.endpoint}).lost_entries
        for number in range(ledger.last_entry + 1):
            found = entry(cluster, topic, ledger_id, number)
            assert found == (None if number in away else payload(topic, number)), (topic, ledger, number)
            tally[number in away] += 1
    assert tally[True]
    assert tally[False]


def judged(found: LedgersView, lost: Bookie) -> list[LedgerJudgement]:
    """All ledgers as the loss leaves them."""
    return [judge(ledger, {lost.endpoint}) for ledger in found.ledgers.values()]
