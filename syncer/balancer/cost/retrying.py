"""Retrying: when a client tries again after its broker has cut it off.

Java doubles its delay, each less by up to a tenth; a producer tries once more just before its send timeout. So a
bundle that is closed after 650 ms is asked for after 700, one after 710 ms after 1500. Steps of other clients are
measured, and given.

Source: org.apache.pulsar.common.util.Backoff, ProducerImpl, ConsumerImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from syncer.balancer.cost.estimate import Basis
from syncer.errors import LoadDataInvalid

_JITTER_DIVISOR: Final = 10
_INITIAL_MS: Final = 100
_MAX_MS: Final = 60_000
_STOP_BEFORE_SEND_TIMEOUT_MS: Final = 29_900


@dataclass(frozen=True, slots=True)
class RetryStep:
    """The span in which an attempt falls, in milliseconds after the cut."""

    earliest_ms: int
    latest_ms: int


class RetrySteps(Protocol):
    """Attempts of one kind of client."""

    @property
    def basis(self) -> Basis:
        """On what the steps rest."""

    def steps(self) -> Iterator[RetryStep]:
        """Yield the attempts without end, rising."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaSteps:
    """Attempts of a Java client with the defaults of its builder; ``stop_ms`` is the mandatory one, of producers."""

    initial_ms: int = _INITIAL_MS
    max_ms: int = _MAX_MS
    stop_ms: int | None = None
    basis: Basis = Basis.ASSUMED

    def __post_init__(self) -> None:
        """Refuse delays that do not rise.

        Raises:
            LoadDataInvalid: They do not.
        """
        if not 1 <= self.initial_ms <= self.max_ms:
            raise LoadDataInvalid(f"a client cannot begin with {self.initial_ms} ms and rise to {self.max_ms} ms")

    def steps(self) -> Iterator[RetryStep]:
        """Yield the attempts without end, rising."""
        delay, earliest, latest = self.initial_ms, 0, 0
        stop = self.stop_ms
        while True:
            longest = shortest = delay
            if stop is not None and latest + delay > stop:
                longest = max(self.initial_ms, stop - latest)
                shortest = min(delay, max(self.initial_ms, stop - earliest))
                stop = None
            earliest += self._jittered(shortest)
            latest += longest
            yield RetryStep(earliest, latest)
            delay = min(delay * 2, self.max_ms)

    def _jittered(self, delay: int) -> int:
        most = delay // _JITTER_DIVISOR - 1 if delay > _JITTER_DIVISOR else 0
        return max(self.initial_ms, delay - most)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSteps:
    """Attempts as they were measured, the latest of each, and the delay that goes on after the last."""

    latest_ms: Sequence[int]
    then_every_ms: int
    basis: Basis = Basis.KNOWN

    def __post_init__(self) -> None:
        """Refuse steps that do not rise.

        Raises:
            LoadDataInvalid: They do not.
        """
        rising = all(before < after for before, after in pairwise((-1, *self.latest_ms)))
        if not self.latest_ms or not rising or self.then_every_ms < 1:
            raise LoadDataInvalid(
                f"a client's attempts must rise without end, not {[*self.latest_ms]} and then every"
                f" {self.then_every_ms} ms"
            )

    def steps(self) -> Iterator[RetryStep]:
        """Yield the attempts without end, rising."""
        for latest in self.latest_ms:
            yield RetryStep(latest, latest)
        latest = self.latest_ms[-1]
        while True:
            latest += self.then_every_ms
            yield RetryStep(latest, latest)


JAVA_CONSUMER: Final = JavaSteps()
JAVA_PRODUCER: Final = JavaSteps(stop_ms=_STOP_BEFORE_SEND_TIMEOUT_MS)


def first_step(client: RetrySteps, closed_ms: float) -> RetryStep:
    """Find the first attempt that comes, at the latest, not before the bundle is closed: earlier ones are refused.

    Args:
        client: Its attempts.
        closed_ms: When the bundle is closed, after the cut.

    Raises:
        LoadDataInvalid: That is never.
    """
    if not 0 <= closed_ms < float("inf"):
        raise LoadDataInvalid(f"a bundle cannot be closed after {closed_ms} ms")
    steps = client.steps()
    step = next(steps)
    while step.latest_ms < closed_ms:
        step = next(steps)
    return step
