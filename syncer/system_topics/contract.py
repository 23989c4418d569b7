"""The contract of topics with policies: what is asked of Pulsar of them, so that another can stand in for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from syncer.model import MetaPath
from syncer.system_topics.log import LogMessage, WriterClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTopics:
    """What a namespace has, asked without loading or making anything.

    Args:
        system_topics: Full names of its topic of policies, one for each partition; empty: there is none yet.
        topics: Full names of its topics, partitions by the name of the whole.
    """

    system_topics: tuple[str, ...]
    topics: frozenset[str]


class TopicLog(Protocol):
    """One namespace's topic of policies, open from its earliest message, compacted."""

    @property
    def at_end(self) -> bool:
        """Whether the last reading has left nothing that the brokers had acknowledged before."""
        ...

    async def read_on(self) -> Sequence[LogMessage]:
        """Read what was not read yet, in order, and so much at once as may be held.

        Raises:
            TopicPoliciesWithheld: It does not answer: it is to be opened anew, from the beginning.
        """
        ...

    async def prepare(self, path: MetaPath, value: bytes | None) -> bytes:
        """Make ready to write: the payload that sets a path's value; nothing is sent.

        Args:
            path: Whose policies.
            value: The document; ``None``: the topic has none.

        Raises:
            ValueRefused: The brokers' schema has no place for the value.
            AccessDenied: This role may not produce there.
            TopicPoliciesWithheld: The brokers do not answer.
        """
        ...

    async def append(self, key: str, payload: bytes, claim: WriterClaim) -> str:
        """Write a message; its id.

        Raises:
            StoreUnavailable: The outcome is unknown: it may come yet.
        """
        ...

    async def close(self) -> None:
        """Let it go; safe to call twice."""
        ...


class TopicLogs(Protocol):
    """The topics of all namespaces of one cluster."""

    async def open(self) -> None:
        """Make ready; nothing needs to answer yet."""
        ...

    async def close(self) -> None:
        """End all that is open."""
        ...

    async def check_service(self) -> bool:
        """Ask where the brokers keep topic policies.

        Returns:
            Whether a namespace that has no topic of policies has its policies in the metadata store.

        Raises:
            TopicPoliciesWithheld: In no system topic, or they do not say.
        """
        ...

    async def find(self, namespace: str) -> FoundTopics:
        """Ask what a namespace has; nothing is loaded or made by that.

        Raises:
            TopicPoliciesWithheld: They do not say.
        """
        ...

    async def foresee(self, namespaces: Sequence[str]) -> None:
        """These are asked for next: what can be asked of many at once is, and counts for a moment.

        Args:
            namespaces: A few: whatever they have is held at once.
        """
        ...

    async def log(self, namespace: str, system_topics: Collection[str]) -> TopicLog:
        """Open a namespace's topic from its earliest message; it must exist.

        Raises:
            TopicPoliciesWithheld: It cannot be read.
        """
        ...

    async def make(self, topic: str) -> None:
        """Have the brokers make the topic of policies of a topic's namespace, as they do when they need it.

        Raises:
            TopicPoliciesWithheld: They do not.
        """
        ...

    def stirred(self) -> AsyncIterator[Collection[str]]:
        """Stream namespaces whose open topics have something new, or have lost their connection."""
        ...
