"""What publishers of a topic do, and which subscriptions it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pulsar
from pulsar.schema import BytesSchema, Schema, StringSchema


class Sending(StrEnum):
    """How a publisher sends."""

    EACH = "each"
    """It waits for the receipt of one message before it sends the next."""
    PIPELINED = "pipelined"
    """It does not."""
    BATCHED = "batched"
    """Likewise, and several messages are one entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherLoad:
    """What one publisher sends: so many messages a second, of these sizes in bytes in turn.

    Args:
        delay_s: Shared subscriptions deliver its messages so much later; 0: at once.
        most: It ends after so many messages; 0: it goes on.
        elsewhere: It publishes at the other cluster of its topic.
    """

    per_s: float
    sizes: tuple[int, ...] = (200,)
    sending: Sending = Sending.EACH
    delay_s: float = 0.0
    most: int = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLoad:
    """A topic, who publishes on it, and its subscriptions by their types, each named like its type.

    Args:
        topic: Full name.
        publishers: In Python.
        java_per_s: Messages a second of a publisher in Java beside them; 0: there is none.
        partitions: How many it has; 0: it has none.
        kinds: Of its subscriptions.
        late: Names of more subscriptions, exclusive ones, whose consumer comes when it is told to.
        text: Whether its messages have the schema STRING.
        elsewhere: Service URL of another cluster that the topic is replicated with; a Failover subscription reads
            there, which is named ``elsewhere``. Empty: there is none.
        nacked_every: Of so many messages one is refused at first by the consumer that is given it; 0: none is.
    """

    topic: str
    publishers: tuple[PublisherLoad, ...]
    java_per_s: int = 0
    partitions: int = 0
    kinds: tuple[pulsar.ConsumerType, ...] = (
        pulsar.ConsumerType.Exclusive,
        pulsar.ConsumerType.Failover,
        pulsar.ConsumerType.Shared,
        pulsar.ConsumerType.KeyShared,
    )
    late: tuple[str, ...] = ()
    text: bool = False
    nacked_every: int = 0
    elsewhere: str = ""

    @property
    def schema(self) -> Schema:
        """Of its messages."""
        return StringSchema() if self.text else BytesSchema()


def uneven(topics: Sequence[str], per_s: float, *, size: int = 1_000) -> tuple[TopicLoad, ...]:
    """Share a rate out to topics, each with a producer and a consumer: the first gets most.

    The topic of rank ``n`` gets a share in proportion to ``1 / n``.

    Args:
        topics: Full names, the busiest first.
        per_s: Messages a second of all of them together.
        size: Of a message, in bytes.
    """
    whole = sum(1 / rank for rank in range(1, len(topics) + 1))
    return tuple(
        TopicLoad(
            topic=topic,
            publishers=(PublisherLoad(per_s=per_s / rank / whole, sizes=(size,), sending=Sending.PIPELINED),),
            kinds=(pulsar.ConsumerType.Exclusive,),
        )
        for rank, topic in enumerate(topics, start=1)
    )
