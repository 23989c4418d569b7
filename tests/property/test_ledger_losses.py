"""What is said of sets of bookies is what judging each ledger for each set says."""

from __future__ import annotations

import random
from itertools import combinations, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.losses.copysets import BookieBits, Copysets, blocking_sets, losing_sets
from syncer.ledgers.losses.decommission import BlockedBy, ClusterBookies, decommission
from syncer.ledgers.losses.impact import loss_impact
from syncer.ledgers.losses.odds import loss_odds
from syncer.ledgers.losses.opening import may_open
from syncer.ledgers.losses.tally import LossTally
from syncer.ledgers.metadata import LedgerMetadata, Quorums
from syncer.ledgers.placement.adherence import RackPolicy, adheres_as_configured
from syncer.ledgers.placement.racks import RackMap
from tests.property.ledgers import ledgers, quorums

BOOKIES = [f"bk-{number}:3181" for number in range(7)]
LOST = st.sets(st.sampled_from(BOOKIES)).map(frozenset)
CLUSTER = st.lists(ledgers(), max_size=4).map(
    lambda some: [ledger._replace(ledger_id=number) for number, ledger in enumerate(some)]
)


@settings(max_examples=300)
@given(ledgers(), LOST)
def test_a_loss_harms_a_ledger_if_it_holds_one_of_its_sets(ledger: LedgerMetadata, lost: frozenset[str]) -> None:
    bits = BookieBits(BOOKIES)
    whole = bits.bits(sorted(lost))
    found = judge(ledger, lost)
    losing, blocking = losing_sets(ledger, bits), blocking_sets(ledger, bits)
    assert losing is not None
    assert blocking is not None
    assert any(whole & each == each for each in losing) == (found.lost_entries > 0)
    assert any(whole & each == each for each in blocking) == (found.recoverable is False)


@given(CLUSTER, st.integers(1, 4))
def test_the_tally_is_that_of_every_set(cluster: list[LedgerMetadata], size: int) -> None:
    tally = LossTally(BOOKIES, size)
    for ledger in cluster:
        tally.add(ledger)
    found = {each.bookies: each for each in tally.worst(1_000)}
    for lost in combinations(BOOKIES, size):
        impact = loss_impact(cluster, frozenset(lost))
        each = found.pop(lost, None)
        counted = (0, 0) if each is None else (each.lost_ledgers, each.blocked_ledgers)
        assert counted == (len(impact.lost_ledgers), len(impact.blocked_ledgers))
    assert found == {}
    harm = [each.lost_ledgers + each.blocked_ledgers for each in tally.worst(1_000)]
    assert harm == sorted(harm, reverse=True)
    assert len(harm) == tally.harmful_sets


@given(CLUSTER, st.integers(1, 4))
def test_odds_are_the_share_of_sets_that_harm(cluster: list[LedgerMetadata], size: int) -> None:
    copysets = Copysets(BookieBits(BOOKIES))
    for ledger in cluster:
        copysets.add(ledger)
    odds = loss_odds(copysets.losing.keys() | copysets.blocking.keys(), copysets.bits.values(), size, lambda _: 0)
    harmful = 0
    for lost in combinations(BOOKIES, size):
        impact = loss_impact(cluster, frozenset(lost))
        harmful += bool(impact.lost_ledgers or impact.blocked_ledgers)
    assert odds.exact
    assert odds.harmful == harmful
    assert odds.probability == harmful / odds.tried


def test_odds_that_are_drawn_come_near_those_that_are_reckoned() -> None:
    bits = [1 << number for number in range(60)]
    pairs = {bits[number] | bits[number + 1] for number in range(0, 60, 2)}
    odds = loss_odds(pairs, bits, 5, random.Random(7).randrange)
    none = 1.0
    for taken in range(5):
        none *= (60 - 2 * taken) / (60 - taken)
    assert not odds.exact
    assert abs(odds.probability - (1 - none)) < 0.015


@given(CLUSTER, LOST.filter(bool))
def test_what_leaves_is_what_names_the_bookie_and_what_cannot_is_what_its_loss_harms(
    cluster: list[LedgerMetadata], leaving: frozenset[str]
) -> None:
    everybody = frozenset(BOOKIES) | {f"spare-{number}" for number in range(7)}
    plan = decommission(cluster, sorted(leaving), ClusterBookies(readable=everybody, writable=everybody))
    naming = [ledger for ledger in cluster if ledger.bookies() & leaving]
    harmed = [ledger for ledger in naming if judge(ledger, leaving).is_harmed]
    assert plan.ledgers == len(naming)
    assert plan.blocked.total() == len(harmed)
    assert set(plan.blocked) <= {BlockedBy.NOTHING_TO_COPY_FROM, BlockedBy.NOT_RECOVERABLE}
    assert plan.ends == (not harmed)


@settings(max_examples=60)
@given(quorums(4), st.lists(st.sampled_from(["/1", "/2", "/3"]), max_size=6))
def test_a_ledger_can_be_opened_where_some_ensemble_adheres(sizes: Quorums, places: list[str]) -> None:
    racks = RackMap({f"bk-{number}": rack for number, rack in enumerate(places)})
    policy = RackPolicy(enforced=True)
    wanted = any(
        adheres_as_configured(ensemble, sizes.write, racks, policy)
        for ensemble in permutations(racks.racks, sizes.ensemble)
    )
    assert may_open(sizes, racks.racks.keys(), racks, policy).possible == wanted
