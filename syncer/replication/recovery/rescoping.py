"""A changed scope: what waits for paths that have left it is let go, and what has come in is met for the first time.

All of it is done at the start, before anything is told of the paths, and again at the next start if this one ends
before the whole store was met: the sums of the new scope are not kept before (see ``Core.rescoped``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from syncer.conflict.classes.moving import entered, left
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis
from syncer.replication.core import Core
from syncer.replication.recovery.part import Recovery
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

PAGE: Final = 1_000
_END: Final = Millis(2**62)


def comes_in(core: Core, path: MetaPath) -> bool:
    """Whether the path is one that this region carries and did not carry before its scope was changed."""
    former = core.former
    return former is not None and core.scope.contains(path) and not former.contains(path)


def settle(recovery: Recovery, now: Millis) -> None:
    """Let go what waits for paths that have left the scope, and forget deletes of paths that have come in.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    core = recovery.core
    if core.former is None or core.observing:
        return
    with core.state.transaction() as tx:
        identity = tx.set_identity(generation=core.identity.generation + 1)
    core.renamed(identity)  # and not before it is stored
    after: MetaPath | None = None
    while True:
        with core.state.transaction() as tx:
            page = sorted({*(each.path for each in tx.due(PAGE, after)), *tx.dying(PAGE, after)})[:PAGE]
            unit = recovery.units.begin(tx, now)
            outside = [path for path in page if not core.scope.contains(path)]
            unit.load(outside)
            for path in outside:
                unit.take(left(unit[path]))
            unit.store()
        unit.settle()
        recovery.telemetry.tally["scope", "let-go"] += len(outside)
        if not page:
            break
        after = page[-1]
    place: tuple[Millis, MetaPath] | None = None
    while True:
        with core.state.transaction() as tx:
            found = tx.dead(PAGE, _END, place)
            _forget(core, tx, found)
        if not found:
            return
        place = (found[-1].stamp.updated_at_ms, found[-1].path)


def _forget(core: Core, tx: Transaction, found: Sequence[Tombstone]) -> None:
    """Tombstones of paths that have come in: somebody may have brought the path anew since they were forgotten."""
    paths = [each.path for each in found if comes_in(core, each.path)]
    open_paths = tx.open_paths(paths)
    going = [register for register in tx.registers(paths).values() if register.path not in open_paths]
    going = [register for register in going if register.forgettable]
    if going:
        core.floor = max(core.floor, *_times(going))
        tx.drop_tombstones([register.path for register in going], core.floor)


def _times(registers: Iterable[Register]) -> Iterable[Millis]:
    for register in registers:
        yield register.own
        if register.known is not None:
            yield register.known.stamp.updated_at_ms


def met(core: Core, register: Register, entry: Entry | None) -> Register:
    """The register by which a read of a path that has come in is judged."""
    return register if entry is None else entered(register, core.replica.settings.by)
