"""Topics of the daemon's own bus, of the same names in every cluster that it is replicated to."""

from __future__ import annotations

from syncer.bus.pulsar.names import lock_topic_of
from syncer.config.model import Config


def own_topics(config: Config) -> frozenset[str]:
    """Topics of the configured bus, in full; none where it is no bus on topics.

    Args:
        config: The configuration; the bus's client library is not needed.
    """
    bus = config.bus.raw
    topic, lock = bus.get("topic"), bus.get("lock_topic")
    if not isinstance(topic, str):
        return frozenset()
    region = str(bus.get("region", config.region))
    return frozenset({topic, lock if isinstance(lock, str) else lock_topic_of(topic, region)})
