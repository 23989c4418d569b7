"""A topic is read as far as it can be: what a broker refuses to tell is told apart from what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.evidence import StatsAnswer, TopicSeen
from syncer.migration.reading.topics import read_clients, read_flow, read_topic
from tests.unit.migration.reading.samples import INTERNAL_INFO, INTERNAL_STATS, STATS, TOPIC
from tests.unit.migration.reading.scripted import ScriptedCalls, refused

pytestmark = pytest.mark.anyio
PATH = "/admin/v2/persistent/acme/orders/created"
WHOLE = {
    f"{PATH}/stats": STATS,
    f"{PATH}/internalStats": INTERNAL_STATS,
    f"{PATH}/internal-info": INTERNAL_INFO,
    f"{PATH}/partitions": {"partitions": 0},
}
MIGRATED = refused(500, f"--- An unexpected error occurred ---\n\nMessage: {TOPIC} already migrated\n\nStacktrace:")


async def read(changes: dict[str, Any], *, load: bool = True) -> TopicSeen:
    return await read_topic(ScriptedCalls({**WHOLE, **changes}), TOPIC, load=load)


async def test_a_loaded_topic_is_read_whole() -> None:
    seen = await read({})
    assert seen.answer is StatsAnswer.LOADED
    assert seen.ledger is not None
    assert seen.ledger.terminated == "7:8"
    assert seen.flow is not None
    assert seen.flow.last == "7:8"
    assert seen.subscription_names == {"audit"}


async def test_what_is_not_to_be_loaded_is_not_asked_for_statistics() -> None:
    calls = ScriptedCalls(WHOLE)
    seen = await read_topic(calls, TOPIC, load=False)
    assert calls.asked == [f"{PATH}/internal-info"]
    assert seen.answer is StatsAnswer.UNASKED
    assert seen.subscription_names == {"audit", "a/b c", "kept-apart", "new"}


async def test_backlogs_are_counted_and_the_store_is_read_last() -> None:
    calls = ScriptedCalls(WHOLE)
    await read_topic(calls, TOPIC, load=True)
    assert calls.asked == [f"{PATH}/stats?getPreciseBacklog=true", f"{PATH}/internalStats", f"{PATH}/internal-info"]


@pytest.mark.parametrize(("state", "asked"), [("LedgerOpened", 2), ("Terminated", 3), ("ClosedLedger", 3)])
async def test_the_store_need_not_be_asked_where_the_ledger_is_open(state: str, asked: int) -> None:
    calls = ScriptedCalls({**WHOLE, f"{PATH}/internalStats": {**INTERNAL_STATS, "state": state}})
    seen = await read_topic(calls, TOPIC, load=True, whole=False)
    assert len(calls.asked) == asked
    assert seen.ledger is not None
    assert (seen.ledger.terminated is None) is (state == "LedgerOpened")
    assert seen.answer is StatsAnswer.LOADED


@pytest.mark.parametrize(
    ("stats", "answer"),
    [
        (MIGRATED, StatsAnswer.MIGRATED),
        (refused(500, "HTTP 500 Internal Server Error"), StatsAnswer.FAILED),
        (refused(503), StatsAnswer.FAILED),
        (refused(404, "Topic not found"), StatsAnswer.ABSENT),
    ],
)
async def test_a_broker_that_does_not_tell_says_why(stats: AdminRefused, answer: StatsAnswer) -> None:
    seen = await read({f"{PATH}/stats": stats})
    assert seen.answer is answer
    assert seen.flow is None
    assert seen.ledger is not None


@pytest.mark.parametrize("internal", [refused(500), refused(404)])
async def test_counters_may_be_unknown(internal: AdminRefused) -> None:
    seen = await read({f"{PATH}/internalStats": internal})
    assert seen.answer is StatsAnswer.LOADED
    assert seen.flow is None


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("info", [refused(404), refused(500)])
async def test_a_topic_that_is_not_stored_is_gone_whatever_the_broker_calls_it(info: AdminRefused, load: bool) -> None:
    seen = await read({f"{PATH}/internal-info": info, f"{PATH}/partitions": refused(404)}, load=load)
    assert seen.ledger is None
    assert seen.answer is (StatsAnswer.ABSENT if load else StatsAnswer.UNASKED)


@pytest.mark.parametrize(
    "changes",
    [
        {f"{PATH}/internal-info": refused(500)},
        {f"{PATH}/internal-info": refused(503), f"{PATH}/partitions": refused(404)},
        {f"{PATH}/stats": refused(401)},
        {f"{PATH}/stats": refused(403)},
        {f"{PATH}/internalStats": refused(403)},
    ],
)
async def test_refusals_come_through(changes: dict[str, Any]) -> None:
    with pytest.raises(AdminRefused):
        await read(changes)


async def test_who_is_connected_is_told_by_statistics_alone() -> None:
    calls = ScriptedCalls(WHOLE)
    seen, whole = await read_clients(calls, TOPIC), await read({})
    assert calls.asked == [f"{PATH}/stats?getPreciseBacklog=true"]
    assert seen.answer is StatsAnswer.LOADED
    assert (seen.producers, seen.subscriptions) == (whole.producers, whole.subscriptions)
    assert seen.flow is None


@pytest.mark.parametrize(("stats", "answer"), [(MIGRATED, StatsAnswer.MIGRATED), (refused(404), StatsAnswer.ABSENT)])
async def test_nobody_is_connected_where_no_broker_tells(stats: AdminRefused, answer: StatsAnswer) -> None:
    seen = await read_clients(ScriptedCalls({**WHOLE, f"{PATH}/stats": stats}), TOPIC)
    assert (seen.answer, seen.producers, seen.subscriptions) == (answer, (), {})


async def test_counters_are_told_by_one_call() -> None:
    calls = ScriptedCalls(WHOLE)
    assert await read_flow(calls, TOPIC) == (await read({})).flow
    assert calls.asked == [f"{PATH}/internalStats"]
    assert await read_flow(ScriptedCalls({f"{PATH}/internalStats": MIGRATED}), TOPIC) is None


async def test_silence_comes_through() -> None:
    with pytest.raises(AdminUnreachable):
        await read({f"{PATH}/stats": AdminUnreachable("no answer")})


async def test_a_page_is_an_error_that_names_the_topic() -> None:
    with pytest.raises(AdminError, match=r"stats of persistent://acme/orders/created: .*'subscriptions'"):
        await read({f"{PATH}/stats": {}})
