"""The end of a migration: green gets the values that it could not have while messages waited there.

What is to be done then is planned when green was prepared, by what blue held, and kept: at the end blue's topics are
gone. Where both clusters read the same policies, what is changed for green is changed for blue: what blue had is kept
before the first change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from syncer.admin.calls import AdminCalls
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.preparing import changing_both, restoring, taking_over
from syncer.migration.preparing.step import PreparationKind, PreparationStep
from syncer.migration.running.clock import Clock
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.preparing import Report, perform
from syncer.migration.scope import MigrationBounds, MigrationScope
from syncer.replacing import replace

_ENDING: Final = "ending/"
_BOTH: Final = "ending-both/"
"""In the journal: of namespaces that have the same policies at both, what they had."""


class Ending:
    """Keeps what has to be done at green at the end, and does it."""

    def __init__(self, green: AdminCalls, clock: Clock, journal: MigrationJournal, bounds: MigrationBounds) -> None:
        self._green = green
        self._clock = clock
        self._journal = journal
        self._bounds = bounds

    async def keep(self, pair: ClusterPair) -> None:
        """Keep what blue has of namespaces of a pair that green is about to be prepared by: the first time counts."""
        for namespace in pair.scope.namespaces:
            key = f"{_BOTH}{namespace}"
            if key not in await self._journal.recall(key):
                alone = replace(pair, scope=MigrationScope(canary=(namespace,)))
                if steps := changing_both(alone):
                    await self._journal.remember(key, _rows(steps))

    async def plan(self, pair: ClusterPair, *, more: bool = False) -> None:
        """Keep what has to be done for each namespace of a pair that green was just prepared by.

        Args:
            pair: Both clusters.
            more: Not all topics were read: what was kept before is kept on.
        """
        for namespace in pair.scope.namespaces:
            key = f"{_ENDING}{namespace}"
            alone = replace(pair, scope=MigrationScope(canary=(namespace,)))
            before = _steps((await self._journal.recall(key)).get(key)) if more else ()
            steps = {(step.kind, step.subject): step for step in (*before, *taking_over(alone), *restoring(alone))}
            await self._journal.remember(key, _rows(steps.values()))

    async def carry_out(self, namespaces: Iterable[str], report: Report) -> None:
        """Do what was kept for namespaces; it may be done again.

        Raises:
            AdminError: A step was refused, or not answered for too long.
        """
        for namespace in namespaces:
            for start in (_BOTH, _ENDING):
                await self._perform(f"{start}{namespace}", report)

    async def give_back(self, namespaces: Iterable[str], report: Report) -> None:
        """Give blue back what it had of namespaces, where preparing green has changed it at both.

        Raises:
            AdminError: A step was refused, or not answered for too long.
        """
        for namespace in namespaces:
            await self._perform(f"{_BOTH}{namespace}", report)

    async def forget(self, prefixes: Sequence[str]) -> None:
        """Forget what was kept for the time of the migration, and is no value that has to be put back."""
        for start in (_BOTH, _ENDING, *prefixes):
            for key in await self._journal.recall(start):
                await self._journal.forget(key)

    async def _perform(self, key: str, report: Report) -> None:
        steps = _steps((await self._journal.recall(key)).get(key))
        await perform(self._green, steps, clock=self._clock, bounds=self._bounds, report=report)
        await self._journal.forget(key)


def _rows(steps: Iterable[PreparationStep]) -> list[dict[str, object]]:
    """Steps as they are kept."""
    return [{**asdict(step), "before": None, "undo": None} for step in steps]


def _steps(rows: object) -> list[PreparationStep]:
    """Steps as they were kept."""
    kept: Sequence[Mapping[str, Any]] = rows if isinstance(rows, Sequence) else ()
    return [PreparationStep(**{**row, "kind": PreparationKind(row["kind"])}) for row in kept]
