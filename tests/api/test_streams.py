"""Streams of a region: what is told and to whom, resumed exactly, gaps said, bounds kept, each end with a code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import pytest
import structlog
from fastapi import FastAPI
from sqlalchemy import create_engine, text

from api.admission import Admission
from api.app import create_app
from api.streams import log_hub
from api.streams.hub import StreamPace
from api.streams.places import KINDS, Streams
from syncer.access import token_file, tokens
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.config.model import Config
from syncer.conflict.acts import Decision, Journal
from syncer.errors import StateUnavailable
from syncer.metrics import streams as stream_metrics
from syncer.model import MetaPath, Millis
from syncer.state.contract.jobs import JobEnd, JobKind, JobRow, JobState
from syncer.state.contract.operations import OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, until
from tests.api.test_app import STATUS, Daemon
from tests.property.strategies import NOW
from tests.support.api_tokens import made
from tests.support.event_streams import SentEvent, Stream, following
from tests.support.jobs import ended, succeeded
from tests.support.loop_clock import LoopClock
from tests.unit.registers import at

API: Final = "/api/v1/streams"
PACE: Final = StreamPace(look_s=0.01, heartbeat_s=0.05, recheck_s=0.02, write_s=WAIT_S)
UNREADABLE: Final = (
    *("x", "-1", "1.5", "1;2", "4f0c21aa-", "1.p9", f"{2**63}", "9" * 25, "5.p1-9999999", "5.p4-2", "é", "1" * 1_001),
)
PATH: Final = MetaPath("/admin/policies/quiet")

Found = TypeVar("Found")


@dataclass
class Looked:
    """The region, looked into without threads; it counts, and fails if told to."""

    config: Config
    views: Views
    count: int = 0
    failed: int = 0
    failure: StateUnavailable | None = None

    async def look(self, question: Callable[[Views], Found]) -> Found:
        self.count += 1
        await anyio.lowlevel.checkpoint()
        if self.failure is not None:
            self.failed += 1
            raise self.failure
        return question(self.views)


@dataclass
class Changing(Daemon):
    """A daemon whose status the test changes."""

    status_now: Any = STATUS

    async def status(self) -> Any:
        return self.status_now.model_dump()


@dataclass
class Followed:
    """The region's streams."""

    app: FastAPI
    places: Streams
    inside: Looked
    state: SqlState
    views: Views
    daemon: Changing
    token: str
    file: Path
    now: list[timedelta] = field(default_factory=lambda: [timedelta()])

    def follow(self, kind: str, **options: Any) -> Any:
        """Follow one, with a good token."""
        return following(self.app, f"{API}/{kind}", **{"token": self.token, **options})

    def decide(self, count: int = 1) -> None:
        """The daemon decides something."""
        rows = [Journal(path=PATH, decision=Decision.PUBLISHED, stamp=at(each)) for each in range(count)]
        with self.state.transaction() as tx:
            tx.journal(rows, Millis(NOW))

    def ask(self) -> int:
        return self.views.ask("pause", {}, "ann", "why")

    def answer(self, number: int) -> None:
        with self.state.transaction() as tx:
            tx.finish_operation(number, OperationState.DONE, "paused", "", Millis(NOW))

    def prune(self, through: int, table: str = "journal") -> None:
        """Old rows go."""
        engine = create_engine(self.views._url)
        with engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {table} WHERE id <= {through}"))
        engine.dispose()


@pytest.fixture
async def region(config: Config, state: SqlState, views: Views, tmp_path: Path) -> AsyncIterator[Followed]:
    inside, daemon, places = Looked(config, views), Changing(), Streams(most=8, most_of_one=3, pace=PACE)
    now = [timedelta()]
    file = tmp_path / "tokens.json"
    token = made(file, "reader")
    admission = Admission(
        gate=Gate(RightsReader(file, clock_s=_ticking())),
        exposure=Exposure(),
        clock=lambda: datetime.now(UTC) + now[0],
    )
    app = create_app(daemon, inside=inside, admitting=admission, places=places)
    with structlog.testing.capture_logs():
        yield Followed(app, places, inside, state, views, daemon, token, file, now)
    assert places.open == dict.fromkeys(KINDS, 0), "each place is free again"


