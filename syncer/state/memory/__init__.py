"""The state contract on plain dictionaries: for simulations and for programs that embed the daemon's parts.

It keeps every promise of :mod:`syncer.state.contract` but one: nothing outlives the process. No file, no clock, no
randomness: equal calls give equal answers. Several :class:`MemoryState` may share one :class:`MemoryDatabase`, as two
daemons share a PostgreSQL; the one that became active last may write. Each change notes how it is undone: an exception,
or :meth:`MemoryState.crash`, undoes what was not committed.
"""

from __future__ import annotations

from syncer.state.memory.database import MemoryDatabase
from syncer.state.memory.state import MemoryState

__all__ = ["MemoryDatabase", "MemoryState"]
