"""The named calls reach a simulated cluster: answers, refusals, silence, and calls that are sent on."""

from __future__ import annotations

from random import Random

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminUnreachable
from tests.migration.calls import SimulatedCalls
from tests.migration.plays import NAMESPACE, NamespacePlay, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import FaultyApi, RestFaults

pytestmark = pytest.mark.anyio
PLAIN = topic("plain")


async def test_calls_are_answered_and_take_time() -> None:
    play = NamespacePlay(0)
    calls, began = SimulatedCalls(AdminApi(play.blue)), play.timeline.now
    assert await calls.topics(NAMESPACE) == sorted(play.topics)
    assert (await calls.stats(PLAIN, precise=True) or {})["publishers"]
    assert await calls.topic_policy(PLAIN, "publishRate") is None
    assert await calls.stats(f"{PLAIN}-none") is None
    assert play.timeline.now > began


async def test_a_refusal_has_the_brokers_words() -> None:
    calls = SimulatedCalls(AdminApi(NamespacePlay(0).blue))
    with pytest.raises(AdminRefused, match="Namespace does not exist") as caught:
        await calls.mark_namespace("acme/none", migrated=True)
    assert caught.value.status == 404


async def test_a_call_to_the_wrong_broker_is_sent_on() -> None:
    play = NamespacePlay(0, brokers=2)
    calls = SimulatedCalls(AdminApi(play.blue))
    for broker in await calls.brokers("blue"):
        assert await calls.at(broker).stats(PLAIN) is not None


async def test_a_read_is_repeated_and_a_write_is_not() -> None:
    play = NamespacePlay(0)
    api = FaultyApi(play.blue, Random(0), RestFaults(silent_after=1.0))
    calls = SimulatedCalls(api)
    with pytest.raises(AdminUnreachable):
        await calls.set_topic_policy(PLAIN, "publishRate", {"publishThrottlingRateInByte": 40})
    assert len(api.calls) == 1
    with pytest.raises(AdminUnreachable):
        await calls.topic_policy(PLAIN, "publishRate")
    assert len(api.calls) == 6
    api.faults = RestFaults()
    assert (await calls.topic_policy(PLAIN, "publishRate"))["publishThrottlingRateInByte"] == 40