def _ticking() -> Callable[[], float]:
    """A clock that is a second further whenever it is looked at: the file is read each time."""
    seconds = 0.0

    def clock() -> float:
        nonlocal seconds
        seconds += 2
        return seconds

    return clock


def numbers(events: list[SentEvent]) -> list[int]:
    return [each.data["id"] for each in events]


async def test_events_are_the_items_of_their_list_and_resume_goes_on_exactly_behind(region: Followed) -> None:
    async with region.follow("events") as stream:
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert stream.headers["cache-control"] == "no-store"
        region.decide(5)
        told = await stream.some(5)
    assert numbers(told) == [4, 5, 6, 7, 8], "what was before is not told"
    assert {each.type for each in told} == {"event"}
    async with region.follow("events", last_id=told[1].id) as stream:
        region.decide(2)
        again = await stream.some(5)
    assert again[:3] == told[2:], "the same documents, with the same ids"
    assert numbers(again) == [6, 7, 8, 9, 10]
    listed = [row.id for row in region.views.journal_after(3, 100)]
    assert listed == [4, 5, 6, 7, 8, 9, 10]


async def test_a_stream_that_told_nothing_has_an_id_to_resume_from(region: Followed) -> None:
    async with region.follow("events") as stream:
        await until(lambda: stream.parser.last_id, "an id has come")
        assert stream.parser.retry_ms
    region.decide()
    async with region.follow("events", last_id=stream.parser.last_id) as stream:
        assert numbers([await stream.next()]) == [4]


async def test_a_list_is_followed_from_where_it_ends(region: Followed) -> None:
    async with region.follow("events", query="after=1") as stream:
        assert numbers(await stream.some(2)) == [2, 3]
    async with region.follow("events", query="after=1", last_id="2") as stream:
        assert numbers([await stream.next()]) == [3], "a client that connects again has a newer place"


async def test_an_operation_is_told_when_it_is_asked_for_and_when_it_is_answered(region: Followed) -> None:
    first = region.ask()
    async with region.follow("operations") as stream:
        second = region.ask()
        asked = await stream.next()
        region.answer(first)
        answered = await stream.next()
    assert (asked.type, asked.data["id"], asked.data["state"]) == ("operation", second, "pending")
    assert (answered.data["id"], answered.data["state"], answered.data["answer"]) == (first, "done", "paused")
    region.answer(second)
    third = region.ask()
    async with region.follow("operations", last_id=answered.id) as stream:
        late = await stream.some(2)
    assert [(each.data["id"], each.data["state"]) for each in late] == [(second, "done"), (third, "pending")]
    async with region.follow("operations", last_id=late[-1].id) as stream:
        region.answer(third)
        assert (await stream.next()).data["state"] == "done"
        assert stream.waiting() == 0


async def test_a_job_is_told_in_each_of_its_states(region: Followed) -> None:
    wish = JobRow(id=0, kind=JobKind.TAKE, arguments={}, asked_by="ann", reason="why", asked_at_ms=Millis(NOW))
    async with region.follow("jobs") as stream:
        with region.state.transaction() as tx:
            number = tx.ask_job(wish)
        states = [await stream.next()]
        with region.state.transaction() as tx:
            assert tx.begin_job(number, "host", "run", Millis(NOW))
        states.append(await stream.next())
        with region.state.transaction() as tx:
            assert tx.ask_end_of_job(number, "bob")
        states.append(await stream.next())
        with region.state.transaction() as tx:
            assert tx.end_job(number, "run", JobEnd(state=JobState.CANCELLED, at_ms=Millis(NOW)))
        states.append(await stream.next())
    assert [(each.type, each.data["state"], each.data["cancel_asked_by"]) for each in states] == [
        ("job", "queued", ""),
        ("job", "running", ""),
        ("job", "running", "bob"),
        ("job", "cancelled", "bob"),
    ]
    async with region.follow("jobs", last_id=states[1].id) as stream:
        assert (await stream.next()).data["state"] == "cancelled"


