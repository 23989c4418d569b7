"""The price of a move: seconds without service of its clients, messages delivered again, bytes to catch up with.

Bystanders are told beside it: a publish to a topic that is being closed is refused by an error, on which clients close
their whole connection, and with it whatever else it serves.

A bundle is unloaded or transferred. After an unload each client waits for its next attempt, and then for the load that
this begins: nobody loads a topic before a client asks for it, and who asks is answered when it is loaded. A transfer
tells clients that understand it where to go, and they are there when the bundle is; the others wait as after an unload.

Source: PIP-307, Pulsar PR 20748; Java clients from 3.2 on, those of the C++ library from 3.5 on (its PR 389).
ClientCnx.handleSendError, Producer.MessagePublishContext.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import UNKNOWN, Basis, Estimate, assumed, known, total, weakest
from syncer.balancer.cost.measured import FENCED_S
from syncer.balancer.cost.retrying import JAVA_CONSUMER, JAVA_PRODUCER, first_step
from syncer.client_versions import Language, Release, parse
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.cost.retrying import RetrySteps

MS: Final = 1000.0
RECONNECTS_AT_ONCE_SINCE: Final[Mapping[Language, Release]] = {Language.JAVA: (3, 2, 0), Language.CPP: (3, 5, 0)}
"""Clients that go straight to the broker that they are told, by language; 4.2 of the C++ library was seen to do so."""
ACK_DELAY_S: Final = assumed(0.1)
"""A Java consumer groups its acknowledgements for so long, by default."""


class MoveKind(StrEnum):
    """How a bundle changes its broker."""

    UNLOAD = "unload"
    TRANSFER = "transfer"


class ClientRole(StrEnum):
    """What a client does with a topic."""

    PRODUCER = "producer"
    CONSUMER = "consumer"


JAVA: Final = {ClientRole.PRODUCER: JAVA_PRODUCER, ClientRole.CONSUMER: JAVA_CONSUMER}


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedBundle:
    """What is known of a bundle and of its move.

    ``close`` and ``load`` are seconds, the look-up and the choice of a broker being part of ``load``. ``producers`` and
    ``consumers`` count clients by what they say of their version; None where nobody knows. ``rate_in`` and ``rate_out``
    are messages a second, ``throughput_out`` bytes a second; ``ack_delay`` the seconds from a delivery to its
    acknowledgement at the broker, ``unacked`` the messages that wait for one, of which no more can come again.
    ``bystanders`` are clients of other bundles on the connections of its publishers.
    """

    kind: MoveKind
    close: Estimate
    load: Estimate
    producers: Mapping[str, int] | None
    consumers: Mapping[str, int] | None
    rate_in: Estimate = UNKNOWN
    rate_out: Estimate = UNKNOWN
    throughput_out: Estimate = UNKNOWN
    ack_delay: Estimate = ACK_DELAY_S
    unacked: Estimate = UNKNOWN
    bystanders: Estimate = UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsOutage:
    """How long the clients of one role and version are without service, each of them."""

    role: ClientRole
    said: str
    count: int
    seconds: Estimate

    @property
    def client_seconds(self) -> Estimate:
        """All of them together."""
        return known(self.count).times(self.seconds) if self.count else known(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a move; ``at_least`` are the client-seconds without those that are unknown.

    ``ready`` is the time until the bundle is served again: after an unload that of the first client to come back.
    ``bystanders`` are clients of other bundles that are cut off too, with a chance of at most ``bystanders_chance``.
    """

    ready: Estimate
    outages: tuple[ClientsOutage, ...] = ()
    client_seconds: Estimate = UNKNOWN
    at_least: float = 0.0
    redelivered: Estimate = UNKNOWN
    catch_up_bytes: Estimate = UNKNOWN
    bystanders: Estimate = UNKNOWN
    bystanders_chance: Estimate = UNKNOWN
    unknown_clients: frozenset[str] = field(default_factory=frozenset)


