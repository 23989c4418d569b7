"""The plan of a migration: which clusters, what is moved in which order, and what blue held when the plan was made.

A plan is a value, kept in a file and approved by an operator. Its fingerprint names exactly this plan; whatever has
changed at the clusters since is told before anything is done by it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from syncer.errors import PlanInvalid, PlanStale
from syncer.migration.evidence import ClusterSeen, ClusterUrls, NamespaceSeen
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides, all_in_waves
from syncer.model import Millis

AGAIN: Final = "Make the plan again with 'syncer migration plan', look at it, and go on with that one."
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationWish:
    """What an operator wants to be planned.

    Attributes:
        tables: Names of blue's and green's table in the configuration.
        scope: What is moved; ``None``: all of blue, in waves.
        wave_size: Namespaces of such a wave; where the scope is given it counts for nothing.
        whole_cluster: Whether the cluster's own mark is set at the end of these.

    Raises:
        PlanInvalid: Both tables are the same.
    """

    tables: tuple[str, str]
    scope: MigrationScope | None
    wave_size: int
    whole_cluster: bool
    overrides: Overrides
    bounds: MigrationBounds

    def __post_init__(self) -> None:
        _require_two(*self.tables)

    def scope_of(self, blue: ClusterSeen) -> MigrationScope:
        """What is moved of blue as it was read.

        Raises:
            PlanInvalid: There is nothing to move.
        """
        if self.scope is not None:
            return self.scope
        topics = {name: len(each.topics) for name, each in blue.namespaces.items()}
        return all_in_waves(topics, wave=self.wave_size, whole_cluster=self.whole_cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCluster:
    """One of the two clusters, as the plan was made for it.

    Attributes:
        table: Name of its table in the configuration.
        name: As it calls itself.
        urls: Its addresses by that table.
    """

    table: str
    name: str
    urls: ClusterUrls

    def changes(self, seen: ClusterSeen) -> tuple[str, ...]:
        """What is no longer so, in words."""
        found: list[str] = []
        if seen.name != self.name:
            found.append(f"'cluster.{self.table}' leads to {seen.name!r}, and led to {self.name!r}")
        named = seen.urls.named
        found += [
            f"'cluster.{self.table}' has {named[field] or 'no address'} as {field}, and had {url or 'none'}"
            for field, url in self.urls.named.items()
            if named[field] != url
        ]
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """A plan.

    Attributes:
        made_at_ms: When blue was read for it.
        contents: Namespace in scope → digest of what it held then (:func:`digest_of`).

    Raises:
        PlanInvalid: Blue and green are the same table, the digests are not those of the scope, or green could never be
            given a subscription.
    """

    made_at_ms: Millis
    blue: PlannedCluster
    green: PlannedCluster
    scope: MigrationScope
    bounds: MigrationBounds
    overrides: Overrides
    contents: Mapping[str, str]

    def __post_init__(self) -> None:
        _require_two(*self.tables)
        if self.bounds.subscriptions_per_s < 1:
            raise PlanInvalid(
                "with subscriptions_per_s below 1 green is never given what it lacks", hint="Allow 1 or more."
            )
        if set(self.contents) != set(self.scope.namespaces):
            raise PlanInvalid("the plan does not tell what each of its namespaces held", hint=AGAIN)

    @property
    def tables(self) -> tuple[str, str]:
        """Names of blue's and green's table in the configuration."""
        return self.blue.table, self.green.table

    @property
    def back(self) -> MigrationWish:
        """The wish for the way back: tables exchanged, the same namespaces, order and bounds, no check passed over."""
        return MigrationWish(
            tables=(self.green.table, self.blue.table),
            scope=self.scope,
            wave_size=1,
            whole_cluster=self.scope.whole_cluster,
            overrides=Overrides(),
            bounds=self.bounds,
        )

    @property
    def content(self) -> dict[str, object]:
        """All that it says, as plain data: equal plans have equal content."""
        return {
            "made_at_ms": self.made_at_ms,
            "blue": asdict(self.blue),
            "green": asdict(self.green),
            "canary": list(self.scope.canary),
            "waves": [list(wave) for wave in self.scope.waves],
            "whole_cluster": self.scope.whole_cluster,
            "bounds": asdict(self.bounds),
            "overrides": dict(sorted(self.overrides.reasons.items())),
            "contents": dict(sorted(self.contents.items())),
        }

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its content, in hexadecimal."""
        return _sha256(self.content)

    def changes(self, blue: ClusterSeen, green: ClusterSeen) -> tuple[str, ...]:
        """What is no longer as the plan says, in words; nothing: it holds.

        Args:
            blue: As it was just read, all namespaces in scope.
            green: As it was just read.
        """
        found = [*self.blue.changes(blue), *self.green.changes(green)]
        for name in self.scope.namespaces:
            if name not in blue.namespaces:
                found.append(f"blue has no namespace {name} any more")
            elif digest_of(blue, name) != self.contents[name]:
                found.append(f"topics or subscriptions of {name} were made or deleted")
        return tuple(found)

    def require_fresh(self, blue: ClusterSeen, green: ClusterSeen) -> None:
        """Go on only where nothing has changed since the plan was made.

        Raises:
            PlanStale: Something has; the first few changes are named.
        """
        if changes := self.changes(blue, green):
            more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
            raise PlanStale(f"the plan is stale: {'; '.join(changes[:_SHOWN])}{more}", hint=AGAIN)


def _require_two(blue: str, green: str) -> None:
    """Go on only where blue and green are two tables of the configuration.

    Raises:
        PlanInvalid: They are the same one.
    """
    if blue == green:
        raise PlanInvalid(
            f"'cluster.{blue}' is named as blue and as green",
            hint="Name two tables of the configuration: --from BLUE --to GREEN.",
        )


def digest_of(cluster: ClusterSeen, name: str) -> str:
    """SHA-256 of the names of a namespace's persistent topics, partitions and durable subscriptions, in hexadecimal.

    It is the same whether topics are loaded or not, and leaves out what clients make as they go: topics where topics
    are created automatically, subscriptions where those are. Where no broker tells, nothing is left out.
    """
    namespace = cluster.namespaces[name]
    if _automatic(cluster, namespace, "TopicCreation"):
        return _sha256("topics are created automatically")
    named = not _automatic(cluster, namespace, "SubscriptionCreation")
    return _sha256(
        {
            "partitions": dict(namespace.partitions),
            "topics": {
                topic: sorted(seen.subscription_names) if named else [] for topic, seen in namespace.topics.items()
            },
        }
    )


def _automatic(cluster: ClusterSeen, namespace: NamespaceSeen, what: str) -> bool:
    """Whether clients make topics, or subscriptions, of a namespace by using them."""
    override, setting = namespace.policies.get(f"auto{what}Override"), f"allowAuto{what}"
    if isinstance(override, Mapping):
        return bool(override.get(setting))
    settings = [broker.settings or {} for broker in cluster.brokers]
    return cluster.dynamic.get(setting, next((each[setting] for each in settings if setting in each), "")) == "true"


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
