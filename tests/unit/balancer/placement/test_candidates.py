"""Each filter alone keeps whom Pulsar keeps, and says why the others go."""

from __future__ import annotations

from syncer.balancer.placement.candidates import (
    of_emptiest_domains,
    of_manager,
    with_few_topics,
    with_fewer_topics,
    with_fewest_bundles,
    with_fewest_of_group,
)
from syncer.balancer.placement.decision import BrokerTraits, DropReason, Filter, FilterAnswer, Spared

BROKERS = ("b1:8080", "b2:8080", "b3:8080", "b4:8080", "b5:8080", "b6:8080")
B1, B2, B3, B4, B5, B6 = BROKERS
GROUP = {B1: 2, B2: 1, B3: 2, B4: 1, B5: 2, B6: 2}
DOMAINS = {B1: "d1", B2: "d1", B3: "d2", B4: "d2", B5: "d3", B6: "d3"}


def test_brokers_with_too_many_topics_go() -> None:
    step = with_few_topics((B1, B2, B3), {B1: 51, B2: 50}, 50)
    assert step == FilterAnswer(filter=Filter.TOPICS, left=(B2, B3), dropped={B1: DropReason.TOO_MANY_TOPICS})


def test_brokers_with_too_many_topics_stay_where_all_have_too_many() -> None:
    step = with_few_topics((B1, B2), {B1: 51, B2: 52}, 50)
    assert step == FilterAnswer(filter=Filter.TOPICS, left=(B1, B2), spared=Spared.NONE_LEFT)
    assert with_few_topics((), {}, 50) == FilterAnswer(filter=Filter.TOPICS, left=())


def test_the_extensible_manager_drops_at_the_bound_and_spares_nobody() -> None:
    assert with_fewer_topics((B1, B2), {B1: 50, B2: 49}, 50).left == (B2,)
    assert with_fewer_topics((B1,), {B1: 50}, 50).left == ()


def test_brokers_with_more_bundles_of_the_namespace_go() -> None:
    step = with_fewest_bundles((B1, B2, B3), {B1: 1, B2: 2, B3: 1})
    assert (step.left, step.dropped) == ((B1, B3), {B2: DropReason.MORE_BUNDLES})
    assert with_fewest_bundles((B1, B2), {B1: 1}).left == (B2,)
    assert with_fewest_bundles((), {}).left == ()


def test_domains_with_more_of_the_group_go_and_in_the_others_brokers_with_more() -> None:
    domains = of_emptiest_domains(BROKERS, GROUP, DOMAINS)
    assert domains.left == (B1, B2, B3, B4)
    assert domains.dropped == {B5: DropReason.FULLER_DOMAIN, B6: DropReason.FULLER_DOMAIN}
    brokers = with_fewest_of_group(domains.left, GROUP)
    assert brokers.left == (B2, B4)
    assert brokers.dropped == {B1: DropReason.FULLER_BROKER, B3: DropReason.FULLER_BROKER}


def test_a_domain_counts_by_its_candidates_alone() -> None:
    assert of_emptiest_domains((B2, B5, B6), GROUP, DOMAINS).left == (B2,)
    assert of_emptiest_domains((B2, B5), {B2: 1, B5: 0, B6: 9}, DOMAINS).left == (B5,)


def test_brokers_without_a_domain_share_one() -> None:
    assert of_emptiest_domains((B1, B2, B3), {B1: 1, B3: 1}, {B3: "d2"}).left == (B1, B2, B3)
    assert of_emptiest_domains((B1, B2, B3), {B1: 1, B2: 1, B3: 1}, {B3: "d2"}).left == (B3,)


def test_without_domains_none_of_them_is_fuller() -> None:
    assert of_emptiest_domains(BROKERS, GROUP, {}).left == BROKERS


def test_a_broker_without_any_of_the_group_is_first() -> None:
    assert with_fewest_of_group((B1, B2, B3), {B1: 1, B2: 2}).left == (B3,)
    assert with_fewest_of_group((B1, B2, B3), {B1: 2, B2: 1, B3: 1}).left == (B2, B3)
    assert with_fewest_of_group((), {}).left == ()


def test_brokers_of_another_manager_go_and_those_of_old_versions_that_name_none() -> None:
    traits = {B1: BrokerTraits(manager="Modular"), B2: BrokerTraits(manager="Extensible"), B3: BrokerTraits()}
    step = of_manager((B1, B2, B3, B4), traits, "Modular")
    assert step.left == (B1, B4)
    assert step.dropped == {B2: DropReason.OTHER_MANAGER, B3: DropReason.OTHER_MANAGER}
