"""Whether topics exist below a namespace or a partitioned topic, asked of the brokers."""

from __future__ import annotations

from syncer.admin.client import AdminClient, AdminRefused
from syncer.conflict.guards import Topics
from syncer.errors import SyncerError
from syncer.model import MetaPath, ResourceKind
from syncer.paths import DOMAINS, Resource, classify


class AdminProbe:
    """Asks one cluster's brokers; a ``syncer.replication.topics.TopicProbe``."""

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

    async def _look(self, resource: Resource) -> Topics:
        if resource.kind is ResourceKind.NAMESPACE:
            for domain in sorted(DOMAINS):
                if await self._client.topics(resource.name, domain=domain):
                    return Topics.SOME
            return Topics.NONE
        domain, _, rest = resource.name.partition("://")
        topics = await self._client.topics(rest.rsplit("/", 1)[0], domain=domain)
        partition = f"{resource.name}-partition-"
        found = any(topic == resource.name or topic.startswith(partition) for topic in topics)
        return Topics.SOME if found else Topics.NONE
