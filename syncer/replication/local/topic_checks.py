"""Questions of the guards: topics below a path, asked of brokers, and related values, read from the store.

A broker that is away, or too busy, answers nothing, and what was to be deleted is held. It is asked again each minute;
once it tells, the guards decide anew, without a person. So do they where a hold depends on related values.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from syncer.conflict.acts import Need, Outcome
from syncer.conflict.guards import Facts, Related, Topics, weighs_related
from syncer.conflict.register import Hold, Register
from syncer.model import MetaPath, Millis
from syncer.paths import GLOBAL_TOPIC_POLICIES, is_under
from syncer.replacing import replace
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore
from syncer.replication.related_values import related_now, related_paths
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry


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


def look_again(local: OwnStore, due: Iterable[Register], now: Millis) -> None:
    """Read what is held by related values with these once more: the guards decide anew where they are others by now."""
    held = local.waiting.related.choose(due, now)
    if not held:
        return
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(held)
        for path in held:
            local.waiting.related.want(path, related_paths(unit, tx, path))
    local.dirty.add(held, ReadCause.DUE)


def write_of(
    local: OwnStore,
    unit: UnitOfWork,
    tx: Transaction,
    path: MetaPath,
    entry: Entry | None,
    facts: Facts,
    batch: str,
) -> Outcome:
    """Decide the write of a due path; where a guard needs related values, these are read first.

    A hold that depends on them is decided anew by them, and stays as it is where the answer is the same.

    Args:
        local: The region's own store.
        unit: The unit of work.
        tx: Its transaction.
        path: The path, which is loaded.
        entry: What the store holds.
        facts: What the target is like, with related values as they were read.
        batch: Of the write.
    """
    register, read, decide = unit[path], facts.related, local.core.replica.apply_due
    if read is None:
        outcome = decide(register, entry, facts, batch)
        if outcome.need is not Need.RELATED:
            return outcome
    related = _related(local, unit, tx, path, read)
    if related is None:
        return Outcome(register, (), Need.RELATED)
    if not weighs_related(register):
        return decide(register, entry, replace(facts, related=related), batch)
    outcome = decide(replace(register, hold=None), entry, replace(facts, related=related), batch)
    return Outcome(register) if _same(register.hold, outcome.register.hold) else outcome


def _related(
    local: OwnStore, unit: UnitOfWork, tx: Transaction, path: MetaPath, read: Related | None
) -> Related | None:
    if not any(is_under(each, GLOBAL_TOPIC_POLICIES) for each in local.core.scope.prefixes):
        return Related()  # no topic policy is carried, and of those that are not nobody knows
    if not local.watch.scanned:
        return None  # a topic policy that nobody has read yet may be there
    paths = related_paths(unit, tx, path)

    def wait(other: MetaPath) -> None:
        unit.afterwards(partial(local.waiting.wait_for, path, other))

    def ask(others: tuple[MetaPath, ...]) -> None:
        unit.afterwards(partial(local.waiting.related.want, path, others))
        unit.reread((path,))

    return related_now(unit, paths, read, wait=wait, ask=ask)


def _same(held: Hold | None, hold: Hold | None) -> bool:
    return held is not None and hold is not None and (held.reason, held.detail) == (hold.reason, hold.detail)
