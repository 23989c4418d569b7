"""Bounds of a run of moves: how many at once and in an hour, and the hours in which bundles may move at all.

Equal ranges of two namespaces never move at the same time: the modular manager notes a target by the range alone.
Source: Pulsar PR 25518; brokers before 4.2.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle
from syncer.errors import PlanInvalid
from syncer.model import Millis

HOUR_MS: Final = 3_600_000
MINUTES_OF_A_DAY: Final = 1440
_MINUTE_MS: Final = 60_000
UnderWay = tuple[str, tuple[str, str]]
"""A bundle that moves, and its source and target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """The part of a day, UTC, in which bundles may move; it may reach over midnight.

    Attributes:
        first: Minute of the day at which it begins.
        end: Minute of the day at which it is over.

    Raises:
        PlanInvalid: They are no minutes of a day, or the same one.
    """

    first: int
    end: int

    def __post_init__(self) -> None:
        if not (0 <= self.first < MINUTES_OF_A_DAY and 0 <= self.end < MINUTES_OF_A_DAY) or self.first == self.end:
            raise PlanInvalid(f"the quiet hours from minute {self.first} to minute {self.end} are no part of a day")

    def opens_ms(self, now_ms: Millis) -> Millis:
        """The earliest time from now on that lies in them; now, if now does.

        Args:
            now_ms: Milliseconds since the epoch.
        """
        minute = now_ms // _MINUTE_MS % MINUTES_OF_A_DAY
        if (minute - self.first) % MINUTES_OF_A_DAY < (self.end - self.first) % MINUTES_OF_A_DAY:
            return now_ms
        ahead = (self.first - minute) % MINUTES_OF_A_DAY
        return Millis((now_ms // _MINUTE_MS + ahead) * _MINUTE_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBounds:
    """Bounds of a run.

    Attributes:
        per_broker: Moves under way that a broker takes part in, as source or target.
        per_namespace: Moves under way of a namespace.
        per_hour: Unloads that are asked for in any hour, those that are asked for again included.
        quiet: When bundles may move; ``None``: at any time.

    Raises:
        PlanInvalid: A bound is below 1.
    """

    per_broker: int = 1
    per_namespace: int = 1
    per_hour: int = 60
    quiet: QuietHours | None = None

    def __post_init__(self) -> None:
        for name in ("per_broker", "per_namespace", "per_hour"):
            if getattr(self, name) < 1:
                raise PlanInvalid(f"with {name} below 1 nothing would ever move", hint="Allow 1 or more.")

    def opens_ms(self, asked_ms: Iterable[Millis], now_ms: Millis) -> Millis:
        """The earliest time from now on at which the hour and the day let another unload be asked for.

        Args:
            asked_ms: When unloads were asked for.
            now_ms: Milliseconds since the epoch.
        """
        latest = sorted(asked_ms)[-self.per_hour :]
        free = now_ms if len(latest) < self.per_hour else max(now_ms, Millis(latest[0] + HOUR_MS))
        return free if self.quiet is None else self.quiet.opens_ms(free)

    def leaves_room(
        self, bundle: str, brokers: Iterable[str], under_way: Iterable[tuple[str, tuple[str, str]]]
    ) -> bool:
        """Say whether a move may be under way beside those that are.

        Args:
            bundle: The bundle that would move.
            brokers: Its source and its target.
            under_way: Moves that are.
        """
        moving = tuple(under_way)
        busy = Counter(broker for _, pair in moving for broker in set(pair))
        namespace, span = namespace_of_bundle(bundle), range_of_bundle(bundle)
        return (
            all(busy[broker] < self.per_broker for broker in brokers)
            and sum(namespace_of_bundle(each) == namespace for each, _ in moving) < self.per_namespace
            and all(range_of_bundle(each) != span for each, _ in moving)
        )
