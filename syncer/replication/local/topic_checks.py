"""Topic checks: questions about topics below a path, asked for a guard, and again while a change is held for that.

A broker that is away, or too busy, answers nothing, and what was to be deleted is held. It is asked again each minute;
once it tells, the guards decide anew, without a person.
"""

from __future__ import annotations

from collections.abc import Iterable

from syncer.conflict.guards import Topics
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore


def ask_again(local: OwnStore, due: Iterable[Register], now: Millis) -> None:
    """Ask again where a due register is held for want of an answer, each of them once a minute."""
    local.topics.asking.add(dict.fromkeys(local.topics.unanswered.choose(due, now)))


def answer(local: OwnStore, path: MetaPath, topics: Topics, now: Millis) -> None:
    """Take an answer. Only memory is touched; :func:`take_answers` does the rest where it was asked again."""
    local.topics.note(path, topics, now)
    if not local.topics.unanswered.answer(path, topics):
        local.dirty.add((path,), ReadCause.DUE)


def take_answers(local: OwnStore, now: Millis) -> None:
    """Let the guards decide anew where an answer has come; what a person has decided meanwhile stays decided."""
    told = local.topics.unanswered.told
    if not told:
        return
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(tuple(told))
        for path, topics in told.items():
            unit.take(local.core.replica.topics_told(unit[path], topics))
        unit.store()
    unit.settle()
    told.clear()
