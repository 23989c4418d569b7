"""Calls of a running migration: reads that are made again, and writes of which each is kept for the record.

What was asked and answered is gathered and noted together, so that no record is waited for while clients stand still.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import Any, Final, NoReturn, Self

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError, AdminUnreachable, InvariantBroken
from syncer.migration.course import MigrationStop
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import SERVER_ERROR, insist
from syncer.migration.withholding import shown_body
from syncer.model import Millis

_UNAUTHENTICATED: Final = 401
_DENIED: Final = frozenset({401, 403})
_TOLD: Final = "already migrated"
"""In the reason of a 500 that says all: it is no trouble of the broker's."""
_READS: Final = 3
LONG_MS: Final = 2_000
"""A call that has failed sooner was refused by a machine on which nobody listens: it is made again at once."""

Unanswered = Callable[[], Awaitable[MigrationStop | None]]
"""Asks how brokers are; answers why no call can be answered by now, if that is so."""


class RecordedCalls(AdminCalls):
    """A cluster's API of which every write is kept, with its answer.

    Where a call was waited for in vain since a broker is deadlocked, it is given up with that for a reason: whoever
    insists on answers asks no more.

    Attributes:
        writes: Method, path, body and answer of each write since they were taken last; credentials are withheld.
        denied: The last call since then that the credentials do not allow.
    """

    def __init__(self, calls: AdminCalls, clock: Clock, waited_in_vain: Unanswered) -> None:
        self._calls = calls
        self._clock = clock
        self._unanswered = waited_in_vain
        self.writes: list[dict[str, object]] = []
        self.denied: list[AdminRefused] = []

    def taken(self) -> list[dict[str, object]]:
        """The writes, which are kept no longer."""
        writes = list(self.writes)
        self.writes.clear()
        return writes

    async def get(self, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read."""
        began_ms = self._clock.now_ms()
        try:
            return await self._calls.get(path)
        except AdminRefused as refused:
            if refused.status == _UNAUTHENTICATED:
                self.denied.append(refused)
            raise
        except AdminUnreachable as error:
            await self._give_up(error, began_ms)

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write, and keep what was asked and answered."""
        shown = shown_body(path, body)
        row: dict[str, object] = {"method": method, "path": path, "body": shown, "answer": "none yet"}
        self.writes.append(row)
        began_ms = self._clock.now_ms()
        try:
            await self._calls.send(method, path, body)
        except AdminRefused as refused:
            row["answer"] = f"{refused.status}: {refused.reason}"
            if refused.status in _DENIED:
                self.denied.append(refused)
            raise
        except AdminUnreachable as error:
            row["answer"] = error.message
            await self._give_up(error, began_ms)
        except AdminError as error:
            row["answer"] = error.message
            raise
        row["answer"] = "done"

    def at(self, broker: str) -> Self:
        """The same API asked of one broker; its writes are kept with the others."""
        there = copy.copy(self)
        there._calls = self._calls.at(broker)
        return there

    async def _give_up(self, error: AdminUnreachable, began_ms: Millis) -> NoReturn:
        waited = self._clock.now_ms() - began_ms >= LONG_MS
        stop = await self._unanswered() if waited else None
        if stop is None:
            raise error
        raise AdminError(f"{error.message}; {stop.words}", hint=stop.hint) from error


class ReadOnlyCalls(AdminCalls):
    """A cluster's API that nothing is written by."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def get(self, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read."""
        return await self._calls.get(path)

    async def send(self, method: str, path: str, body: object = None) -> None:  # noqa: ARG002
        """Refuse to write.

        Raises:
            InvariantBroken: At every call.
        """
        raise InvariantBroken(f"{method} {path} was about to be asked where nothing may be set")

    def at(self, broker: str) -> Self:
        """The same API asked of one broker."""
        return type(self)(self._calls.at(broker))


class PatientCalls(AdminCalls):
    """A cluster's API that asks again where a broker fails to answer a read."""

    def __init__(self, calls: AdminCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    async def get(self, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read, several times if need be."""

        async def once() -> tuple[Any, AdminRefused | None]:
            try:
                return await self._calls.get(path), None
            except AdminRefused as refused:
                if refused.status >= SERVER_ERROR and _TOLD not in refused.reason:
                    raise
                return None, refused

        answer, refused = await insist(self._clock, once, _READS)
        if refused is not None:
            raise refused
        return answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write, once."""
        await self._calls.send(method, path, body)

    def at(self, broker: str) -> Self:
        """The same API asked of one broker."""
        there = copy.copy(self)
        there._calls = self._calls.at(broker)
        return there