def move_kind(*, extensible: bool, transfer: bool, multi_phase: bool) -> MoveKind:
    """Say how a bundle changes its broker.

    Args:
        extensible: The brokers run the extensible manager.
        transfer: The move has a target.
        multi_phase: They tell clients the new owner (``loadBalancerMultiPhaseBundleUnload``).
    """
    return MoveKind.TRANSFER if extensible and transfer and multi_phase else MoveKind.UNLOAD


def price(move: MovedBundle, others: Mapping[Language, RetrySteps]) -> Price:
    """Reckon what a move costs.

    Args:
        move: The bundle.
        others: Attempts of clients that are not Java's; those of a language that is not there are unknown.

    Raises:
        LoadDataInvalid: A count of clients is below zero.
    """
    outages = tuple(
        _outage(role, said, count, move, others)
        for role, clients in ((ClientRole.PRODUCER, move.producers), (ClientRole.CONSUMER, move.consumers))
        for said, count in (clients or {}).items()
    )
    parts = [outage.client_seconds for outage in outages]
    whole = total(parts) if move.producers is not None and move.consumers is not None else UNKNOWN
    return Price(
        ready=_ready(move, outages),
        outages=outages,
        client_seconds=whole,
        at_least=sum(part.value for part in parts if part.value is not None),
        redelivered=_redelivered(move),
        catch_up_bytes=_catch_up(move, outages),
        bystanders=move.bystanders,
        bystanders_chance=_bystanders_chance(move),
        unknown_clients=frozenset(each.said for each in outages if each.client_seconds.value is None),
    )


def _ready(move: MovedBundle, outages: tuple[ClientsOutage, ...]) -> Estimate:
    reckoned = [each.seconds for each in outages if each.count and each.seconds.value is not None]
    if move.kind is MoveKind.UNLOAD and reckoned:
        return min(reckoned, key=lambda each: each.value or 0.0)
    return total((move.close, move.load))


def _outage(
    role: ClientRole, said: str, count: int, move: MovedBundle, others: Mapping[Language, RetrySteps]
) -> ClientsOutage:
    if count < 0:
        raise LoadDataInvalid(f"there cannot be {count} clients that say {said!r}")
    client = parse(said)
    since = RECONNECTS_AT_ONCE_SINCE.get(client.language)
    transferred = move.kind is MoveKind.TRANSFER
    steps = JAVA[role] if client.language is Language.JAVA else others.get(client.language)
    waited = UNKNOWN
    if transferred and since is not None and client.release is not None and client.release >= since:
        waited = move.close
    elif move.close.value is not None and steps is not None:
        basis = Basis.ASSUMED if transferred else weakest((move.close, Estimate(0.0, steps.basis)))
        waited = Estimate(first_step(steps, move.close.value * MS).latest_ms / MS, basis)
    return ClientsOutage(role=role, said=said, count=count, seconds=total((waited, move.load)))


def _redelivered(move: MovedBundle) -> Estimate:
    in_flight = move.rate_out.times(move.ack_delay)
    if in_flight.value is None or move.unacked.value is None:
        return in_flight
    return Estimate(min(in_flight.value, move.unacked.value), weakest((in_flight, move.unacked)))


def _catch_up(move: MovedBundle, outages: tuple[ClientsOutage, ...]) -> Estimate:
    if move.consumers is None:
        return UNKNOWN
    count = sum(move.consumers.values())
    if not count:
        return known(0)
    waited = total(each.client_seconds for each in outages if each.role is ClientRole.CONSUMER)
    return waited.times(known(1 / count)).times(move.throughput_out)


def _bystanders_chance(move: MovedBundle) -> Estimate:
    """Chance that a publish arrives while a topic is being closed; a transfer refuses none by an error.

    An upper bound: messages are taken for requests, and a batch of them is one.
    """
    if move.kind is MoveKind.TRANSFER:
        return assumed(0.0)
    arriving = move.rate_in.times(FENCED_S)
    return arriving if arriving.value is None else Estimate(-math.expm1(-arriving.value), arriving.basis)
