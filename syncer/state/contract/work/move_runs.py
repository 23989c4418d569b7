"""Runs of moves as the sidecar database keeps them: each with its plan, its moves, and the settings that it holds.

Values, and the part of a transaction that is about them; see :mod:`syncer.state.contract.transaction`. Phases are the
caller's; the database knows one run that is open from those that are over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from syncer.errors import BalancingOwned, NotFound, PreconditionFailed
from syncer.model import Millis
from syncer.state.contract.migrations import Migration

OpenRun = TypeVar("OpenRun")

FORMER = "former"
"""What a run's document calls the settings that it has to put back; ``None`` there: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMoveRun:
    """A run of moves of one cluster's bundles, and how far it is. Its plan and its moves are kept beside it.

    Args:
        id: Its number; 0 until it is kept.
        fingerprint: SHA-256 of its plan, in hexadecimal.
        phase: How far it is.
        run: All that is recorded of it but its moves, as plain data.
        stop: What was asked of it: code, words and who; empty: nothing.
        trouble: Why it is not carried on: code, message and hint, since when, and when it is taken up again; empty: it
            is carried on.
        asked_by: Who started it.
        reason: Why.
        finished_at_ms: When it was over. ``None``: it is open.
    """

    id: int = 0
    fingerprint: str
    phase: str
    run: Mapping[str, Any]
    stop: Mapping[str, str] = field(default_factory=dict)
    trouble: Mapping[str, Any] = field(default_factory=dict)
    asked_by: str
    reason: str
    made_at_ms: Millis
    finished_at_ms: Millis | None = None

    @property
    def over(self) -> bool:
        """Whether nothing will be done for it any more."""
        return self.finished_at_ms is not None


class MoveRunTransaction(Protocol):
    """The part of a transaction that is about runs of moves."""

    def begin_move_run(self, run: KeptMoveRun, plan: str, moves: Sequence[Mapping[str, Any]]) -> int:
        """Keep a new run, its plan, and its moves in the order of the plan; its number.

        Raises:
            BalancingOwned: Another run is open, or a migration: it holds the same settings.
        """
        ...

    def move_run(self, number: int | None = None) -> KeptMoveRun | None:
        """A run by its number; without one, the one that is open. Cheap when none is."""
        ...

    def move_run_plan(self, number: int) -> str:
        """The plan of a run, as it was given.

        Raises:
            NotFound: There is no such run.
        """
        ...

    def move_run_moves(self, number: int) -> list[dict[str, Any]]:
        """The moves of a run, in the order of its plan."""
        ...

    def save_move_run(self, run: KeptMoveRun, moves: Mapping[int, Mapping[str, Any]]) -> None:
        """Keep how far an open run is, or that it is over; what was asked and told of it stays.

        Args:
            run: The run.
            moves: Those that have changed, by their number in the plan.

        Raises:
            NotFound: There is no such run.
            PreconditionFailed: It was over before, or it would be while there are settings that must be put back.
        """
        ...

    def tell_move_trouble(self, number: int, trouble: Mapping[str, Any]) -> None:
        """Keep why an open run is not carried on; empty: it is. Of the same code, since when stays as it was.

        Raises:
            NotFound: There is no such run.
            PreconditionFailed: It is over.
        """
        ...

    def ask_to_stop(self, number: int, stop: Mapping[str, str]) -> None:
        """Keep that an open run is to stop; the first who asks is kept.

        Raises:
            NotFound: There is no such run.
            PreconditionFailed: It is over.
        """
        ...


def standing_trouble(former: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The trouble that is kept: that of now, since when it began.

    Args:
        former: That was kept.
        now: What is told of it.
    """
    same = now.get("code") is not None and now.get("code") == former.get("code")
    return {**now, "since_ms": former["since_ms"]} if same else dict(now)


def require_balancing_free(run: KeptMoveRun | None, migration: Migration | None) -> None:
    """Go on only where nobody holds the settings that keep a cluster from moving bundles itself.

    Raises:
        BalancingOwned: An open run of moves does, or an open migration.
    """
    if run is not None:
        raise BalancingOwned(f"the run of moves {run.id} is not over: it is {run.phase}")
    if migration is not None:
        raise BalancingOwned(f"migration {migration.id} is not over: it is {migration.phase}")


def require_some_run(run: OpenRun | None) -> OpenRun:
    """The run that is open, as it is kept or shown.

    Raises:
        PreconditionFailed: None is.
    """
    if run is None:
        raise PreconditionFailed("no run of moves is open", hint="List them with 'syncer balancer runs'.")
    return run


def require_known_run(run: KeptMoveRun | None, number: int) -> KeptMoveRun:
    """The run of that number.

    Raises:
        NotFound: There is none.
    """
    if run is None:
        raise NotFound(f"there is no run of moves {number}", hint="List them with 'syncer balancer runs'.")
    return run


def require_open_run(run: KeptMoveRun | None, number: int) -> KeptMoveRun:
    """The run of that number, which is open.

    Raises:
        NotFound: There is none.
        PreconditionFailed: It is over.
    """
    found = require_known_run(run, number)
    if found.over:
        raise PreconditionFailed(f"the run of moves {number} is over: it is {found.phase}")
    return found


def require_settings_back(run: KeptMoveRun) -> None:
    """Let a run be over only when it holds no settings.

    Raises:
        PreconditionFailed: It holds some.
    """
    if run.over and run.run.get(FORMER) is not None:
        raise PreconditionFailed(
            f"the run of moves {run.id} is not over: the cluster's settings were not put back",
            hint="Let the daemon put them back; it goes on by itself once the cluster answers.",
        )
