"""What goes to the process that answers, and what comes back of it."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import anyio
import pytest

from syncer.config.model import Config
from syncer.errors import NotFound, SyncerError
from syncer.inspection.inquiries import child
from syncer.inspection.inquiries.child import LedgersTask, answer_of, failure_of, packed, performed, unpacked
from syncer.inspection.ledgers.questions import (
    AnyLossQuestion,
    AuditQuestion,
    ExplainQuestion,
    LeavingQuestion,
    LedgersQuestion,
    LossQuestion,
    OrphansQuestion,
    UnderReplicatedQuestion,
    opening_wish_of,
)
from syncer.inspection.ledgers.reading import LedgersWish
from syncer.waiting import WAIT_S, until
from tests.support.children import children_with

CONFIG = Config.model_validate(
    {"region": "here", "store": {"kind": "sqlite", "path": "s.db"}, "bus": {"kind": "embedded", "path": "b.db"}}
)
OPENING = opening_wish_of("3/2/2", 2)


@pytest.mark.parametrize(
    "question",
    [
        AuditQuestion(topics=True),
        ExplainQuestion("1"),
        LossQuestion(bookies=("a",), opening=OPENING),
        AnyLossQuestion(size=2, shown=1),
        LeavingQuestion(racks=("/r1",), opening=OPENING, bytes_per_s=1.5),
        UnderReplicatedQuestion(),
        OrphansQuestion(whole=True),
    ],
)
def test_a_question_arrives_as_it_was_asked_and_is_shared_by_its_value(question: LedgersQuestion) -> None:
    wish = LedgersWish(table="green", others=("blue",))
    within_s, task = pickle.loads(packed(LedgersTask(config=CONFIG, wish=wish, question=question), 7.5))
    assert (within_s, task.wish, task.question) == (7.5, wish, question)
    assert hash((task.wish, task.question)) == hash((wish, question))


def test_an_answer_or_an_error_comes_back() -> None:
    assert unpacked(answer_of(b"a\nb")) == b"a\nb"
    with pytest.raises(NotFound, match="no bookie") as found:
        unpacked(failure_of(NotFound("no bookie", hint="There are: a")))
    assert found.value.hint == "There are: a"


@pytest.mark.parametrize("said", [b"", b"null"])
def test_a_process_that_broke_off_is_said(said: bytes) -> None:
    with pytest.raises(SyncerError, match="broke off"):
        unpacked(said)


def test_half_an_answer_of_a_process_that_was_killed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    half = answer_of(b'{"read":')
    program = f"import os, signal, sys; os.write(1, {half!r}); os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(child, "command", lambda: ([sys.executable, "-c", program], dict(os.environ)))
    task = LedgersTask(config=CONFIG, wish=LedgersWish(table="green"), question=AuditQuestion())
    with pytest.raises(SyncerError, match="broke off"):
        anyio.run(performed, task, 60.0)


def test_a_process_that_was_killed_before_it_read_its_task_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(child, "command", lambda: ([sys.executable, "-c", program], dict(os.environ)))
    monkeypatch.setattr(child, "packed", lambda task, within_s: bytes(1 << 22))
    task = LedgersTask(config=CONFIG, wish=LedgersWish(table="green"), question=AuditQuestion())
    with pytest.raises(SyncerError, match="broke off"):
        anyio.run(performed, task, 60.0)


READS_AND_STAYS = "import os, sys, time; sys.stdin.read(); open({file!r}, 'w').close(); time.sleep(3600)"

Doing = Callable[[], Coroutine[None, None, bytes]]
Ready = Callable[[], Coroutine[None, None, object]]


async def cancelled(do: Doing, ready: Ready) -> None:
    doing = asyncio.create_task(do())
    await ready()
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing


async def left_to_the_end_of_the_loop(do: Doing, ready: Ready) -> None:
    doing = asyncio.create_task(do())
    await ready()
    assert not doing.done()


async def out_of_a_scope(do: Doing, ready: Ready) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(do)
        await ready()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("given_up", [cancelled, left_to_the_end_of_the_loop, out_of_a_scope])
def test_who_gives_up_a_task_ends_its_process(
    given_up: Callable[[Doing, Ready], Awaitable[None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    has_read = tmp_path / "has-read"
    words = [sys.executable, "-c", READS_AND_STAYS.format(file=str(has_read))]
    monkeypatch.setattr(child, "command", lambda: (words, dict(os.environ)))
    task = LedgersTask(config=CONFIG, wish=LedgersWish(table="green"), question=AuditQuestion())
    anyio.run(given_up, lambda: performed(task, WAIT_S), lambda: until(has_read.exists, "the process has its task"))
    assert not children_with(str(tmp_path))


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21, 34])
def test_a_process_that_only_begins_ends_too(turns: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = [sys.executable, "-c", READS_AND_STAYS.format(file=str(tmp_path / "has-read"))]
    monkeypatch.setattr(child, "command", lambda: (words, dict(os.environ)))
    monkeypatch.setattr(child, "packed", lambda task, within_s: bytes(1 << 22))
    task = LedgersTask(config=CONFIG, wish=LedgersWish(table="green"), question=AuditQuestion())

    async def some_turns() -> None:
        for _turn in range(turns):
            await asyncio.sleep(0.001)

    anyio.run(cancelled, lambda: performed(task, WAIT_S), some_turns)
    assert not children_with(str(tmp_path))