async def test_of_a_job_neither_places_of_the_host_nor_values_are_told_to_whoever_may_read(region: Followed) -> None:
    field_of_it = {"pointer": "/a", "local": False, "values": {"here": "SECRET-1", "there": None}}
    found = {"path": "/p", "place": "/secret/page", "fields": [field_of_it]}
    output = {"different": 1, "plan": {"file": "/secret/plan", "paths": 1}, "items": [found]}
    wrong = JobEnd(state=JobState.FAILED, at_ms=Millis(NOW), detail=f"{region.inside.config.state.path} is read-only")
    async with region.follow("jobs") as stream:
        ended(region.state, JobKind.DIFF, succeeded(output))
        ended(region.state, JobKind.DIFF, wrong)
        told = [(each.data["state"], each.data["detail"]) for each in await stream.some(2)]
    assert told == [("succeeded", ""), ("failed", "… is read-only")]
    assert [each for each in (b"SECRET-1", b"/secret") if each in stream.text] == []


async def test_the_status_is_told_at_once_and_when_more_than_an_age_changes(region: Followed) -> None:
    async with region.follow("status") as stream:
        first = await stream.next()
        assert first.data == json.loads(STATUS.model_dump_json())
        region.daemon.status_now = STATUS.model_copy(update={"reported_age_s": 9.0})
        region.daemon.status_now = STATUS.model_copy(update={"reported_age_s": 9.0, "paths": 4})
        second = await stream.next()
        assert (second.type, second.data["paths"]) == ("status", 4)
    async with region.follow("status", last_id=second.id) as stream:
        region.daemon.status_now = STATUS.model_copy(update={"paths": 4})
        await until(lambda: stream.parser.comments > 2, "heartbeats have come")
        assert stream.waiting() == 0, "it has that one"
    async with region.follow("status", last_id=first.id) as stream:
        assert (await stream.next()).data["paths"] == 4


async def test_what_was_dropped_before_it_could_be_told_is_a_gap(region: Followed) -> None:
    region.decide(7)
    region.prune(6)
    async with region.follow("events", last_id="2") as stream:
        gap, *rest = await stream.some(5)
    assert (gap.type, gap.data["first"], gap.data["last"]) == ("gap", 3, 6)
    assert numbers(rest) == [7, 8, 9, 10]
    async with region.follow("events", last_id=gap.id) as stream:
        assert numbers([await stream.next()]) == [7], "a gap is resumed from, too"
    region.prune(10)
    async with region.follow("events", last_id="8") as stream:
        gap = await stream.next()
        assert (gap.data["first"], gap.data["last"]) == (9, 10), "though nothing is left"
        region.decide()
        assert numbers([await stream.next()]) == [11]


async def test_an_operation_that_is_over_and_dropped_is_a_gap(region: Followed) -> None:
    async with region.follow("operations") as stream:
        number = region.ask()
        asked = await stream.next()
    region.answer(number)
    region.prune(number, "operations")
    async with region.follow("operations", last_id=asked.id) as stream:
        gap = await stream.next()
    assert (gap.type, gap.data["first"], gap.data["last"]) == ("gap", number, number)


async def test_another_database_is_a_gap_and_is_told_from_its_beginning(region: Followed) -> None:
    async with region.follow("events", last_id="00000000-9000") as stream:
        gap, *rest = await stream.some(4)
    assert (gap.type, gap.data["first"]) == ("gap", None)
    assert "another" in gap.data["detail"]
    assert numbers(rest) == [1, 2, 3]


@pytest.mark.parametrize("kind", ["events", "operations", "jobs"])
async def test_an_id_of_the_future_is_refused(kind: str, region: Followed) -> None:
    for last_id in ("1000000", f"{2**63 - 1}"):
        async with region.follow(kind, last_id=last_id) as stream:
            await stream.until_over()
            assert (stream.status, json.loads(stream.text)["code"]) == (422, "event-id-ahead")


