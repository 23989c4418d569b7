"""Collected topics: a broker's garbage collection deletes declarations, which looks like an operator's delete.

A broker with ``brokerDeleteInactivePartitionedTopicMetadataEnabled`` deletes the declaration of a partitioned topic
together with the last partition that it collects. It collects where its settings say so
(``brokerDeleteInactiveTopicsEnabled``), unless ``inactive_topic_policies`` of the namespace say otherwise. The topic is
unused in one region only, so its delete waits for a person there.

Source: ``PersistentTopic.checkGC``, ``tryToDeletePartitionedMetadata`` and ``HierarchyTopicPolicies`` of Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.conflict.fields.entry_filters import BrokerFilters
from syncer.conflict.projection import Document
from syncer.model import MetaPath

DELETES_DECLARATIONS: Final = "brokerDeleteInactivePartitionedTopicMetadataEnabled"
COLLECTS_TOPICS: Final = "brokerDeleteInactiveTopicsEnabled"
_POLICIES: Final = "inactive_topic_policies"
_COLLECTS: Final = "deleteWhileInactive"
_SHOWN: Final = 3


class CollectedTopics(StrEnum):
    """Treatment of deletes of declarations while a broker of the region may have made them."""

    HOLD = "hold"
    CARRY = "carry"


class DeletedBy(StrEnum):
    """Who may have deleted a declaration."""

    OPERATOR = "operator"
    """An operator: no broker of the region deletes declarations in this namespace."""
    BROKER = "broker"
    """An operator or a broker; the store tells them apart by nothing."""
    UNKNOWN = "unknown"
    """The brokers do not let themselves be asked."""


class Inactive(StrEnum):
    """Policy of a namespace for topics that nobody uses; it outweighs the settings of brokers."""

    DELETED = "deleted"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCollection:
    """Settings of one broker.

    Args:
        deletes_declarations: It deletes the declaration of a partitioned topic that it has collected.
        collects_topics: It collects topics that nobody uses, where no policy says otherwise.
        filters: Its settings about entry filters, which come with the same answer.
    """

    deletes_declarations: bool = False
    collects_topics: bool = True
    filters: BrokerFilters = field(default_factory=BrokerFilters)

    @staticmethod
    def of(settings: Mapping[str, object]) -> BrokerCollection:
        """Take the run-time configuration that a broker tells; what it does not tell is as Pulsar has it by default."""
        return BrokerCollection(
            deletes_declarations=_is_true(settings.get(DELETES_DECLARATIONS), default=False),
            collects_topics=_is_true(settings.get(COLLECTS_TOPICS), default=True),
            filters=BrokerFilters.of(settings),
        )

    def collects(self, policy: Inactive | None) -> bool:
        """Return whether it deletes declarations in a namespace.

        Args:
            policy: What the namespace says of its inactive topics; ``None``: nothing.
        """
        return self.deletes_declarations and (self.collects_topics if policy is None else policy is Inactive.DELETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionTold:
    """Answers of the brokers of a region about their settings, each asked for itself.

    Args:
        brokers: Address of each broker that has answered, and what it is set to.
        trouble: Why others have not; empty where every broker that is listed has answered.
        refused: That will not change by itself: the daemon's role may not ask, or nobody is configured to be asked.
    """

    brokers: Mapping[str, BrokerCollection] = field(default_factory=dict)
    trouble: str = ""
    refused: bool = False

    @property
    def deleting(self) -> tuple[str, ...]:
        """Addresses of the brokers that delete declarations, in order."""
        return tuple(sorted(name for name, each in self.brokers.items() if each.deletes_declarations))


def deleted_by(told: CollectionTold, policy: Inactive | None) -> DeletedBy | None:
    """Decide who may have deleted a declaration that is gone from the store.

    One broker that collects is enough. That none does is known only once all have answered.

    Args:
        told: What the brokers told, asked after the store was read.
        policy: What the namespace says of its inactive topics; ``None``: nothing, or it cannot be read.

    Returns:
        ``None``: it cannot be told yet, and is to be asked again.
    """
    if any(each.collects(policy) for each in told.brokers.values()):
        return DeletedBy.BROKER
    if not told.trouble:
        return DeletedBy.OPERATOR
    return DeletedBy.UNKNOWN if told.refused else None


def policy_of(namespace: Document | None) -> Inactive | None:
    """Return what the policies of a namespace say of inactive topics; ``None``: they leave that to the brokers."""
    policies = namespace.get(_POLICIES) if namespace is not None else None
    collects = policies.get(_COLLECTS) if isinstance(policies, dict) else None
    if not isinstance(collects, bool):
        return None
    return Inactive.DELETED if collects else Inactive.KEPT


def why_held(path: MetaPath, told: CollectionTold) -> str:
    """Say why the delete of a declaration is held, and how a person ends that."""
    return (
        f"an operator or a broker may have deleted it: brokers here delete declarations of topics that nobody uses "
        f"({DELETES_DECLARATIONS}=true at {named(told)}). 'syncer holds confirm {path}' deletes it in all regions, "
        f"'syncer holds reject {path}' writes it back here"
    )


def named(told: CollectionTold) -> str:
    """Name the brokers that delete declarations, the first of them by their addresses."""
    first = ", ".join(told.deleting[:_SHOWN])
    more = len(told.deleting) - _SHOWN
    return f"{first} and {more} more" if more > 0 else first


def _is_true(value: object, *, default: bool) -> bool:
    if isinstance(value, bool):
        return value
    return value.strip().lower() == "true" if isinstance(value, str) and value.strip() else default
