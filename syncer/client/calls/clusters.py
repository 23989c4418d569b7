"""Calls of the REST API about clusters.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.balancing.advice import AdviceDocument
from syncer.documents.balancing.comparison import ComparisonDocument
from syncer.documents.balancing.doctor import DoctorDocument
from syncer.documents.balancing.load import LoadDocument


class ClustersCalls(ApiCalls):
    """Calls about clusters."""

    def advice(
        self,
        cluster: str,
        *,
        rolling_restart: bool | None = None,
        most_usage: float | None = None,
        listen: float | None = None,
        within: float | None = None,
        rule: Literal["cheapest-within", "knee", "flattest"] | None = None,
        reach: float | None = None,
        act_above: float | None = None,
        where_pulsar_rests: bool | None = None,
        fill: str | None = None,
        cuts: bool | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """The few moves that balance a cluster, each with its reason, gain and price, or why none is worth it.

        Args:
            cluster: Name of the cluster's table in the configuration.
            rolling_restart: Order of a rolling restart, instead.
            most_usage: How many brokers would do up to this usage, instead.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.
            rule: How one plan of the front of balance against cost is picked.
            reach: The spread to come to.
            act_above: A spread up to this is left alone.
            where_pulsar_rests: Even where no strategy of Pulsar would act.
            fill: Bring load to this broker, a new one.
            cuts: Bundles may be split without an unload, and a part be moved: asks for topics.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/advice",
                query={
                    "rolling_restart": rolling_restart,
                    "most_usage": most_usage,
                    "listen": listen,
                    "within": within,
                    "rule": rule,
                    "reach": reach,
                    "act_above": act_above,
                    "where_pulsar_rests": where_pulsar_rests,
                    "fill": fill,
                    "cuts": cuts,
                },
            )
        )

    def advice_plan(
        self,
        cluster: str,
        *,
        listen: float | None = None,
        within: float | None = None,
        rule: Literal["cheapest-within", "knee", "flattest"] | None = None,
        reach: float | None = None,
        act_above: float | None = None,
        where_pulsar_rests: bool | None = None,
        fill: str | None = None,
        cuts: bool | None = None,
        per_broker: int | None = None,
        per_namespace: int | None = None,
        per_hour: int | None = None,
        quiet: str | None = None,
        taken_ms: int | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """The plan of these moves, to be sent to /move-runs.

        Args:
            cluster: Name of the cluster's table in the configuration.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.
            rule: How one plan of the front of balance against cost is picked.
            reach: The spread to come to.
            act_above: A spread up to this is left alone.
            where_pulsar_rests: Even where no strategy of Pulsar would act.
            fill: Bring load to this broker, a new one.
            cuts: Bundles may be split without an unload, and a part be moved: asks for topics.
            per_broker: Moves at a time that a broker takes part in.
            per_namespace: Moves at a time of a namespace.
            per_hour: Unloads in any hour.
            quiet: When bundles may move, UTC, as 22:00-05:30; always if not given.
            taken_ms: 'taken_ms' of the advice that was looked at; another is refused.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/advice/plan",
                query={
                    "listen": listen,
                    "within": within,
                    "rule": rule,
                    "reach": reach,
                    "act_above": act_above,
                    "where_pulsar_rests": where_pulsar_rests,
                    "fill": fill,
                    "cuts": cuts,
                    "per_broker": per_broker,
                    "per_namespace": per_namespace,
                    "per_hour": per_hour,
                    "quiet": quiet,
                    "taken_ms": taken_ms,
                },
            )
        )

    def comparison(
        self,
        cluster: str,
        *,
        listen: float | None = None,
        within: float | None = None,
        rounds: int | None = None,
        setting: Sequence[str] | None = None,
        strategy: Sequence[str] | None = None,
        recorded: bool | None = None,
        since: float | None = None,
    ) -> ApiAnswer[ComparisonDocument]:
        """Strategies and settings of Pulsar over the cluster's load, beside each our cheapest plan as even.

        Args:
            cluster: Name of the cluster's table in the configuration.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.
            rounds: Rounds of shedding at most.
            setting: PROPERTY=VALUE of all brokers; once for each.
            strategy: Only this strategy, as ThresholdShedder; once for each.
            recorded: Over the load that was recorded, each sample a round at least.
            since: Of recorded load only so many seconds; all else.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            ComparisonDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/comparison",
                query={
                    "listen": listen,
                    "within": within,
                    "rounds": rounds,
                    "setting": setting,
                    "strategy": strategy,
                    "recorded": recorded,
                    "since": since,
                },
            ),
        )

    def doctor(
        self, cluster: str, *, topics: bool | None = None, listen: float | None = None, within: float | None = None
    ) -> ApiAnswer[DoctorDocument]:
        """Whatever hinders load balancing, each finding with evidence and remedy; and what cannot be judged.

        Args:
            cluster: Name of the cluster's table in the configuration.
            topics: Each broker is asked for its topics, too.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            DoctorDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/doctor",
                query={"topics": topics, "listen": listen, "within": within},
            ),
        )

    def drain(
        self, cluster: str, *, broker: Sequence[str], listen: float | None = None, within: float | None = None
    ) -> ApiAnswer[AdviceDocument]:
        """The moves that empty brokers, each bundle moving once to where there is room, and what they cost.

        Args:
            cluster: Name of the cluster's table in the configuration.
            broker: To be emptied.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            AdviceDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/drain",
                query={"broker": broker, "listen": listen, "within": within},
            ),
        )

    def drain_plan(
        self,
        cluster: str,
        *,
        broker: Sequence[str],
        listen: float | None = None,
        within: float | None = None,
        per_broker: int | None = None,
        per_namespace: int | None = None,
        per_hour: int | None = None,
        quiet: str | None = None,
        taken_ms: int | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """The plan of these moves, to be sent to /move-runs.

        Args:
            cluster: Name of the cluster's table in the configuration.
            broker: To be emptied.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.
            per_broker: Moves at a time that a broker takes part in.
            per_namespace: Moves at a time of a namespace.
            per_hour: Unloads in any hour.
            quiet: When bundles may move, UTC, as 22:00-05:30; always if not given.
            taken_ms: 'taken_ms' of the advice that was looked at; another is refused.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/drain/plan",
                query={
                    "broker": broker,
                    "listen": listen,
                    "within": within,
                    "per_broker": per_broker,
                    "per_namespace": per_namespace,
                    "per_hour": per_hour,
                    "quiet": quiet,
                    "taken_ms": taken_ms,
                },
            )
        )

    def load(
        self, cluster: str, *, topics: bool | None = None, listen: float | None = None, within: float | None = None
    ) -> ApiAnswer[LoadDocument]:
        """What is known of the load: brokers, bundles, each figure with its source and age; unknown is null.

        Args:
            cluster: Name of the cluster's table in the configuration.
            topics: Each broker is asked for its topics, too.
            listen: Seconds to hear the load topics of the extensible manager, which keep nothing.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LoadDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/load",
                query={"topics": topics, "listen": listen, "within": within},
            ),
        )
