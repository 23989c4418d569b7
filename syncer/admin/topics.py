"""Checks asked of the brokers: the topics below a namespace or a partitioned topic, and each broker's version."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Final, Self

from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.scalable_answers import FIRST, ScalableTold, ask_scalable, summed
from syncer.admin.scalable_topics import ScalableCount
from syncer.admin.version_probe import BrokersTold
from syncer.conflict.deletes.collected import BrokerCollection, CollectionTold
from syncer.conflict.fields.table import parse_version
from syncer.conflict.guards import Topics
from syncer.errors import AdminError, SyncerError
from syncer.model import MetaPath, ResourceKind
from syncer.paths import DOMAINS, Resource, classify

_SHOWN_CHARS: Final = 40
_IN_BROKERS: Final = "non-persistent"
_REFUSED: Final = frozenset({401, 403, 404, 405})
"""Answers that stay as they are until somebody changes a right, or what stands before the brokers."""
_NOT_SERVED: Final = ("Namespace missing local cluster name", "Namespace does not have any clusters configured")
"""How a broker begins to say that it serves nothing of a namespace: no list of clusters names its own.

Source: ``PulsarWebResource.checkLocalOrGetPeerReplicationCluster`` of Pulsar 4.0.8, 4.2.4 and 5.0.0-M1.
"""


class ClustersProbe:
    """Asks the brokers of every cluster that a configuration store serves; a ``TopicProbe`` and a ``VersionProbe``.

    Where there are several, each is found by the address that it is declared with, and one that cannot be asked leaves
    the answer open: its brokers may have what the others' have not.

    Args:
        config: How to reach a broker of one of them; its credentials hold for all.
        clusters: Names of the clusters.
    """

    asks = True

    def __init__(self, config: AdminSettings, clusters: Collection[str]) -> None:
        self._config = config
        self._clusters = tuple(sorted(clusters))
        self._first = AdminClient(config)
        self._found: dict[str, AdminClient] = {}

    async def __aenter__(self) -> Self:
        """Nothing is connected before the first question."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        for client in (self._first, *self._found.values()):
            await client.close()

    async def ask(self, path: MetaPath) -> Topics:
        """Ask one after the other until one has topics; ``NONE`` only when all say so."""
        if len(self._clusters) <= 1:
            return await AdminProbe(self._first).ask(path)
        worst = Topics.NONE
        for cluster in self._clusters:
            try:
                client = await self._client(cluster)
            except SyncerError:
                client = None
            answer = Topics.CANNOT_ASK if client is None else await AdminProbe(client).ask(path)
            if answer in {Topics.SOME, Topics.SCALABLE}:
                return answer
            worst = Topics.CANNOT_ASK if Topics.CANNOT_ASK in {answer, worst} else worst
        return worst

    async def versions(self) -> BrokersTold:
        """Ask every broker that the clusters list for its version."""
        told: dict[str, str] = {}
        try:
            for cluster in self._clusters or ("",):
                client = self._first if len(self._clusters) <= 1 else await self._client(cluster)
                if client is None:
                    return BrokersTold(versions=told, trouble=f"no admin API is declared for cluster {cluster}")
                for broker in await client.brokers(cluster):
                    told[broker] = await client.at(broker).version()
        except SyncerError as exc:
            return BrokersTold(versions=told, trouble=exc.message)
        nonsense = [
            f"{broker} says {text[:_SHOWN_CHARS]!r}" for broker, text in told.items() if not parse_version(text)
        ]
        if nonsense:
            return BrokersTold(versions=told, trouble=f"not a version of Pulsar: {', '.join(sorted(nonsense)[:3])}")
        return BrokersTold(versions=told, trouble="" if told else "the clusters list no broker")

    async def collection(self) -> CollectionTold:
        """Ask every broker that the clusters list for its settings; one that does not answer keeps no other back."""
        told: dict[str, BrokerCollection] = {}
        troubles: list[SyncerError] = []
        for cluster in self._clusters or ("",):
            try:
                client = self._first if len(self._clusters) <= 1 else await self._client(cluster)
                if client is None:
                    raise AdminError(f"no admin API is declared for cluster {cluster}")
                brokers = await client.brokers(cluster)
            except SyncerError as exc:
                troubles.append(exc)
                continue
            for broker in brokers:
                try:
                    told[broker] = BrokerCollection.of(await client.at(broker).configuration())
                except SyncerError as exc:
                    troubles.append(exc)
        if not troubles:
            return CollectionTold(brokers=told, trouble="" if told else "the clusters list no broker")
        refused = all(isinstance(each, AdminRefused) and each.status in _REFUSED for each in troubles)
        return CollectionTold(brokers=told, trouble=troubles[0].message, refused=refused)

    async def scalable(self) -> ScalableTold:
        """Count the scalable topics of every cluster; those whose brokers are all too old for them have none."""
        counts: list[ScalableCount] = []
        try:
            for cluster in self._clusters or ("",):
                client = self._first if len(self._clusters) <= 1 else await self._client(cluster)
                if client is None:
                    return ScalableTold(trouble=f"no admin API is declared for cluster {cluster}")
                brokers = await client.brokers(cluster)
                if not brokers:
                    return ScalableTold(trouble=f"cluster {cluster or 'here'} lists no broker")
                for broker in brokers:
                    version = parse_version(await client.at(broker).version())
                    if version is not None and version >= FIRST:
                        counts.append(await ask_scalable(client.at(broker)))
                        break
        except SyncerError as exc:
            return ScalableTold(trouble=exc.message)
        return ScalableTold(count=summed(counts))

    async def _client(self, cluster: str) -> AdminClient | None:
        """A client of a cluster at the address that it is declared with now."""
        declared = await self._first.cluster(cluster) or {}
        secure = self._config.url.startswith("https://")
        url = declared.get("serviceUrlTls") if secure else declared.get("serviceUrl")
        if not url:
            return None
        if url not in self._found:
            self._found[url] = AdminClient(self._config.model_copy(update={"url": url}))
        return self._found[url]


