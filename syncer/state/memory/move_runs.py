"""The part of a database in memory about runs of moves; plain data goes through JSON, as it does in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from syncer.model import Millis
from syncer.state.contract.migrations import Migration
from syncer.state.contract.work.move_runs import (
    KeptMoveRun,
    require_balancing_free,
    require_known_run,
    require_open_run,
    require_settings_back,
    standing_trouble,
)
from syncer.state.encoding import dumps_plain
from syncer.state.memory.migrations import MigrationTables


class MoveRunTables(MigrationTables):
    """The part of a transaction that is about runs of moves, beside migrations."""

    def begin_migration(self, migration: Migration, plan: str) -> int:
        """Keep a new migration and its plan, where no run of moves is open; its number."""
        require_balancing_free(self.move_run(), None)
        return super().begin_migration(migration, plan)

    def begin_move_run(self, run: KeptMoveRun, plan: str, moves: Sequence[Mapping[str, Any]]) -> int:
        """Keep a new run, its plan, and its moves in the order of the plan; its number."""
        require_balancing_free(self.move_run(), self.migration())
        number = self._number("move_runs")
        self._keep_run(replace(run, id=number))
        self._put(self._db.move_run_plans, number, plan)
        self._keep_moves(number, dict(enumerate(moves)))
        return number

    def move_run(self, number: int | None = None) -> KeptMoveRun | None:
        """A run by its number; without one, the one that is open."""
        if number is not None:
            return self._db.move_runs.get(number)
        return next((each for each in self._db.move_runs.values() if not each.over), None)

    def move_run_plan(self, number: int) -> str:
        """The plan of a run, as it was given."""
        require_known_run(self.move_run(number), number)
        return self._db.move_run_plans[number]

    def move_run_moves(self, number: int) -> list[dict[str, Any]]:
        """The moves of a run, in the order of its plan."""
        kept = self._db.move_outcomes
        return [orjson.loads(kept[key]) for key in sorted(kept) if key[0] == number]

    def save_move_run(self, run: KeptMoveRun, moves: Mapping[int, Mapping[str, Any]]) -> None:
        """Keep how far an open run is, or that it is over; what was asked and told of it stays."""
        kept = require_open_run(self.move_run(run.id), run.id)
        require_settings_back(run)
        self._keep_run(replace(kept, phase=run.phase, run=run.run, finished_at_ms=run.finished_at_ms))
        self._keep_moves(run.id, moves)

    def tell_move_trouble(self, number: int, trouble: Mapping[str, Any]) -> None:
        """Keep why an open run is not carried on; empty: it is."""
        kept = require_open_run(self.move_run(number), number)
        self._keep_run(replace(kept, trouble=standing_trouble(kept.trouble, trouble)))

    def ask_to_stop(self, number: int, stop: Mapping[str, str]) -> None:
        """Keep that an open run is to stop; the first who asks is kept."""
        kept = require_open_run(self.move_run(number), number)
        if not kept.stop:
            self._keep_run(replace(kept, stop=dict(stop)))

    def _keep_run(self, run: KeptMoveRun) -> None:
        plain = orjson.loads(dumps_plain(run.run))
        self._put(self._db.move_runs, run.id, replace(run, run=plain))

    def _keep_moves(self, number: int, moves: Mapping[int, Mapping[str, Any]]) -> None:
        for place, each in moves.items():
            self._put(self._db.move_outcomes, (number, place), dumps_plain(each))

    def _prune_move_runs(self, before: Millis) -> int:
        """Drop runs that were over before that, with their moves; how many rows went."""
        old = {
            each.id
            for each in self._db.move_runs.values()
            if each.finished_at_ms is not None and each.finished_at_ms < before
        }
        moves = [key for key in self._db.move_outcomes if key[0] in old]
        for key in moves:
            self._drop(self._db.move_outcomes, key)
        for number in old:
            self._drop(self._db.move_runs, number)
            self._drop(self._db.move_run_plans, number)
        return len(old) + len(moves)
