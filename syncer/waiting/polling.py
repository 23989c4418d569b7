"""Wait for a state that has to come: the one way of tests, lab, faults and demo.

:func:`wait_until` waits in a thread, :func:`until` in a task. Both poll a condition, name what they wait for, and end
at once when a process that must live has ended. The deadline is long: it costs time only where something fails.
Prove that an event does *not* come by a later event that would have come after it, never by waiting.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar, overload

import anyio

from syncer.waiting import starvation
from syncer.waiting.starvation import Starvation

WAIT_S: Final = 300.0
"""How long a state may take that has to come."""
FIRST_POLL_S: Final = 0.005
LONGEST_POLL_S: Final = 0.1
REST_FACTOR: Final = 3.0
LONGEST_REST_S: Final = 1.0
"""After a look that took long the wait rests three times as long, but no longer than this."""
SHOWN_CHARS: Final = 2_000
"""Of each part of a message, at most so much is shown: its end."""

T = TypeVar("T")


class Needed(Protocol):
    """A process that a wait needs."""

    @property
    def name(self) -> str:
        """The name, for messages."""

    def ended(self) -> str | None:
        """Return how it ended, with the end of its log; ``None`` while it lives."""

    def last_words(self) -> str:
        """Return the end of its log."""


class WaitFailed(Exception):
    """A wait ended without the state that it waited for.

    Args:
        what: The state.
        waited_s: How long it was waited for.
        detail: What was seen last, and why the wait ended.
    """

    def __init__(self, what: str, waited_s: float, detail: str) -> None:
        super().__init__(f"waited {waited_s:.1f} s for: {what}\n{detail}")
        self.what = what
        self.waited_s = waited_s


class WaitTimedOut(WaitFailed):
    """The deadline ran out.

    Args:
        what: The state.
        waited_s: How long it was waited for.
        detail: What was seen last.
        starvation: What the machine was like meanwhile.
    """

    def __init__(self, what: str, waited_s: float, detail: str, starvation: Starvation) -> None:
        super().__init__(what, waited_s, f"the deadline ran out ({starvation}); {detail}")
        self.starvation = starvation


class NeedEnded(WaitFailed):
    """A process that the wait needs has ended."""


class Living:
    """The processes that must live until they are let go: each wait of this program ends when one of them has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[int, Needed] = {}

    def add(self, process: Needed) -> None:
        """Have every wait end when this process ends."""
        with self._lock:
            self._processes[id(process)] = process

    def let_go(self, process: Needed) -> None:
        """Let this process end, before it is ended; one that was never added is fine."""
        with self._lock:
            self._processes.pop(id(process), None)

    @contextmanager
    def kept_apart(self) -> Iterator[None]:
        """Forget on leaving what was added inside, so that no test waits for another one's processes."""
        with self._lock:
            before = dict(self._processes)
        try:
            yield
        finally:
            with self._lock:
                self._processes = {key: each for key, each in self._processes.items() if key in before}

    def all(self) -> tuple[Needed, ...]:
        """Return the processes, in the order of their beginning."""
        with self._lock:
            return tuple(self._processes.values())


def _described(condition: Callable[[], object]) -> str:
    return f"{getattr(condition, '__qualname__', condition)!s} does not hold"


class Describing:
    """How a wait that failed describes its condition where the caller gives no ``shown``."""

    def __init__(self) -> None:
        self.describe: Callable[[Callable[[], object]], str] = _described


LIVING: Final = Living()
"""Of this program."""
DESCRIBING: Final = Describing()
"""Of this program; tests show the values that a condition compares."""


