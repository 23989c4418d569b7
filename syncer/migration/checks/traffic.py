"""Checks of topics and of those who use them: clients that do not follow, and messages that would not come along."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from syncer.client_versions import parse
from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity, the_first
from syncer.migration.clients import follows
from syncer.migration.evidence import StatsAnswer
from syncer.migration.roll_call import seen_on

_MANY_CONSUMERS: Final = frozenset({"Shared", "Key_Shared"})
_SOON_READ: Final = 1_000
"""Entries that are read in the seconds between brake and mark."""


def _client_gate(picture: ClusterPair) -> Iterator[CheckFinding]:
    """One line for each version, however many clients run it."""
    found: dict[str, list[str]] = defaultdict(list)
    for who, client in seen_on(picture.topics()):
        if not follows(parse(client.version)):
            found[client.version].append(f"{who.name} at {client.address}, {who.role} of {who.topic}")
    for version, clients in sorted(found.items()):
        yield CheckFinding(
            severity=FindingSeverity.BLOCK,
            subject=version or "clients that tell no version",
            evidence=f"not known to go where a broker sends it: {the_first(clients)}",
            remedy="update it (Java 3.2.0, C++ and Python 3.5.0, Go 0.13.0), or override and restart it at green",
        )


def _loaded(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        if topic.answer is StatsAnswer.MIGRATED:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=topic.name,
                evidence="the broker refuses to load it: it was migrated",
                remedy="take its namespace's mark off, so that it can be read",
            )
        elif topic.answer is not StatsAnswer.LOADED:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=topic.name,
                evidence=f"it is not loaded ({topic.answer}): after the mark nobody could read it",
                remedy="'syncer migration start' loads it; look into the broker's log if that fails",
            )


def _terminated(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        if topic.ledger is not None and topic.ledger.terminated is not None and not topic.ledger.migrated:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=topic.name,
                evidence=f"it was terminated at {topic.ledger.terminated} by hand: it never shows that it was migrated",
                remedy="delete it once it is read, or leave its namespace out",
            )


def _chunks(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        chunking = [producer.name for producer in topic.producers if producer.chunks_per_s > 0]
        if chunking:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=topic.name,
                evidence=f"{the_first(chunking)} send messages in chunks: one that straddles the mark is lost",
                remedy="stop these producers for the wave, or override",
            )


def _transactions(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        if topic.ongoing_transactions:
            yield CheckFinding(
                severity=FindingSeverity.WARN,
                subject=topic.name,
                evidence=f"{topic.ongoing_transactions} transactions are open: they end at blue, or not at all",
                remedy="let their owners finish or abort them before the wave",
            )


def _deduplication(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        if topic.deduplicates:
            yield CheckFinding(
                severity=FindingSeverity.WARN,
                subject=topic.name,
                evidence="it deduplicates, and what it knows of sequence numbers stays at blue",
                remedy="a message that is sent again after the move is stored again: see that producers can bear it",
            )


def _replication(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        for remote, replicator in sorted(topic.replicators.items()):
            if replicator.backlog > picture.bounds.replication_backlog:
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=topic.name,
                    evidence=f"{replicator.backlog} entries have yet to be sent to {remote}"
                    f"{'' if replicator.connected else ', which is not connected'}: until then nobody could write it",
                    remedy="wait, or mend the way to that cluster; or raise the bound 'replication_backlog'",
                )


def _replication_of_green(picture: ClusterPair) -> Iterator[CheckFinding]:
    """What is published at green waits there for clusters that it cannot reach: with blue's addresses alone it may not.

    An entry of a cluster can have more than addresses, such as how brokers authenticate and whom they trust.
    """
    for namespace in picture.namespaces():
        there = picture.green.namespaces.get(namespace.name)
        for name, topic in sorted(there.topics.items()) if there is not None else ():
            for remote, replicator in sorted(topic.replicators.items()):
                if not replicator.connected:
                    yield CheckFinding(
                        severity=FindingSeverity.BLOCK,
                        subject=name,
                        evidence=f"green is not connected with {remote}, to which it replicates the topic",
                        remedy=f"compare what blue and green know of the cluster {remote!r}, and mend the way there",
                    )


def _unowned(picture: ClusterPair) -> Iterator[CheckFinding]:
    for topic in picture.topics():
        for name, subscription in sorted(topic.subscriptions.items()):
            if not subscription.consumers and not subscription.drained:
                yield CheckFinding(
                    severity=FindingSeverity.WARN,
                    subject=f"{topic.name}, subscription {name}",
                    evidence=f"nobody reads it, and {subscription.backlog} entries are left: blue cannot be drained",
                    remedy="start its consumer, or skip its backlog; draining waits for it",
                )


def _shared(picture: ClusterPair) -> Iterator[CheckFinding]:
    """The last acknowledgement on a closed topic takes two locks, which the reader that finds nothing more takes too.

    Source: ``PersistentSubscription.acknowledgeMessage``, ``PersistentDispatcherMultipleConsumers.readEntriesFailed``,
    Pulsar 4.0.8; each sends the consumers away, holding its own lock, and waits for the other's.
    """
    for topic in picture.topics():
        for name, subscription in sorted(topic.subscriptions.items()):
            if subscription.kind in _MANY_CONSUMERS and subscription.backlog > _SOON_READ:
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=f"{topic.name}, subscription {name}",
                    evidence=f"it is {subscription.kind}, and {subscription.backlog} entries are left: where it is "
                    "drained only after the mark, its last acknowledgement can stop the broker for ever",
                    remedy="let it be read, or skip its backlog; overridden, watch the brokers' health check, and be "
                    "ready to take the mark off and restart a broker",
                )


def _non_persistent(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace in picture.namespaces():
        for name in sorted(namespace.non_persistent):
            yield CheckFinding(
                severity=FindingSeverity.WARN,
                subject=name,
                evidence="it is not persistent: what is under way when it is marked may be lost",
                remedy="no promise is made for it",
            )


CHECKS: Final = (
    Check(name="client-gate", asks="Does every client follow?", stage=CheckStage.BEFORE, look=_client_gate),
    Check(name="not-terminated", asks="Is every topic open?", stage=CheckStage.BEFORE, look=_terminated),
    Check(name="no-chunks", asks="Does nobody send in chunks?", stage=CheckStage.BEFORE, look=_chunks),
    Check(name="no-transactions", asks="Is no transaction open?", stage=CheckStage.BEFORE, look=_transactions),
    Check(name="deduplication", asks="Does nobody need what blue knows?", stage=CheckStage.BEFORE, look=_deduplication),
    Check(name="replication-backlog", asks="Is replication up to date?", stage=CheckStage.BEFORE, look=_replication),
    Check(name="backlog-has-readers", asks="Will every backlog be read?", stage=CheckStage.BEFORE, look=_unowned),
    Check(name="shared-drained", asks="Is every Shared backlog small?", stage=CheckStage.BEFORE, look=_shared),
    Check(name="non-persistent", asks="Is every topic persistent?", stage=CheckStage.BEFORE, look=_non_persistent),
    Check(
        name="green-replicates",
        asks="Does green reach the clusters that blue replicates to?",
        stage=CheckStage.GUARDED,
        look=_replication_of_green,
    ),
    Check(name="topics-loaded", asks="Is every topic loaded?", stage=CheckStage.GUARDED, look=_loaded),
)
