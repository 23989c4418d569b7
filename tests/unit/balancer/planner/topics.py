"""Topics for tests of cuts: given ones of bundles, in namespaces of so many bundles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syncer.balancer.load import Rates, TopicLoad


def topic(position: int, load: float, clients: int) -> TopicLoad:
    return TopicLoad(position=position, traffic=Rates(load, 0.0, load * 1000, 0.0), producers=clients, consumers=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTopics:
    """Tells the loads that it was given."""

    given: Mapping[str, Sequence[TopicLoad]]
    count: int | None = 4

    def of(self, bundle: str) -> Sequence[TopicLoad]:
        return self.given.get(bundle, ())

    def bundle_count(self, namespace: str) -> int | None:
        del namespace
        return self.count