@pytest.mark.parametrize("kind", KINDS)
async def test_an_id_that_cannot_be_read_is_refused(kind: str, region: Followed) -> None:
    for last_id in UNREADABLE:
        async with region.follow(kind, last_id=last_id) as stream:
            await stream.until_over()
            assert (stream.status, json.loads(stream.text)["code"]) == (422, "request-invalid"), last_id


async def test_one_client_has_so_many_streams_and_all_have_so_many(region: Followed) -> None:
    async with AsyncExitStack() as stack:
        for kind in ("events", "jobs", "status"):
            await stack.enter_async_context(region.follow(kind))
        async with region.follow("events") as fourth:
            await fourth.until_over()
            assert (fourth.status, json.loads(fourth.text)["code"]) == (429, "too-many-streams")
            assert fourth.headers["retry-after"]
        for name in ("b", "c"):
            other = made(region.file, name)
            for kind in ("events", "jobs", "operations")[: 3 if name == "b" else 2]:
                stream = await stack.enter_async_context(region.follow(kind, token=other))
                assert stream.status == 200
        async with region.follow("events", token=made(region.file, "d")) as ninth:
            await ninth.until_over()
            assert (ninth.status, json.loads(ninth.text)["code"]) == (503, "streams-full")
        assert region.places.open == {"status": 1, "events": 3, "operations": 1, "jobs": 3}
    async with region.follow("events") as stream:
        assert stream.status == 200, "places are given back"


async def test_a_token_that_is_revoked_or_has_expired_ends_its_streams(region: Followed) -> None:
    doomed = made(region.file, "doomed", expires=datetime.now(UTC) + timedelta(hours=1))
    async with region.follow("events") as kept, region.follow("events", token=doomed) as ended:
        region.now[0] = timedelta(hours=2)
        end = await ended.next()
        await ended.until_over()
        assert (end.type, end.data["code"]) == ("end", "unauthorized")
        assert "expired" in end.data["detail"]
        region.decide()
        assert numbers([await kept.next()]) == [4], "others go on"
        with token_file.changing(region.file) as change:
            change.write(tokens.revoked(change.rights, "reader")[0])
        end = await kept.next()
        await kept.until_over()
        assert end.data["code"] == "unauthorized"
    assert region.places.ended == {"unauthorized": 2}


async def test_who_does_not_read_ends_as_too_slow_and_nobody_waits_for_it(region: Followed) -> None:
    async with region.follow("events", reads=False) as slow, region.follow("events") as quick:
        region.decide()
        assert numbers([await quick.next()]) == [4]
        await until(lambda: slow.text, "something is written to it")
        LoopClock(asyncio.get_running_loop()).put_forward(PACE.write_s)
        await slow.until_over()
        region.decide()
        assert numbers([await quick.next()]) == [5]
        last = [await slow.next() for _ in range(slow.waiting())][-1]
        assert (last.type, last.data["code"]) == ("end", "stream-too-slow")
    assert region.places.ended == {"stream-too-slow": 1}


async def test_who_falls_behind_all_that_is_kept_ends_as_too_slow(
    region: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_hub, "KEPT", 3)
    app = create_app(region.daemon, inside=region.inside, admitting=region.app.state.admission, places=region.places)
    async with following(app, f"{API}/events", token=region.token, reads=False) as slow:
        async with following(app, f"{API}/events", token=region.token) as quick:
            for count in range(5):
                region.decide()
                assert numbers([await quick.next()]) == [4 + count]
        slow.reads.set()
        end = await slow.next()
        assert (end.type, end.data["code"]) == ("end", "stream-too-slow")
        assert "3 events behind" in end.data["detail"]


async def test_a_client_that_resumes_far_behind_is_given_time_to_catch_up(
    region: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_hub, "KEPT", 3)
    monkeypatch.setattr("api.streams.sources.PAGE", 4)
    app = create_app(region.daemon, inside=region.inside, admitting=region.app.state.admission, places=region.places)
    region.decide(50)
    async with following(app, f"{API}/events", token=region.token, query="after=0") as stream:
        assert numbers(await stream.some(53)) == list(range(1, 54))
        region.decide()
        assert numbers([await stream.next()]) == [54]


