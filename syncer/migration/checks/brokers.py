"""Checks of blue's and green's brokers: versions, settings, balancing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from syncer.admin.stillness import STILL
from syncer.client_versions import release_of
from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity
from syncer.migration.evidence import BrokerSeen

CHECK_PERIOD: Final = "clusterMigrationCheckDurationSeconds"
LONGEST_PERIOD_S: Final = 5
_FIRST: Final = (3, 2, 0)
_GOOD: Final = (4, 0, 2)


def slowest_period_s(settings: Iterable[Mapping[str, str] | None]) -> float:
    """For how long the slowest of some brokers does not look for marks, by their run-time configurations, in seconds.

    Where none tells, it is the longest that a migration begins with.
    """
    told = [each.get(CHECK_PERIOD, "") for each in settings if each is not None]
    return max((float(each) for each in told if each.isdecimal()), default=float(LONGEST_PERIOD_S))


def _versions(picture: ClusterPair) -> Iterator[CheckFinding]:
    if not picture.blue.brokers:
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=picture.blue.name,
            evidence="blue lists no broker",
            remedy="name an address of blue that answers, and a role that may list its brokers",
        )
    for broker in picture.blue.brokers:
        release = release_of(broker.version) if broker.version is not None else None
        if release is None:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=broker.address,
                evidence=f"the broker tells its version as {broker.version!r}",
                remedy="find out what it runs; 3.2.0 is the first that can be migrated by namespace",
            )
        elif release < _FIRST:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=broker.address,
                evidence=f"it runs {broker.version}; marks of namespaces and local marks are there since 3.2.0",
                remedy="update blue to 4.0.2 or later first",
            )
        elif release < _GOOD:
            yield CheckFinding(
                severity=FindingSeverity.WARN,
                subject=broker.address,
                evidence=f"it runs {broker.version}, which migrates the topics of its own health check too",
                remedy="update blue to 4.0.2 or later, or take its health checks for failing meanwhile",
            )


def _setting(broker: BrokerSeen, key: str) -> str | None:
    return broker.settings.get(key) if broker.settings is not None else None


def _period(picture: ClusterPair) -> Iterator[CheckFinding]:
    for broker in picture.blue.brokers:
        told = _setting(broker, CHECK_PERIOD)
        seconds = int(told) if told is not None and told.isdecimal() else None
        if seconds is None:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=broker.address,
                evidence=f"the broker does not tell its {CHECK_PERIOD} ({told!r})",
                remedy="use a role that may read the run-time configuration",
            )
        elif seconds == 0:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=broker.address,
                evidence=f"{CHECK_PERIOD}=0: this broker never looks for marks",
                remedy=f"set {CHECK_PERIOD}=2 and restart it",
            )
        elif seconds > LONGEST_PERIOD_S:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=broker.address,
                evidence=f"{CHECK_PERIOD}={seconds}: a brake that reaches over it stops connections for too long",
                remedy=f"set {CHECK_PERIOD} to {LONGEST_PERIOD_S} or less and restart it",
            )


def _topic_policies(picture: ClusterPair) -> Iterator[CheckFinding]:
    for broker in picture.blue.brokers:
        for key in ("topicLevelPoliciesEnabled", "systemTopicEnabled"):
            if _setting(broker, key) == "false":
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=broker.address,
                    evidence=f"{key}=false: topics have no policies of their own, so no brake of their own",
                    remedy=f"set {key}=true and restart it; or accept gaps of a minute, or clients that die",
                )


def _still(picture: ClusterPair) -> Iterator[CheckFinding]:
    for key, wanted in STILL.items():
        running = {broker.address: _setting(broker, key) for broker in picture.blue.brokers}
        told = picture.blue.dynamic.get(key)
        moving = [address for address, value in running.items() if (told or value) != wanted]
        if moving:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=", ".join(moving),
                evidence=f"{key} is {told or running[moving[0]]!r}: a topic that moves after its mark is stranded",
                remedy="'syncer migration start' sets it, and sets it back at the end",
            )


CHECKS: Final = (
    Check(name="broker-version", asks="Can every broker of blue be migrated?", stage=CheckStage.BEFORE, look=_versions),
    Check(
        name="check-period",
        asks="Does every broker look for marks, often enough?",
        stage=CheckStage.BEFORE,
        look=_period,
    ),
    Check(name="topic-policies", asks="Can topics be braked?", stage=CheckStage.BEFORE, look=_topic_policies),
    Check(name="balancing-frozen", asks="Does every bundle stay where it is?", stage=CheckStage.GUARDED, look=_still),
)
