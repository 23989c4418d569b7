"""Health of brokers that a migration waits for: what one says of itself, how long that counts, and what comes of it.

    well ─▶ deadlocked ─▶ well      only a restart of the broker ends it: one that falls silent is deadlocked still
    well ─▶ unwell | silent ─▶ well told beside what has stopped the migration

A broker looks for threads that wait for each other at each request for its health, before anything else, and at no
other time; with some found it answers 500, and the names of the threads stand in the text. Only then it publishes and
reads a message of its own, for which it takes up to 58 s.
Source: ``BrokersBase.healthCheck`` and ``checkDeadlockedThreads``, ``RestException``, ``HealthChecker``, Pulsar 4.0.8;
the same in 4.2.4 and 5.0.0-M1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.migration.course import MigrationStop, StopCode, shown
from syncer.migration.steering import StepEnd, StepResult
from syncer.model import Millis
from syncer.replacing import replace

AGAIN_MS: Final = Millis(10_000)
"""Between two looks that unanswered calls ask for: what was said counts so long."""
_DEADLOCK: Final = "Deadlocked threads detected"
_MESSAGE: Final = re.compile(r"Message: (.*?)\s*(?:Stacktrace:|$)", re.DOTALL)
"""In the text of an error that the broker did not foresee."""
_SAID_CHARS: Final = 200
_MAY_NOT_ASK: Final = frozenset({401, 403, 404})
_OK: Final = 200
_BLAMED: Final = frozenset(
    {
        StopCode.NOT_LOADED,
        StopCode.NOT_MOVED,
        StopCode.ILL,
        StopCode.MISSING,
        StopCode.DRAIN,
        StopCode.INCOMPLETE,
        StopCode.NOT_READ,
        "admin-error",
        "admin-unreachable",
    }
)
"""Codes of stops that a broker may be the cause of that does not do its work."""


class HealthState(StrEnum):
    """How a broker is."""

    WELL = "well"
    DEADLOCKED = "deadlocked"
    """Threads of it wait for each other for ever."""
    UNWELL = "unwell"
    """It says so, or could not store and read a message."""
    SILENT = "silent"
    """It does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHealth:
    """How a broker is, and what it says.

    Attributes:
        cluster: ``blue`` or ``green``.
        broker: Its address as the cluster lists it.
        said: Its own words; of a silent one, why there are none.
    """

    cluster: str
    broker: str
    state: HealthState
    said: str = ""

    @property
    def words(self) -> str:
        """How it is, in words."""
        match self.state:
            case HealthState.WELL:
                return f"broker {self.broker} of {self.cluster} is well"
            case HealthState.DEADLOCKED:
                told = f" ({self.said})" if self.said else ""
                return f"threads of {self.broker} of {self.cluster} wait for each other for ever{told}"
            case HealthState.UNWELL:
                return f"broker {self.broker} of {self.cluster} says that it is not well: {self.said}"
            case _:
                return f"broker {self.broker} of {self.cluster} does not say how it is: {self.said}"


def health_of(cluster: str, broker: str, status: int | None, said: str) -> BrokerHealth:
    """Judge an answer; who may not ask has heard of nothing.

    Args:
        cluster: ``blue`` or ``green``.
        broker: That was asked.
        status: HTTP status of its answer; ``None``: it has not answered.
        said: Its words.
    """
    message = _MESSAGE.search(said)
    words = " ".join((message[1] if message else said).split())[:_SAID_CHARS]
    if status is None:
        state = HealthState.SILENT
    elif status == _OK or status in _MAY_NOT_ASK:
        return BrokerHealth(cluster=cluster, broker=broker, state=HealthState.WELL)
    else:
        state = HealthState.DEADLOCKED if _DEADLOCK in words else HealthState.UNWELL
    return BrokerHealth(cluster=cluster, broker=broker, state=state, said=words)


def since(before: Mapping[str, BrokerHealth], found: Iterable[BrokerHealth]) -> dict[str, BrokerHealth]:
    """Brokers that are not well by now: a deadlock that was told of ends by no silence.

    Args:
        before: Who was not well, by its address.
        found: All brokers that the cluster lists, as they are now.
    """
    ill: dict[str, BrokerHealth] = {}
    for each in found:
        was = before.get(each.broker)
        if each.state is HealthState.SILENT and was is not None and was.state is HealthState.DEADLOCKED:
            ill[each.broker] = was
        elif each.state is not HealthState.WELL:
            ill[each.broker] = each
    return ill


def changed(before: Mapping[str, BrokerHealth], now: Mapping[str, BrokerHealth]) -> tuple[BrokerHealth, ...]:
    """Who is told of: whoever has another state than before; one that is not ill any more, or not there, is well."""
    recovered = [replace(before[name], state=HealthState.WELL, said="") for name in sorted(before.keys() - now.keys())]
    ill = [each for name, each in sorted(now.items()) if name not in before or before[name].state is not each.state]
    return (*ill, *recovered)


def is_due(looked_ms: Millis | None, now_ms: Millis) -> bool:
    """Whether brokers are asked once more, since a call was not answered."""
    return looked_ms is None or now_ms - looked_ms >= AGAIN_MS


def deadlocked(ill: Iterable[BrokerHealth]) -> tuple[BrokerHealth, ...]:
    """Those that only a restart helps."""
    return tuple(each for each in ill if each.state is HealthState.DEADLOCKED)


def deadlock_stop(ill: Sequence[BrokerHealth], before: str = "") -> MigrationStop | None:
    """The stop of a migration that waits for brokers that are deadlocked; ``None``: none is.

    Args:
        ill: Brokers that are not well.
        before: What it would have stopped for otherwise.
    """
    found = deadlocked(ill)
    if not found:
        return None
    words = shown(tuple(each.words for each in found))
    names = shown(tuple(each.broker for each in found))
    return MigrationStop(
        code=StopCode.DEADLOCKED,
        words=f"{words}; so: {before}" if before else words,
        hint=f"Restart {names}, then resume: nothing is lost, what was set is kept and put back. Where topics of it "
        "have yet to be read, take their namespaces' marks off before: pulsar-admin namespaces update-migration-state.",
    )


def may_blame(result: StepResult) -> bool:
    """Whether brokers may be the cause of how a step has ended, or would be of how the next one does."""
    return _has_moved(result) or (result.stop is not None and result.stop.code in _BLAMED)


def blamed(result: StepResult, ill: Sequence[BrokerHealth]) -> StepResult:
    """How a step has ended, with the brokers named that are the cause of it, or may be.

    One that is deadlocked stops the migration at once, since no further try helps; also after a wave that was moved.
    """
    if not ill or not may_blame(result):
        return result
    stop = result.stop
    if stop is None:
        return replace(result, stop=deadlock_stop(ill))
    found = None if stop.fatal else deadlock_stop(ill, stop.words)
    if found is not None:
        return replace(result, stop=found, again=False)
    words = f"{stop.words}; {shown(tuple(each.words for each in ill))}"
    return replace(result, stop=replace(stop, words=words))


def _has_moved(result: StepResult) -> bool:
    return result.end is StepEnd.DONE and result.verdict is not None and result.stop is None