async def test_the_daemons_stop_ends_streams_at_once_and_begins_none(region: Followed) -> None:
    async with region.follow("events") as stream, region.follow("status", reads=False) as stuck:
        region.places.stop()
        end = await stream.next()
        await stream.until_over()
        assert (end.type, end.data["code"]) == ("end", "daemon-stopping")
        await stuck.until_over()
        async with region.follow("jobs") as late:
            await late.until_over()
            assert (late.status, json.loads(late.text)["code"]) == (503, "daemon-stopping")


async def test_followers_of_one_kind_cost_one_look_together(region: Followed) -> None:
    async with AsyncExitStack() as stack:
        streams: list[Stream] = [
            await stack.enter_async_context(region.follow("events", token=token))
            for token in (region.token, made(region.file, "b"))
            for _ in range(3)
        ]
        before = region.inside.count
        region.decide()
        for each in streams:
            assert numbers([await each.next()]) == [4]
        assert region.inside.count - before <= 3, "however many follow"


async def test_nobody_looks_where_nobody_follows(region: Followed) -> None:
    tasks = len(asyncio.all_tasks())
    async with region.follow("events"):
        assert len(asyncio.all_tasks()) > tasks
    await until(lambda: len(asyncio.all_tasks()) == tasks, "no task is left that could look")
    before = region.inside.count
    await anyio.wait_all_tasks_blocked()
    assert region.inside.count == before


async def test_a_database_that_goes_ends_its_streams_and_is_told_to_who_comes(region: Followed) -> None:
    async with region.follow("events") as stream:
        region.inside.failure = StateUnavailable("the database is locked")
        end = await stream.next()
        await stream.until_over()
        assert (end.type, end.data["code"]) == ("end", "state-unavailable")
    async with region.follow("events") as refused:
        await refused.until_over()
        assert (refused.status, json.loads(refused.text)["code"]) == (503, "state-unavailable")
    region.inside.failure = None
    region.decide()
    async with region.follow("events", last_id=end.id) as stream:
        assert numbers([await stream.next()]) == [4], "it is back, and nothing is lost"


async def test_who_comes_while_a_failed_look_is_told_keeps_nobody_from_hearing_of_it(region: Followed) -> None:
    async with region.follow("events", reads=False) as first:
        await until(lambda: region.places.open["events"], "it follows")
        region.inside.failure = StateUnavailable("the database is locked")
        await until(lambda: region.inside.failed, "it was looked for in vain")
        region.inside.failure = None
        async with region.follow("events") as second:
            region.decide()
            assert numbers([await second.next()]) == [4]
            first.reads.set()
            end = await first.next()
            assert (end.type, end.data["code"]) == ("end", "state-unavailable"), (
                "not silence from a look that began anew"
            )


async def test_a_bug_of_a_look_ends_its_streams(region: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    async with region.follow("operations") as stream:
        monkeypatch.setattr("api.streams.sources.OperationSource.seen", lambda *_: 1 // 0)
        end = await stream.next()
        assert (end.type, end.data["code"]) == ("end", "invariant-broken")


async def test_heartbeats_come_while_nothing_happens(region: Followed) -> None:
    async with region.follow("jobs") as stream:
        await until(lambda: stream.parser.comments >= 3, "three heartbeats")


async def test_head_answers_and_ends(region: Followed) -> None:
    async with region.follow("events", method="HEAD") as stream:
        await stream.until_over()
        assert (stream.status, stream.text) == (200, b"")


async def test_nobody_follows_without_a_token(region: Followed) -> None:
    for kind in KINDS:
        async with region.follow(kind, token="") as stream:
            await stream.until_over()
            assert (stream.status, json.loads(stream.text)["code"]) == (401, "unauthorized")


def test_the_kinds_are_values_of_the_metric() -> None:
    assert stream_metrics.OPEN.values == KINDS
