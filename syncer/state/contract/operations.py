"""Operations: what operators ask of the daemon, its answers, and with that the trail of who asked for what, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from syncer.errors import OperationsFull
from syncer.model import Millis

KEY_KEPT_MS: Final = 24 * 3600 * 1000
"""How long a request that is repeated with its key gets the first answer."""
MAX_REFUSED: Final = 1_000
"""Attempts that were refused before anything was asked: so many of the latest are kept."""


MAX_PENDING: Final = 200
"""Operations of one kind that may wait for the daemon when another one is asked."""
MAX_PENDING_STOPS: Final = 300
"""The same for commands that stop a migration: they share their kind with those that let it go on."""
_STOPS: Final = frozenset({"pause", "abort"})


class OperationState(StrEnum):
    """Life of an operation: asked for, then done or failed by the daemon; or refused before it was asked for."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    """Nothing was asked of the daemon: who tried it had no right to, or no good credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asks for operations, and how the trail tells it.

    Args:
        by: Who: ``user@host``, the name of a token, the subject of a certificate.
        reason: Why.
        origin: Address that a request over HTTP came from; empty: on the host of the database.
        credential: Which credential it had, without any secret; empty: the rights of the user on the host.
        key: Of the request; who repeats it within a day gets the operations that it has led to.
        fingerprint: Of what the request says: a key stands for one request only.
    """

    by: str
    reason: str
    origin: str = ""
    credential: str = ""
    key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that an operator asked the daemon to do. ``kind`` names it, ``arguments`` are its own.

    ``origin`` and ``credential`` are as in :class:`Asked`.
    """

    id: int
    kind: str
    arguments: dict[str, str]
    asked_by: str
    reason: str
    asked_at_ms: Millis = Millis(0)
    state: OperationState = OperationState.PENDING
    answer: str = ""
    code: str = ""
    finished_at_ms: Millis | None = None
    origin: str = ""
    credential: str = ""


class Askable(Protocol):
    """One thing that is asked of the daemon."""

    @property
    def kind(self) -> str:
        """Name of the operation."""
        ...

    @property
    def arguments(self) -> Mapping[str, str]:
        """Its own."""
        ...


def check_room(requests: Sequence[Askable], pending: Mapping[str, int]) -> None:
    """Check that none of these kinds has as many operations waiting as may.

    A request that finds room is taken whole: one decision may confirm thousands of held changes.

    Args:
        requests: What is asked.
        pending: How many operations of each of these kinds wait.

    Raises:
        OperationsFull: A kind has no room.
    """
    for each in requests:
        most = MAX_PENDING_STOPS if each.arguments.get("command") in _STOPS else MAX_PENDING
        if pending.get(each.kind, 0) >= most:
            raise OperationsFull(f"{pending[each.kind]} operations '{each.kind}' wait for the daemon already")


class OperationTransaction(Protocol):
    """The part of a transaction that is about operations."""

    def pending_operations(
        self, limit: int, *, only: Collection[str] | None = None, without: Collection[str] = ()
    ) -> list[Operation]:
        """Operations that wait for the daemon, oldest first.

        Args:
            limit: So many at most.
            only: Of these kinds; of any if not given.
            without: And of none of these. What waits for another part of the daemon must not take the places of these.
        """
        ...

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        ...
