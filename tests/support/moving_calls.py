"""The admin API of a cluster in thought whose bundles move, with brokers that hang, refuse, or tell nonsense."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.admin.stillness import SHEDDING
from syncer.balancer.moving.acts import ReleaseClaim, SetSetting, Split, TakeClaim, Unload, UnsetSetting
from syncer.balancer.ranges import boundary_text, namespace_of_topic, range_of_bundle, topic_hash
from syncer.errors import AdminUnreachable
from tests.support.moving_cluster import MovingCluster


@dataclass
class MovingCalls(AdminCalls):
    """Answers for a :class:`MovingCluster`; ``refusals`` is by a part of the call, 0 being no answer.

    ``unstarted`` brokers are registered, and own not even their own heartbeat yet.
    """

    moving: MovingCluster
    refusals: dict[str, int] = field(default_factory=dict)
    topics_of: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    broker: str = ""
    most_bundles: str = "128"
    unstarted: set[str] = field(default_factory=set)

    def at(self, broker: str) -> Self:
        return type(self)(
            self.moving, self.refusals, self.topics_of, self.asked, broker, self.most_bundles, self.unstarted
        )

    async def get(self, path: str) -> Any:
        self._ask(f"GET {self.broker}{path}")
        match unquote(path).removeprefix("/admin/v2/").split("/"):
            case ["brokers", "configuration", "runtime"]:
                return {"clusterName": "east-1", "loadBalancerNamespaceMaximumBundles": self.most_bundles} | {
                    SHEDDING: self.moving.dynamic.get(SHEDDING, "true")
                }
            case ["brokers", "configuration", "values"]:
                return dict(self.moving.dynamic)
            case ["brokers", "east-1"]:
                return sorted(self.moving.brokers)
            case ["brokers", "east-1", broker, "ownedNamespaces"]:
                assert broker == self.broker, "a broker tells of its own only"
                own: dict[str, dict[str, str]] = (
                    {} if broker in self.unstarted else {f"pulsar/{broker}/0x00000000_0xffffffff": {}}
                )
                return own | {bundle: {} for bundle, owner in self.moving.owners.items() if owner == broker}
            case ["namespaces", "pulsar", "system"]:
                return self._system()
            case ["namespaces", tenant, namespace, span, "topicHashPositions"]:
                return self._hashes(f"{tenant}/{namespace}/{span}")
            case ["", "lookup", "v2", "topic", domain, tenant, namespace, topic]:
                return self._found(f"{domain}://{tenant}/{namespace}/{topic}")
            case ["namespaces", tenant, namespace, "bundles"]:
                return self._boundaries(f"{tenant}/{namespace}/")
            case ["broker-stats", "topics"]:
                return self._loaded()
            case ["persistent", tenant, namespace]:
                return self.topics_of.get(f"{tenant}/{namespace}", [])
        return None

    async def send(self, method: str, path: str, body: object = None) -> None:
        self._ask(f"{method} {path}")
        match unquote(path).removeprefix("/admin/v2/").split("/"):
            case ["brokers", "configuration", key]:
                self.moving.perform(UnsetSetting(key))
            case ["brokers", "configuration", key, value]:
                self.moving.perform(SetSetting(key, value))
            case ["namespaces", "pulsar", "system", "property", "pulsar-syncer.moves.east-1", *claim]:
                self.moving.perform(TakeClaim(*claim) if claim else ReleaseClaim())
            case ["namespaces", tenant, namespace, span, split] if split.startswith("split"):
                assert split == "split?unload=false&splitAlgorithmName=specified_positions_divide"
                assert isinstance(body, list)
                (position,) = body
                self.moving.perform(Split(0, f"{tenant}/{namespace}/{span}", position))
            case ["namespaces", tenant, namespace, span, unload]:
                target = unload.removeprefix("unload?destinationBroker=")
                bundle = f"{tenant}/{namespace}/{span}"
                self.moving.perform(Unload(0, bundle, target))
                self.moving.owners[bundle] = self.moving.coming.pop(bundle, self.moving.owners[bundle])

    def _ask(self, call: str) -> None:
        self.asked.append(call)
        for part, status in self.refusals.items():
            if part in call:
                if status == 0:
                    raise AdminUnreachable(f"{call}: no answer")
                raise AdminRefused(f"{call} answered {status}: no", status=status, reason="no")

    def _hashes(self, bundle: str) -> dict[str, Any]:
        """Answer as the owner does, to whom a broker sends the question on."""
        owner, (low, high) = self.moving.owners[bundle], range_of_bundle(bundle)
        if owner is None:
            words = f"Failed to find ownership for ServiceUnit:{bundle}"
            raise AdminRefused(words, status=412, reason=words)
        if any(self.refusals.get(part) == 0 for part in self.refusals if owner.replace(":", "%3A") in part):
            raise AdminUnreachable(f"{owner}: no answer")
        topics = self.topics_of.get(bundle.rpartition("/")[0], ())
        return {"topicHashPositions": {each: at for each in topics if low <= (at := topic_hash(each)) < high}}

    def _found(self, topic: str) -> dict[str, Any]:
        namespace, at = namespace_of_topic(topic), topic_hash(topic)
        for bundle, owner in self.moving.owners.items():
            low, high = range_of_bundle(bundle)
            if bundle.startswith(f"{namespace}/") and low <= at < high:
                return {"httpUrl": f"http://{owner}", "brokerUrl": "pulsar://x:1"}
        raise AdminRefused("no bundle", status=404, reason="no")

    def _system(self) -> dict[str, Any]:
        if self.moving.claim is None:
            raise AdminRefused("no such namespace", status=404, reason="no")
        return {"properties": {"pulsar-syncer.moves.east-1": self.moving.claim}} if self.moving.claim else {}

    def _boundaries(self, start: str) -> dict[str, Any]:
        ends = {end for name in self.moving.owners if name.startswith(start) for end in range_of_bundle(name)}
        if not ends:
            raise AdminRefused("no such namespace", status=404, reason="no")
        return {"boundaries": [boundary_text(each) for each in sorted(ends | {0, 0xFFFFFFFF})]}

    def _loaded(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for bundle, flow in self.moving.throughput.items():
            if self.moving.owners[bundle] == self.broker:
                namespace, _, span = bundle.rpartition("/")
                stats = {"msgThroughputIn": flow / 4, "msgThroughputOut": flow * 3 / 4}
                found.setdefault(namespace, {})[span] = {"persistent": {"persistent://t/n/x": stats}}
        return found