def wait_until(
    condition: Callable[[], T],
    what: str,
    *,
    within_s: float = WAIT_S,
    needs: Iterable[Needed] = (),
    shown: Callable[[], object] | None = None,
    passing: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """Poll until a condition holds; return what it gave then.

    Args:
        condition: The state is there when it gives something true.
        what: The state, for the message.
        within_s: The deadline; the last look is after it.
        needs: Processes without which the state cannot come, beside :data:`LIVING`.
        shown: Gives what to show when the wait fails; by default :data:`DESCRIBING` does.
        passing: Errors of the condition that mean "not yet".

    Raises:
        NeedEnded: A process that is needed has ended.
        WaitTimedOut: The state did not come in time.
    """
    wait = _Wait(condition, what, within_s, tuple(needs), shown)
    while True:
        wait.begin_look()
        try:
            found = condition()
        except passing as exc:
            wait.error = exc
        else:
            if found:
                return found
            wait.error = None
        poll_s = wait.next_poll_s()
        began_s = time.monotonic()
        time.sleep(poll_s)
        wait.slept(poll_s, time.monotonic() - began_s)


@overload
async def until(
    condition: Callable[[], Awaitable[T]],
    what: str,
    *,
    within_s: float = ...,
    needs: Iterable[Needed] = ...,
    shown: Callable[[], object] | None = ...,
    passing: type[Exception] | tuple[type[Exception], ...] = ...,
) -> T: ...


@overload
async def until(
    condition: Callable[[], T],
    what: str,
    *,
    within_s: float = ...,
    needs: Iterable[Needed] = ...,
    shown: Callable[[], object] | None = ...,
    passing: type[Exception] | tuple[type[Exception], ...] = ...,
) -> T: ...


async def until(
    condition: Callable[[], object],
    what: str,
    *,
    within_s: float = WAIT_S,
    needs: Iterable[Needed] = (),
    shown: Callable[[], object] | None = None,
    passing: type[Exception] | tuple[type[Exception], ...] = (),
) -> object:
    """Poll in a task until a condition holds; it may be asynchronous. Otherwise as :func:`wait_until`.

    Raises:
        NeedEnded: A process that is needed has ended.
        WaitTimedOut: The state did not come in time.
    """
    wait = _Wait(condition, what, within_s, tuple(needs), shown)
    while True:
        wait.begin_look()
        try:
            answer = condition()
            found = await answer if inspect.isawaitable(answer) else answer
        except passing as exc:
            wait.error = exc
        else:
            if found:
                return found
            wait.error = None
        poll_s = wait.next_poll_s()
        began_s = time.monotonic()
        await anyio.sleep(poll_s)
        wait.slept(poll_s, time.monotonic() - began_s)


class _Wait:
    """One wait: when it polls, when it ends, what it says then."""

    def __init__(
        self,
        condition: Callable[[], object],
        what: str,
        within_s: float,
        needs: tuple[Needed, ...],
        shown: Callable[[], object] | None,
    ) -> None:
        self._condition, self._what, self._within_s, self._needs, self._shown = condition, what, within_s, needs, shown
        self._began = starvation.read()
        self._look_s = self._began.at_s
        self._poll_s = FIRST_POLL_S
        self._late_s = 0.0
        self._last_look = False
        self.error: Exception | None = None

    def begin_look(self) -> None:
        self._look_s = time.monotonic()
        self._last_look = self._look_s - self._began.at_s >= self._within_s

    def next_poll_s(self) -> float:
        """Return how long to sleep before the next look.

        Raises:
            NeedEnded: A process that is needed has ended.
            WaitTimedOut: This was the last look.
        """
        now_s = time.monotonic()
        waited_s = now_s - self._began.at_s
        for each in {id(each): each for each in (*self._needs, *LIVING.all())}.values():
            how = each.ended()
            if how is not None:
                raise NeedEnded(
                    self._what, waited_s, f"{each.name} has ended: {_cut(how)}\n{self._seen()}"
                ) from self.error
        if self._last_look:
            found = starvation.since(self._began, late_s=self._late_s)
            raise WaitTimedOut(self._what, waited_s, self._seen() + self._logs(), found) from self.error
        poll_s = max(self._poll_s, min(REST_FACTOR * (now_s - self._look_s), LONGEST_REST_S))
        self._poll_s = min(self._poll_s * 1.5, LONGEST_POLL_S)
        return max(min(poll_s, self._within_s - waited_s), FIRST_POLL_S)

    def slept(self, asked_s: float, took_s: float) -> None:
        self._late_s += max(took_s - asked_s, 0.0)

    def _seen(self) -> str:
        if self.error is not None:
            return f"last seen: {type(self.error).__name__}: {_cut(str(self.error))}"
        try:
            said = _cut(repr(self._shown())) if self._shown is not None else DESCRIBING.describe(self._condition)
        except Exception as exc:  # noqa: BLE001 - a message must not hide what it is of
            said = f"(could not be shown: {exc!r})"
        return f"last seen: {said}"

    def _logs(self) -> str:
        return "".join(f"\nlog of {each.name}:\n{_cut(each.last_words())}" for each in (*self._needs, *LIVING.all()))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"… {text[-SHOWN_CHARS:]}"