class AdminProbe:
    """Asks one cluster's brokers; a ``syncer.admin.topic_probe.TopicProbe``."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client

    async def ask(self, path: MetaPath) -> Topics:
        """Look for topics of the namespace, or for partitions of the topic, that the brokers know."""
        resource = classify(path)
        if resource is None or resource.kind not in {ResourceKind.NAMESPACE, ResourceKind.PARTITIONED_TOPIC}:
            return Topics.NONE
        try:
            return await self._look(resource)
        except AdminRefused as exc:
            return (
                Topics.NONE if exc.status == 404 else Topics.CANNOT_ASK
            )  # a namespace unknown to its brokers has none
        except SyncerError:
            return Topics.CANNOT_ASK

    async def _scalable(self, namespace: str) -> list[str]:
        """The scalable topics of a namespace; brokers before 5.0 know of none, and no such address."""
        try:
            return await self._client.scalable_topics(namespace)
        except AdminRefused as exc:
            if exc.status == 404:
                return []
            raise

    async def _topics(self, namespace: str, domain: str) -> list[str]:
        """The topics of one domain; what is not persistent lives in brokers alone: where none serves, there is none."""
        try:
            return await self._client.topics(namespace, domain=domain)
        except AdminRefused as exc:
            if domain == _IN_BROKERS and exc.status == 412 and exc.reason.startswith(_NOT_SERVED):
                return []
            raise

    async def _look(self, resource: Resource) -> Topics:
        if resource.kind is ResourceKind.NAMESPACE:
            for domain in sorted(DOMAINS):
                if await self._topics(resource.name, domain):
                    return Topics.SOME
            return Topics.SOME if await self._scalable(resource.name) else Topics.NONE
        domain, _, rest = resource.name.partition("://")
        if domain == "persistent" and f"topic://{rest}" in await self._scalable(rest.rsplit("/", 1)[0]):
            return Topics.SCALABLE
        topics = await self._topics(rest.rsplit("/", 1)[0], domain)
        partition = f"{resource.name}-partition-"
        found = any(topic == resource.name or topic.startswith(partition) for topic in topics)
        return Topics.SOME if found else Topics.NONE
