"""The service of histories: a recorder for each cluster whose load is recorded, and how each fares.

It runs as long as the daemon is active. What happens here ends no other part of the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from syncer.balancer.recording.recorder import LoadRecorder

if TYPE_CHECKING:
    from syncer.balancer.recording.moves import EndedRuns
    from syncer.balancer.recording.recorder import RecordedClusters, Recording, RecordingStanding
    from syncer.model import Millis

TROUBLED: Final = "load-history-troubled"
SET_ASIDE: Final = "load-history-set-aside"
_SHOW_S: Final = 1.0


class ConditionBoard(Protocol):
    """Where conditions stand."""

    def show(self, code: str, message: str) -> None:
        """Let a condition stand."""

    def unshow(self, code: str) -> None:
        """Take a condition away."""


class LoadHistories:
    """Records the load of clusters, for one turn of an active daemon."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        clusters: RecordedClusters,
        runs: EndedRuns,
        now_ms: Callable[[], Millis],
        shown: ConditionBoard,
    ) -> None:
        """Make it; nothing is opened yet.

        Args:
            recordings: What is recorded of which cluster.
            clusters: Opens a cluster.
            runs: Lists our own moves.
            now_ms: The time.
            shown: Where troubles are shown.
        """
        self._recorders = {each.table: LoadRecorder(each, clusters, runs, now_ms) for each in recordings}
        self._shown = shown

    @property
    def standings(self) -> Mapping[str, RecordingStanding]:
        """How the recorder of each table fares."""
        return {table: each.standing for table, each in self._recorders.items()}

    async def histories(self) -> None:
        """Record until cancelled; at once over where nothing is recorded."""
        if not self._recorders:
            return
        async with anyio.create_task_group() as tasks:
            for recorder in self._recorders.values():
                tasks.start_soon(recorder.run)
            while True:
                for code, words in conditions(self.standings).items():
                    if words:
                        self._shown.show(code, words)
                    else:
                        self._shown.unshow(code)
                await anyio.sleep(_SHOW_S)


def conditions(standings: Mapping[str, RecordingStanding]) -> dict[str, str]:
    """Tell each condition of histories by its code; empty where it does not hold.

    Args:
        standings: By table.
    """
    troubles = [
        f"the load of {table} is not recorded: {each.trouble.message}. {each.trouble.hint}"
        for table, each in standings.items()
        if each.trouble is not None
    ]
    aside = [
        f"the history of the load of {table} was damaged and is now {each.set_aside}; a new one has begun"
        for table, each in standings.items()
        if each.set_aside is not None
    ]
    return {TROUBLED: "; ".join(troubles), SET_ASIDE: "; ".join(aside)}
