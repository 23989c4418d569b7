"""Names of the topics that a bus on Pulsar lives on. No client library, so that anybody may ask."""

from __future__ import annotations


def namespace_of(topic: str) -> str:
    """``tenant/namespace`` of a full topic name."""
    return topic.partition("://")[2].rpartition("/")[0]


def local_namespace_of(topic: str) -> str:
    """Namespace of the regions' locks: the topic's with ``-local`` behind it. Each cluster has its own of that name."""
    return f"{namespace_of(topic)}-local"


def lock_topic_of(topic: str, region: str) -> str:
    """Default lock topic of a region."""
    return f"persistent://{local_namespace_of(topic)}/{region}-lock"
