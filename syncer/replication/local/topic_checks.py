"""Topic checks: questions about topics below a path, asked for a guard, and again while a change is held for that.

A broker that is away, or too busy, answers nothing, and what was to be deleted is held. It is asked again each minute;
once it tells, the guards decide anew, without a person.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from syncer.conflict.guards import Topics
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis
from syncer.replication.context import Context
from syncer.replication.local.dirty import ReadCause
from syncer.replication.unit_of_work import UnitOfWork

ANSWERS_KEPT: Final = 1_000


def ask_again(context: Context, due: Iterable[Register], now: Millis) -> None:
    """Ask again where a due register is held for want of an answer, each of them once a minute."""
    context.asking.add(dict.fromkeys(context.unanswered.choose(due, now)))


def answer(context: Context, path: MetaPath, topics: Topics, now: Millis) -> None:
    """Take an answer. Only memory is touched; :func:`take_answers` does the rest where it was asked again."""
    if len(context.topics) > ANSWERS_KEPT:
        context.topics.clear()
    context.topics[path] = (topics, now)
    if not context.unanswered.answer(path, topics):
        context.dirty.add((path,), ReadCause.DUE)


def take_answers(context: Context, now: Millis) -> None:
    """Let the guards decide anew where an answer has come; what a person has decided meanwhile stays decided."""
    told = context.unanswered.told
    if not told:
        return
    with context.state.transaction() as tx:
        unit = UnitOfWork(context, tx, now)
        unit.load(tuple(told))
        for path, topics in told.items():
            unit.take(context.replica.topics_told(unit[path], topics))
        unit.store()
    unit.settle()
    told.clear()
