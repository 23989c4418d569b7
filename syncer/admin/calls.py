"""The calls of Pulsar's admin REST API: what the product asks and sets, by name, and nothing else.

How a call reaches a broker is not decided here: :class:`~syncer.admin.client.AdminClient` goes by HTTP.
Every error is an ``AdminError`` with the status and the broker's own words.
Source: ``org.apache.pulsar.broker.admin.v2``, Pulsar 4.0.8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, Self
from urllib.parse import quote

from syncer.errors import AdminError

_SHOWN_CHARS: Final = 80
_NO_OWNER: Final = "Failed to find ownership"


class AdminRefused(AdminError):
    """The broker answered, with an error.

    ``status`` is the HTTP status, ``reason`` the broker's own words.
    """

    def __init__(self, message: str, *, status: int, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason


class AdminCalls(ABC):
    """The admin REST API of one cluster, or of one of its brokers.

    Topics are named in full (``persistent://tenant/namespace/topic``), namespaces as ``tenant/namespace``.
    """

    @abstractmethod
    async def get(self, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read; repeated while the broker cannot be reached or is not ready.

        Raises:
            AdminRefused: The broker answered with an error.
            AdminUnreachable: It did not answer.
        """

    @abstractmethod
    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write, once.

        Raises:
            AdminRefused: The broker answered with an error.
            AdminUnreachable: It did not answer; the outcome is unknown.
        """

    @abstractmethod
    def at(self, broker: str) -> Self:
        """The same API asked of one broker; it shares the connections of this one, and is closed with it.

        Args:
            broker: Its address as the cluster lists it, ``host:port``.
        """

    # Brokers and clusters

    async def check_health(self) -> None:
        """Ask the broker to produce and consume a message of its own; returns when it could."""
        await self.get("/admin/v2/brokers/health")

    async def brokers(self, cluster: str = "") -> list[str]:
        """List the addresses of the active brokers; without a name those of the cluster that is asked."""
        return await self._list(f"/admin/v2/brokers/{_part(cluster)}" if cluster else "/admin/v2/brokers")

    async def clusters(self) -> list[str]:
        """List the names of the clusters that this one knows, its own included."""
        return await self._list("/admin/v2/clusters")

    async def cluster(self, name: str) -> dict[str, Any] | None:
        """Read the addresses of a cluster; ``None`` when it is unknown."""
        return await self._find(f"/admin/v2/clusters/{_part(name)}")

    async def version(self) -> str:
        """Read the broker's version, such as ``4.0.8``."""
        return str(await self.get("/admin/v2/brokers/version"))

    async def configuration(self) -> dict[str, str]:
        """Read the broker's run-time configuration."""
        return await self._object("/admin/v2/brokers/configuration/runtime")

    async def dynamic_names(self) -> list[str]:
        """List the names of the settings that can be set for all brokers at run time."""
        return await self._list("/admin/v2/brokers/configuration")

    async def dynamic_settings(self) -> dict[str, str]:
        """Read the settings that were set for all brokers at run time."""
        return await self._object("/admin/v2/brokers/configuration/values")

    async def set_dynamic(self, key: str, value: str) -> None:
        """Set a setting for all brokers at run time."""
        await self.send("POST", f"/admin/v2/brokers/configuration/{_part(key)}/{_part(value)}")

    async def remove_dynamic(self, key: str) -> None:
        """Take a setting back to what each broker was configured with; it may need a restart to be so."""
        await self.send("DELETE", f"/admin/v2/brokers/configuration/{_part(key)}")

    async def loaded_topics(self) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
        """Read what the broker has loaded: namespace → bundle → domain → topic → statistics, up to a minute old."""
        return await self.served_topics() or {}

    async def served_topics(self) -> dict[str, dict[str, dict[str, dict[str, Any]]]] | None:
        """Read what :meth:`loaded_topics` does; ``None`` while a broker that has just begun has counted nothing."""
        path = "/admin/v2/broker-stats/topics"
        answer = await self.get(path)
        return None if answer is None else _object(path, answer)

    async def broker_metrics(self) -> list[dict[str, Any]]:
        """Read the broker's metrics: what each is of, and its figures.

        A broker of the extensible manager looks at its usage once more for it, as at each scrape of its metrics.
        """
        path = "/admin/v2/broker-stats/metrics"
        answer = await self.get(path)
        if not isinstance(answer, list) or not all(isinstance(each, dict) for each in answer):
            raise _odd(path, "a list of metrics", answer)
        return answer

    async def load_report(self) -> dict[str, Any]:
        """Read what the broker reports of its load; only the modular load manager has it."""
        return await self._object("/admin/v2/broker-stats/load-report")

    async def leader(self) -> dict[str, Any]:
        """Read which broker leads."""
        return await self._object("/admin/v2/brokers/leaderBroker")

    async def owned_bundles(self, cluster: str, broker: str) -> dict[str, Any]:
        """Read what a broker owns: bundle → how it holds it."""
        return await self._object(f"/admin/v2/brokers/{_part(cluster)}/{_part(broker)}/ownedNamespaces")

    async def boundaries(self, namespace: str) -> dict[str, Any]:
        """Read where a namespace is cut into bundles."""
        return await self._object(f"{namespace_url(namespace)}/bundles")

    async def anti_affinity_group(self, namespace: str) -> str:
        """Read which group of namespaces is kept apart that a namespace is of; empty where it is of none."""
        path = f"{namespace_url(namespace)}/antiAffinity"
        answer = await self.get(path)
        if not isinstance(answer, str | None):
            raise _odd(path, "a name", answer)
        return answer or ""

    async def isolation_policies(self, cluster: str) -> dict[str, Any]:
        """Read which brokers serve which namespaces: policy → what it says; empty where there is none."""
        return await self._find(f"{cluster_url(cluster)}/namespaceIsolationPolicies") or {}

    async def failure_domains(self, cluster: str) -> dict[str, Any]:
        """Read which brokers fail together: domain → its brokers; empty where there is none."""
        return await self._find(f"{cluster_url(cluster)}/failureDomains") or {}

    async def create_cluster(self, name: str, urls: Mapping[str, str]) -> None:
        """Make a cluster known, by its four addresses."""
        await self.send("PUT", f"/admin/v2/clusters/{_part(name)}", dict(urls))

    async def migration_mark(self, cluster: str) -> dict[str, Any] | None:
        """Read the migration state of this cluster itself; ``None`` when it was never set."""
        return await self._find(f"/admin/v2/clusters/{_part(cluster)}/migrate")

    async def set_migration_mark(self, cluster: str, urls: Mapping[str, str], *, migrated: bool) -> None:
        """Say where this cluster's clients go, and whether all of them go now.

        Args:
            cluster: Its own name; the broker takes any, and keeps it for ever.
            urls: All four addresses; they replace what was there.
            migrated: Whether everybody goes; else only the namespaces that are marked.
        """
        await self.send(
            "POST", f"/admin/v2/clusters/{_part(cluster)}/migrate?migrated={str(migrated).lower()}", dict(urls)
        )

    # Tenants and namespaces

    async def tenants(self) -> list[str]:
        """List tenants."""
        return await self._list("/admin/v2/tenants")

    async def tenant(self, name: str) -> dict[str, Any] | None:
        """Read a tenant; ``None`` when there is none."""
        return await self._find(f"/admin/v2/tenants/{_part(name)}")

    async def create_tenant(self, name: str, info: Mapping[str, Any]) -> None:
        """Create a tenant."""
        await self.send("PUT", f"/admin/v2/tenants/{_part(name)}", info)

    async def namespaces(self, tenant: str) -> list[str]:
        """List a tenant's namespaces."""
        return await self._list(f"/admin/v2/namespaces/{_part(tenant)}")

    async def namespace(self, name: str) -> dict[str, Any] | None:
        """Read a namespace's policies as the broker sees them; ``None`` when there is none."""
        return await self._find(f"/admin/v2/namespaces/{_names(name)}")

    async def create_namespace(self, name: str, policies: Mapping[str, Any]) -> None:
        """Create a namespace with first policies."""
        await self.send("PUT", f"/admin/v2/namespaces/{_names(name)}", policies)

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace that has no topics."""
        await self.send("DELETE", f"/admin/v2/namespaces/{_names(name)}")

    async def set_namespace(self, name: str, policy: str, value: object, *, method: str = "POST") -> None:
        """Set one policy (``retention``, ``replication``, …) by its REST name."""
        await self.send(method, f"/admin/v2/namespaces/{_names(name)}/{policy}", value)

    async def set_namespace_property(self, name: str, key: str, value: str) -> None:
        """Set a property of a namespace: clients do not see it, and brokers make nothing of it."""
        await self.send("PUT", f"/admin/v2/namespaces/{_names(name)}/property/{_part(key)}/{_part(value)}")

    async def remove_namespace_property(self, name: str, key: str) -> None:
        """Take a property of a namespace away."""
        await self.send("DELETE", f"/admin/v2/namespaces/{_names(name)}/property/{_part(key)}")

    async def mark_namespace(self, name: str, *, migrated: bool, looked_up: bool = False) -> None:
        """Say whether a namespace's clients go to where the cluster's mark says.

        Args:
            name: Which one.
            migrated: Whether they do.
            looked_up: :meth:`look_up` was called before; otherwise it is now.
        """
        if not looked_up:
            await self.look_up(name)
        await self.send("POST", f"/admin/v2/namespaces/{_names(name)}/migration", migrated)

    async def look_up(self, namespace: str) -> None:
        """Have a namespace's bundles looked up, which keeps its local policies.

        Marking a namespace that has none yet can make the broker's metadata thread wait for itself, and with it all
        that needs metadata, for 30 s (4.0.8, ``NamespacesBase.internalEnableMigration``); likewise one that is not
        there, so that it is asked for before.
        """
        await self.get(namespace_url(namespace))
        await self.get(f"/lookup/v2/topic/persistent/{_names(namespace)}/any/bundle")

    async def unload_namespace(self, name: str) -> None:
        """Have all brokers let go of a namespace's topics; they are loaded again when they are asked for."""
        await self.send("PUT", f"/admin/v2/namespaces/{_names(name)}/unload")

    # Bundles

    async def unload_bundle(self, bundle: str, target: str) -> None:
        """Have a bundle leave its owner for another broker; the modular manager may choose a third one.

        Args:
            bundle: Its full name, ``tenant/namespace/0x00000000_0x40000000``.
            target: As the cluster lists it, ``host:port``.
        """
        namespace, _, span = bundle.rpartition("/")
        await self.send("PUT", f"{namespace_url(namespace)}/{_part(span)}/unload?destinationBroker={_part(target)}")

    async def split_bundle(self, bundle: str, position: int) -> None:
        """Cut a bundle in two, both halves staying with its owner.

        The modular manager answers with success where the position is not inside the bundle, and does nothing.

        Args:
            bundle: Its full name, ``tenant/namespace/0x00000000_0x40000000``.
            position: Where; the upper half begins with it.
        """
        namespace, _, span = bundle.rpartition("/")
        query = "?unload=false&splitAlgorithmName=specified_positions_divide"
        await self.send("PUT", f"{namespace_url(namespace)}/{_part(span)}/split{query}", [position])

    async def owned_topics(self, bundle: str) -> list[str] | None:
        """List the topics of a bundle, as its owner knows them; ``None``: nobody owns it, and nobody does by this.

        Source: ``NamespacesBase.internalGetTopicHashPositionsAsync``, Pulsar 4.0.8: it is sent on to the owner, and
        refused where there is none.
        """
        namespace, _, span = bundle.rpartition("/")
        path = f"{namespace_url(namespace)}/{_part(span)}/topicHashPositions"
        try:
            found = (await self._object(path)).get("topicHashPositions")
        except AdminRefused as refused:
            if refused.status == 412 and _NO_OWNER in refused.reason:
                return None
            raise
        return list(_object(path, found))

    async def look_up_topic(self, topic: str) -> dict[str, Any]:
        """Have a topic's bundle owned by a broker, as a client's look-up would; the addresses of that one."""
        return await self._object(f"/lookup/v2/topic/{_topic(topic)}")

    # Topics

    async def topics(self, namespace: str, *, domain: str = "persistent", system: bool = False) -> list[str]:
        """List a namespace's topics, partitions each for itself; persistent ones that are stored, others if loaded.

        Args:
            namespace: Where.
            domain: ``persistent`` or ``non-persistent``.
            system: The broker's own topics too.
        """
        query = "?includeSystemTopic=true" if system else ""
        return await self._list(f"/admin/v2/{domain}/{_names(namespace)}{query}")

    async def first_form_topics(self, namespace: str) -> list[str]:
        """List the persistent topics of a namespace of the first form, ``PROPERTY/CLUSTER/NAMESPACE``.

        Brokers since 4.2 serve no such namespace, and refuse it.
        """
        return await self._list(f"/admin/persistent/{_names(namespace)}")

    async def scalable_topics(self, namespace: str) -> list[str]:
        """List a namespace's scalable topics, as ``topic://TENANT/NAMESPACE/TOPIC``; brokers before 5.0 refuse it."""
        return await self._list(f"/admin/v2/scalable/{_names(namespace)}")

    async def partitioned_topics(self, namespace: str, *, domain: str = "persistent") -> list[str]:
        """List a namespace's partitioned topics."""
        return await self._list(f"/admin/v2/{domain}/{_names(namespace)}/partitioned")

    async def partitions(self, topic: str) -> int:
        """Number of partitions; 0 for a topic without partitions and for one that does not exist."""
        found = await self._find(_partitions(topic))
        count = 0 if found is None else found.get("partitions")
        if not isinstance(count, int):
            raise _odd(_partitions(topic), "a number of partitions", found)
        return count

    async def create_partitions(self, topic: str, count: int) -> None:
        """Create a partitioned topic, with all its partitions."""
        await self.send("PUT", f"/admin/v2/{_topic(topic)}/partitions", count)

    async def add_partitions(self, topic: str, count: int) -> None:
        """Give a partitioned topic more partitions.

        Args:
            topic: Without a partition's number.
            count: How many it has then.
        """
        await self.send("POST", f"/admin/v2/{_topic(topic)}/partitions", count)

    async def create_topic(self, topic: str) -> None:
        """Create a topic without partitions."""
        await self.send("PUT", f"/admin/v2/{_topic(topic)}")

    async def create_subscription_at_earliest(
        self, topic: str, subscription: str, *, properties: Mapping[str, str] | None = None, replicated: bool = False
    ) -> bool:
        """Create a durable subscription from the earliest message; answers False when it exists."""
        body: dict[str, object] = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
        if properties:
            body["properties"] = dict(properties)
        query = "?replicated=true" if replicated else ""
        try:
            await self.send("PUT", f"/admin/v2/{_topic(topic)}/subscription/{_part(subscription)}{query}", body)
        except AdminRefused as exc:
            if exc.status == 409:
                return False
            raise
        return True

    async def delete_topic(self, topic: str, *, force: bool = False) -> None:
        """Delete a topic without partitions."""
        await self.send("DELETE", f"/admin/v2/{_topic(topic)}?force={str(force).lower()}")

    async def unload_topic(self, topic: str) -> None:
        """Have its broker let go of a topic; it is loaded again when it is asked for."""
        await self.send("PUT", f"/admin/v2/{_topic(topic)}/unload")

    async def stats(self, topic: str, *, precise: bool = False) -> dict[str, Any] | None:
        """Read a topic's statistics, which loads it; ``None`` when it does not exist.

        Args:
            topic: One without partitions, or a partition.
            precise: Backlogs are counted, not estimated.
        """
        query = "?getPreciseBacklog=true" if precise else ""
        return await self._find(f"/admin/v2/{_topic(topic)}/stats{query}")

    async def internal_stats(self, topic: str) -> dict[str, Any] | None:
        """Read the state of a topic's managed ledger, which loads it; ``None`` when it does not exist."""
        return await self._find(f"/admin/v2/{_topic(topic)}/internalStats")

    async def internal_info(self, topic: str) -> dict[str, Any] | None:
        """Read what the metadata store holds of a topic, without loading it; ``None`` when it does not exist.

        A broker fails (500) at one that does not exist, and is asked then whether it does.
        Source: Pulsar's issue 17121.
        """
        try:
            return await self._find(f"/admin/v2/{_topic(topic)}/internal-info")
        except AdminRefused as exc:
            if exc.status != 500 or await self._find(_partitions(topic)) is not None:
                raise
            return None

    async def topic_policy(self, topic: str, policy: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read a policy of the topic's own (``publishRate``, …); ``None`` when it has none."""
        return await self.get(f"/admin/v2/{_topic(topic)}/{policy}")

    async def set_topic_policy(self, topic: str, policy: str, value: object) -> None:
        """Set a policy of the topic's own."""
        await self.send("POST", f"/admin/v2/{_topic(topic)}/{policy}", value)

    async def remove_topic_policy(self, topic: str, policy: str) -> None:
        """Take a policy of the topic's own away."""
        await self.send("DELETE", f"/admin/v2/{_topic(topic)}/{policy}")

    async def schema(self, topic: str) -> dict[str, Any] | None:
        """Read the latest schema of a topic; ``None`` when it has none."""
        _, _, rest = topic.partition("://")
        return await self._find(f"/admin/v2/schemas/{_names(rest)}/schema")

    async def _find(self, path: str) -> dict[str, Any] | None:
        try:
            return await self._object(path)
        except AdminRefused as exc:
            if exc.status == 404:
                return None
            raise

    async def _object(self, path: str) -> dict[str, Any]:
        return _object(path, await self.get(path))

    async def _list(self, path: str) -> list[str]:
        answer = await self.get(path)
        if not isinstance(answer, list) or not all(isinstance(each, str) for each in answer):
            raise _odd(path, "a list of names", answer)
        return answer


def _object(path: str, answer: object) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise _odd(path, "an object", answer)
    return answer


def _odd(path: str, expected: str, answer: object) -> AdminError:
    """The error of an answer that is none of Pulsar's: a page of something else, perhaps."""
    return AdminError(
        f"GET {path} answered {str(answer)[:_SHOWN_CHARS]!r} and not {expected}",
        hint="Check that the address is that of Pulsar's admin API, and of nothing that stands before it.",
    )


def _part(name: str) -> str:
    return quote(name, safe="")


def _names(name: str) -> str:
    return "/".join(_part(part) for part in name.split("/", 2))


def _topic(topic: str) -> str:
    domain, _, rest = topic.partition("://")
    return f"{domain}/{_names(rest)}"


def _partitions(topic: str) -> str:
    return f"/admin/v2/{_topic(topic)}/partitions?checkAllowAutoCreation=false"


def tenant_url(name: str) -> str:
    """Path of a tenant in the API."""
    return f"/admin/v2/tenants/{_part(name)}"


def namespace_url(name: str) -> str:
    """Path of a namespace in the API; its policies are below."""
    return f"/admin/v2/namespaces/{_names(name)}"


def topic_url(topic: str) -> str:
    """Path of a topic in the API."""
    return f"/admin/v2/{_topic(topic)}"


def cluster_url(name: str) -> str:
    """Path of a cluster in the API."""
    return f"/admin/v2/clusters/{_part(name)}"


def subscription_url(topic: str, subscription: str) -> str:
    """Path of a subscription in the API; of a partitioned topic: of that on every partition."""
    return f"{topic_url(topic)}/subscription/{_part(subscription)}"


def schema_url(topic: str) -> str:
    """Path of a topic's latest schema in the API."""
    return f"/admin/v2/schemas/{_names(topic.partition('://')[2])}/schema"
