"""Tasks and answers as they go to a process that looks at a cluster or answers a question about it, and come back.

    stdin   a task, pickled       stdout   a line of JSON: how it failed, if it did; then the bytes of the answer

A process takes memory and time of its own: who has one performed says how long, and sees that there are few. It is
of :mod:`syncer.inspection.inquiries.performing`.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import anyio
import anyio.to_thread
import orjson

from syncer.dispositions import error_class
from syncer.errors import SyncerError

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.inspection.balancing.questions import LookWish, Question
    from syncer.inspection.ledgers.questions import LedgersQuestion
    from syncer.inspection.ledgers.reading import LedgersWish

PROGRAM: Final = "syncer.inspection.inquiries.performing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookTask:
    """A look at a cluster; its answer is the look, for another task."""

    config: Config
    wish: LookWish


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTask:
    """A question about a look; its answer is a document as JSON, or a plan as it is written."""

    look: bytes
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgersTask:
    """A question about a cluster's ledgers, whose store is read for it; its answer is a document as JSON."""

    config: Config
    wish: LedgersWish
    question: LedgersQuestion


Task = LookTask | AnswerTask | LedgersTask


async def performed(task: Task, within_s: float) -> bytes:
    """Have a task performed by a process of its own; who is cancelled ends it.

    Args:
        task: The task.
        within_s: How long the answer is waited for; soon after it the process ends by itself.

    Raises:
        TimeoutError: There was none.
        SyncerError: Its own error, by its code; or it broke off.
    """
    words, environment = command()
    with anyio.fail_after(within_s):
        sent = await anyio.to_thread.run_sync(packed, task, within_s)
        said = await _said(words, sent, environment)
    return unpacked(said)


async def _said(words: list[str], sent: bytes, environment: dict[str, str]) -> bytes:
    """The answer of a process; nothing where it was killed, since half of it may be there.

    It is asyncio's own: a closing loop cancels once, after which anyio would wait until the process has done its task.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, env=environment)
    stdin = cast("asyncio.StreamWriter", process.stdin)
    try:
        said, _ = await process.communicate(sent)
    finally:
        with anyio.CancelScope(shield=True), suppress(BrokenPipeError, ConnectionResetError):
            if process.returncode is None:
                process.kill()
            await process.wait()
            await stdin.wait_closed()
    return said if process.returncode == 0 else b""


def command() -> tuple[list[str], dict[str, str]]:
    """How the process is begun, and its environment: of the same modules as this one."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each or os.curdir for each in sys.path)}
    return [sys.executable, "-P", "-m", PROGRAM], environment


def packed(task: Task, within_s: float) -> bytes:
    """A task as it is sent.

    Args:
        task: The task.
        within_s: How long the answer is waited for.
    """
    return pickle.dumps((within_s, task))


def answer_of(content: bytes) -> bytes:
    """The bytes that stand for an answer."""
    return orjson.dumps(None) + b"\n" + content


def failure_of(error: SyncerError) -> bytes:
    """The bytes that stand for an error."""
    return orjson.dumps({"code": error.code, "message": error.message, "hint": error.hint}) + b"\n"


def unpacked(said: bytes) -> bytes:
    """The answer that a process has given.

    Raises:
        SyncerError: Its own error, by its code; or it broke off.
    """
    head, end, content = said.partition(b"\n")
    if not end:
        raise SyncerError("the process that looks at clusters broke off", hint="Ask again; its cause is in the log.")
    failure = orjson.loads(head)
    if failure is not None:
        raise error_class(failure["code"])(failure["message"], hint=failure["hint"])
    return content
