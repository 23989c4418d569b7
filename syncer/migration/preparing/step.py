"""A preparation of green: its steps, each one call, and what no call could do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SUBSCRIPTION_AT_EARLIEST: Final = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
"""Position before everything that is stored."""


class PreparationKind(StrEnum):
    """What a step is about, in the order in which steps are taken: parents come first."""

    CLUSTER = "cluster"
    """Green gets to know another cluster, by its addresses."""
    TENANT = "tenant"
    NAMESPACE = "namespace"
    """A namespace is made, with all its policies."""
    REPLICATION = "replication"
    """Clusters that a namespace is replicated to, or may be."""
    POLICY = "policy"
    PARTITIONS = "partitions"
    TOPIC = "topic"
    PERMISSION = "permission"
    SCHEMA = "schema"
    TOPIC_POLICY = "topic-policy"
    SUBSCRIPTION = "subscription"
    TAKE_OVER = "take-over"
    """A namespace becomes green's whose policies both may read."""
    RESTORE = "restore"
    """A policy that was another one while the migration lasted gets blue's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminRequest:
    """One call of the admin REST API."""

    method: str
    path: str
    body: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationStep:
    """One call to green; made twice it does no more than once.

    Attributes:
        subject: A cluster, tenant, namespace, topic, ``topic, subscription name`` or ``namespace, policy name``.
        why: What it is for, in words.
        before: What was there; ``None``: nothing.
        undo: The call that takes it back; ``None``: it is not taken back.
        subscriptions: How many subscriptions it makes: each loads a topic.
    """

    kind: PreparationKind
    subject: str
    method: str
    path: str
    body: object
    why: str
    before: object = None
    undo: AdminRequest | None = None
    subscriptions: int = 0

    @property
    def creates(self) -> bool:
        """Whether it makes something that may be there already: then it is done."""
        return self.method == "PUT" and self.kind in _CREATED


_CREATED: Final = frozenset(
    {
        PreparationKind.CLUSTER,
        PreparationKind.TENANT,
        PreparationKind.NAMESPACE,
        PreparationKind.PARTITIONS,
        PreparationKind.TOPIC,
        PreparationKind.SUBSCRIPTION,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """Something that green lacks and no step gives it.

    Attributes:
        why: What stands in the way.
        remedy: What the operator does.
    """

    subject: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What green lacks of blue: steps, in their order, and what no step gives."""

    steps: tuple[PreparationStep, ...]
    unprepared: tuple[Unprepared, ...]
