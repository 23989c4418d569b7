"""Questions to the brokers: whether they delete declarations of topics that nobody uses, and what waits for that.

Source of the settings: :mod:`syncer.conflict.deletes.collected`. Units: milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, TypeAlias

from syncer.conflict.deletes.collected import (
    DELETES_DECLARATIONS,
    CollectedTopics,
    CollectionTold,
    DeletedBy,
    deleted_by,
    named,
    policy_of,
)
from syncer.conflict.projection import parse
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, Millis
from syncer.paths import resource_at
from syncer.replication.local.absences import AnsweredDelete, AwaitedDelete
from syncer.replication.local.part import OwnStore
from syncer.stores.contract import Entry

COLLECTED: Final = "topics-collected"
UNTOLD: Final = "topics-collected-unknown"
ASKED: Final = 1_000
"""Deletes that one answer decides at most: what the store holds above them is read with it."""
Asked: TypeAlias = "Mapping[MetaPath, AwaitedDelete]"
"""Deletes that waited when it was asked."""


def question(local: OwnStore, now: Millis) -> Asked | None:
    """List the deletes that wait for an answer, if it is time to ask; ``None``: it is not."""
    if not local.versions.deletes.due(now):
        return None
    return dict(islice(local.versions.deletes.waiting.items(), ASKED))


def namespaces_of(asked: Asked) -> list[MetaPath]:
    """List the namespaces of these topics, each once."""
    return [each for each in dict.fromkeys(resource_at(path).parent for path in asked) if each is not None]


def answer(
    local: OwnStore, asked: Asked, told: CollectionTold, namespaces: Mapping[MetaPath, Entry | None], now: Millis
) -> None:
    """Take an answer.

    Args:
        local: The region's own store.
        asked: The deletes that had been read before it was asked for.
        told: What the brokers said.
        namespaces: What the store holds of their namespaces, read after the deletes; without those that it withheld.
        now: Our clock.
    """
    collected = local.versions.deletes
    collected.told, collected.asked_at = told, now
    for path, delete in asked.items():
        namespace = resource_at(path).parent
        by = _deleted_by(told, namespaces, namespace)
        if by is not None and collected.take(path, AnsweredDelete(by, told, delete)):
            local.dirty.add((path,), delete.cause)
    if collected.overflowed and not collected.waiting:
        collected.overflowed, local.versions.rescan = False, True
    _tell(local)


def _deleted_by(
    told: CollectionTold, namespaces: Mapping[MetaPath, Entry | None], namespace: MetaPath | None
) -> DeletedBy | None:
    """Decide by what the store holds of the namespace; one that is gone was deleted by an operator, topics and all."""
    if namespace is None or namespace not in namespaces:
        return deleted_by(told, None)
    entry = namespaces[namespace]
    if entry is None:
        return DeletedBy.OPERATOR
    try:
        policy = policy_of(parse(entry.value)) if entry.value else None
    except ValueInvalid:
        policy = None
    return deleted_by(told, policy)


def _tell(local: OwnStore) -> None:
    """Say in the status what brokers delete, and what is not known of that."""
    settings, told = local.core.replica.settings, local.versions.deletes.told
    local.telemetry.conditions.pop(COLLECTED, None)
    local.telemetry.conditions.pop(UNTOLD, None)
    carries = settings.collected_topics is CollectedTopics.CARRY
    if told is None or settings.brokers is None:
        return
    if told.deleting:
        becomes = (
            "their deletes are carried to all regions, as 'scope.collected_topics' says"
            if carries
            else "deletes of partitioned topics are held here until a person decides, an operator's too"
        )
        local.telemetry.conditions[COLLECTED] = (
            f"brokers here delete declarations of topics that nobody uses ({DELETES_DECLARATIONS}=true at "
            f"{named(told)}); {becomes}"
        )
    elif told.trouble and not carries:
        waits = f"{len(local.versions.deletes.waiting)} deletes of partitioned topics wait for the answer"
        becomes = "what they delete is carried to all regions like an operator's delete" if told.refused else waits
        local.telemetry.conditions[UNTOLD] = (
            f"whether brokers here delete declarations of topics that nobody uses is not known ({told.trouble}): "
            f"{becomes}"
        )
