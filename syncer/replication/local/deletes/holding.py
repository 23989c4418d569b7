"""Local deletes that wait for a person before they are published: too many at once, or perhaps made by a broker.

A broker of the region may delete declarations of topics that nobody uses (:mod:`syncer.conflict.deletes.collected`).
It never deletes a namespace. Where the namespace of a declaration is gone too, an operator has deleted both: the delete
is published, and so is what was held of its topics. All of that passes the guard against too many deletes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from syncer.conflict.acts import Need, Outcome, Publish
from syncer.conflict.deletes.collected import (
    CollectedTopics,
    DeletedBy,
    why_held,
)
from syncer.conflict.register import HoldReason, Register
from syncer.model import EventType, MetaPath, Millis, ResourceKind
from syncer.paths import child_prefixes, kind_at
from syncer.replication.local.absences import AwaitedDelete
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction

_PAGE: Final = 1_000


def hold_deletes(
    local: OwnStore,
    unit: UnitOfWork,
    tx: Transaction,
    outcomes: dict[MetaPath, Outcome],
    origins: Mapping[MetaPath, ReadCause],
    seen: Mapping[MetaPath, Millis],
) -> None:
    """Hold the local deletes of a read that a person has to decide, before anything of it is stored.

    What has passed before this daemon was active is in the journal of its database.

    Args:
        local: The region's own store.
        unit: The unit of work.
        tx: Its transaction.
        outcomes: What was read; deletes are replaced.
        origins: Why each path was read.
        seen: When each delete was made, as far as is known.
    """
    deleted = [path for path, outcome in outcomes.items() if _deletes(outcome)]
    if not deleted:
        return
    uncompared = local.core.uncompared.place or local.core.uncompared.rules
    if not uncompared:
        _hold_collected(local, unit, outcomes, deleted, origins, seen)
        deleted = [path for path in deleted if _deletes(outcomes[path])]
        if not deleted:
            return
    released = [] if uncompared else _held_below(local, unit, tx, deleted, outcomes)
    window, now, alive = local.deletes, unit.now, unit.count_alive()
    if not window.begun:
        window.begin(tx.deletes_passed(window.since(now), window.kept))
    limits, many = local.core.replica.settings.limits, len(deleted) + len(released)
    detail = (
        f"too many deletes within {limits.delete_window_ms // 1000} s: more than {limits.max_deletes}, "
        f"or more than {limits.max_delete_fraction:.0%} of {alive} paths"
    )
    if local.core.uncompared.place:
        detail = "missing in the store that was given to this region in place of its former one"
    elif local.core.uncompared.rules:
        detail = "missing where the scope has been changed: it may have been deleted while it was not in scope"
    elif window.permits(many, alive, now):
        unit.afterwards(partial(window.passed, many, now))
        for register in released:
            unit.take(local.core.replica.release(register))
        return
    for path in deleted:
        outcomes[path] = local.core.replica.hold_back(outcomes[path], now, detail)
    for register in released:
        unit.take(local.core.replica.hold_for(register, HoldReason.MASS_DELETE, now, detail))


def _deletes(outcome: Outcome) -> bool:
    return any(
        isinstance(act, Publish) and act.event.type is EventType.DELETED and not act.held for act in outcome.acts
    )


def _hold_collected(
    local: OwnStore,
    unit: UnitOfWork,
    outcomes: dict[MetaPath, Outcome],
    deleted: Sequence[MetaPath],
    origins: Mapping[MetaPath, ReadCause],
    seen: Mapping[MetaPath, Millis],
) -> None:
    """Hold deletes that a broker may have made, and let those wait of which that cannot be told yet."""
    if local.core.replica.settings.collected_topics is not CollectedTopics.HOLD:
        return
    collected = local.versions.deletes
    topics = [path for path in deleted if kind_at(path) is ResourceKind.PARTITIONED_TOPIC]
    for path in topics:
        answer = collected.answered.get(path)
        if answer is None:
            collected.wait(path, AwaitedDelete(seen[path], origins.get(path, ReadCause.DUE)))
            outcomes[path] = Outcome(unit[path], (), Need.BROKERS)
        elif answer.by is DeletedBy.BROKER:
            detail = why_held(path, answer.told)
            outcomes[path] = local.core.replica.hold_back(outcomes[path], unit.now, detail, HoldReason.COLLECTED_TOPIC)


def _held_below(
    local: OwnStore,
    unit: UnitOfWork,
    tx: Transaction,
    deleted: Sequence[MetaPath],
    outcomes: Mapping[MetaPath, Outcome],
) -> list[Register]:
    """List what is held of the topics of namespaces that are deleted."""
    if local.core.replica.settings.collected_topics is None:
        return []
    held: list[Register] = []
    for namespace in deleted:
        if kind_at(namespace) is not ResourceKind.NAMESPACE:
            continue
        for prefix in child_prefixes(namespace):
            held += [each for each in _held_under(tx, prefix) if each.path not in outcomes]
    unit.load([register.path for register in held])
    publishes = local.core.scope.direction
    return [unit[each.path] for each in held if _waits_for_a_person(unit[each.path]) and publishes(each.path).publishes]


def _held_under(tx: Transaction, prefix: str) -> list[Register]:
    found: list[Register] = []
    after = MetaPath(prefix)
    while page := tx.page(_PAGE, after):
        within = [register for register in page if register.path.startswith(prefix)]
        found += filter(_waits_for_a_person, within)
        if len(within) < len(page):
            break
        after = page[-1].path
    return found


def _waits_for_a_person(register: Register) -> bool:
    return register.hold is not None and register.hold.reason is HoldReason.COLLECTED_TOPIC
