"""Whether topics exist below a namespace or a partitioned topic, asked of the brokers."""

from __future__ import annotations

from syncer.admin.client import AdminClient
from syncer.conflict.guards import Topics
from syncer.errors import SyncerError
from syncer.model import MetaPath, ResourceKind
from syncer.paths import DOMAINS, classify


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
            if resource.kind is ResourceKind.NAMESPACE:
                found = [
                    topic for domain in DOMAINS for topic in await self._client.topics(resource.name, domain=domain)
                ]
                return Topics.SOME if found else Topics.NONE
            domain, _, rest = resource.name.partition("://")
            namespace = rest.rsplit("/", 1)[0]
            topics = await self._client.topics(namespace, domain=domain)
        except SyncerError:
            return Topics.CANNOT_ASK
        partition = f"{resource.name}-partition-"
        return (
            Topics.SOME
            if any(topic.startswith(partition) or topic == resource.name for topic in topics)
            else Topics.NONE
        )
