"""Laws of collected topics: a delete is carried unasked only where no broker can have made it, or none can be asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.deletes.collected import BrokerCollection, CollectionTold, DeletedBy, Inactive, deleted_by

BROKERS = st.builds(BrokerCollection, deletes_declarations=st.booleans(), collects_topics=st.booleans())
TOLD = st.builds(
    CollectionTold,
    brokers=st.dictionaries(st.sampled_from(["b0", "b1", "b2"]), BROKERS),
    trouble=st.sampled_from(["", "a broker does not answer"]),
    refused=st.booleans(),
)
POLICIES = st.sampled_from([None, *Inactive])


@given(told=TOLD, policy=POLICIES)
def test_a_delete_is_an_operators_only_where_every_broker_has_said_so(
    told: CollectionTold, policy: Inactive | None
) -> None:
    by = deleted_by(told, policy)
    collecting = [each for each in told.brokers.values() if each.collects(policy)]
    assert (by is DeletedBy.BROKER) == bool(collecting)
    if by is DeletedBy.OPERATOR:
        assert not told.trouble
    if by is DeletedBy.UNKNOWN:
        assert told.trouble
        assert told.refused


@given(told=TOLD, policy=POLICIES, more=BROKERS)
def test_another_broker_never_takes_a_hold_away(
    told: CollectionTold, policy: Inactive | None, more: BrokerCollection
) -> None:
    joined = CollectionTold(brokers={**told.brokers, "b3": more}, trouble=told.trouble, refused=told.refused)
    if deleted_by(told, policy) is DeletedBy.BROKER:
        assert deleted_by(joined, policy) is DeletedBy.BROKER


@given(told=TOLD)
def test_a_namespace_that_keeps_its_topics_loses_none_to_a_broker(told: CollectionTold) -> None:
    assert deleted_by(told, Inactive.KEPT) is not DeletedBy.BROKER


@given(told=TOLD, policy=POLICIES)
def test_without_the_setting_nothing_is_held(told: CollectionTold, policy: Inactive | None) -> None:
    if not told.deleting:
        assert deleted_by(told, policy) is not DeletedBy.BROKER
