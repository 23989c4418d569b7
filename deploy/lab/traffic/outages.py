"""Outages of clients, by their own account: when each was cut off, tried again, and worked again.

A client of the C++ library, Python's included, writes down for each producer and consumer when it will connect again
and when it has; one of Java does not. Times are those of the client's own log, in milliseconds.

An attempt begins with a look-up. One that is refused is repeated within the attempt, by a back-off of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

_TIME: Final = r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) .*?"
_SEND_ERROR: Final = re.compile(_TIME + r"Received send error from server")
_LOOK_UP: Final = re.compile(_TIME + r"Reschedule get-broker-(?P<topic>\S+) for (?P<delay>\d+) ms")
_LINE: Final = re.compile(
    _TIME + r"\[(?P<who>[^\]]*)\] "
    r"(?:(?P<again>Schedule reconnection in) (?P<delay>[\d.e-]+) s"
    r"|(?P<trying>Getting connection from pool)"
    r"|(?P<working>Created (?P<role>producer|consumer) on broker))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOutage:
    """One producer or consumer without service.

    Args:
        client: Its topic and name, as its log has them.
        role: ``producer`` or ``consumer``.
        cut_ms: When it noticed that it was cut off, since the epoch.
        attempts_ms: When it tried to connect again.
        working_ms: When it was connected again.
        delays_ms: The delays that its back-off chose, one before each attempt.
        look_up_delays_ms: The delays before look-ups of its topic that were repeated within attempts.
    """

    client: str
    role: str
    cut_ms: int
    attempts_ms: tuple[int, ...]
    working_ms: int
    delays_ms: tuple[int, ...]
    look_up_delays_ms: tuple[int, ...] = ()

    @property
    def topic(self) -> str:
        """Full name of its topic."""
        return self.client.partition(",")[0]

    @property
    def lasted_ms(self) -> int:
        """From the cut to working again."""
        return self.working_ms - self.cut_ms


@dataclass(slots=True)
class _Open:
    """An outage that has not ended."""

    cut_ms: int
    attempts_ms: list[int] = field(default_factory=list)
    delays_ms: list[int] = field(default_factory=list)
    look_up_delays_ms: list[int] = field(default_factory=list)


def outages(lines: Iterable[str]) -> list[ClientOutage]:
    """Read the outages that have ended out of a log, in the order of their ends; a first connection is none."""
    open_now: dict[str, _Open] = {}
    ended = []
    for line in lines:
        repeated = _LOOK_UP.match(line)
        if repeated is not None:
            for client, each in open_now.items():
                if client.partition(",")[0] == repeated["topic"]:
                    each.look_up_delays_ms.append(int(repeated["delay"]))
        found = _LINE.match(line)
        if found is None:
            continue
        client, now_ms = found["who"], _milliseconds(found["time"])
        if found["again"]:
            open_now.setdefault(client, _Open(now_ms)).delays_ms.append(round(float(found["delay"]) * 1000))
        elif found["trying"] and client in open_now:
            open_now[client].attempts_ms.append(now_ms)
        elif found["working"] and client in open_now:
            outage = open_now.pop(client)
            ended.append(
                ClientOutage(
                    client=client,
                    role=found["role"],
                    cut_ms=outage.cut_ms,
                    attempts_ms=tuple(outage.attempts_ms),
                    working_ms=now_ms,
                    delays_ms=tuple(outage.delays_ms),
                    look_up_delays_ms=tuple(outage.look_up_delays_ms),
                )
            )
    return ended


def connections_broken(lines: Iterable[str]) -> list[int]:
    """Read out of a log when a client gave up a whole connection since a publish met a topic that was being closed.

    All producers and consumers on it are cut off then, whatever their topics are.
    """
    return [_milliseconds(found["time"]) for line in lines if (found := _SEND_ERROR.match(line))]


def _milliseconds(text: str) -> int:
    """Since the epoch; the library writes local time."""
    local = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").astimezone()
    return round(local.astimezone(UTC).timestamp() * 1000)
