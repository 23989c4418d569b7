"""A changed scope: what waits for paths that have left it is let go, and what has come in is met for the first time.

So are topic policies that brokers keep at another place than before: of what is found there nobody knows how old it is.

Where the rules before cannot be read (a newer version has kept them), every path in scope counts as one that has come
in. What was carried all the time and stands as the group knows it is not touched by that. What was changed while the
daemon was down is what a first contact finds: it overwrites nothing, and where the group has another value, that waits
for an operator. A delete is held. Tombstones are forgotten: what another region still has comes back.

All of it is done at the start, before anything is told of the paths, and again at the next start if this one ends
before the whole store was met: the sums of the new scope are not kept before (see ``Uncompared.rules``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from syncer.conflict.acts import Moment
from syncer.conflict.classes.moving import entered, frozen, is_unmet, left
from syncer.conflict.observing import retracted
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis
from syncer.paths import GLOBAL_TOPIC_POLICIES, is_under
from syncer.replacing import replace
from syncer.replication import publishing
from syncer.replication.core import Core
from syncer.replication.recovery.part import Recovery
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

PAGE: Final = 1_000
ROWS: Final = 500
"""Rows of the outbox that are looked at in one transaction."""
_END: Final = Millis(2**62)


def comes_in(core: Core, path: MetaPath) -> bool:
    """Whether the path is one that this region carries, and did not carry, or read of this place, before."""
    if not core.uncompared.lets_in:
        return False
    moved = core.uncompared.policies and is_under(path, GLOBAL_TOPIC_POLICIES)
    return (moved or not core.uncompared.was_carried(path)) and core.scope.contains(path)


def is_met_anew(core: Core, register: Register) -> bool:
    """Return whether the next read of a path is a first contact: it comes in, or was let go under an earlier scope."""
    return comes_in(core, register.path) or (is_unmet(register) and core.scope.contains(register.path))


def retract(recovery: Recovery, now: Millis) -> None:
    """Take changes out of the outbox that the scope does not let leave any more, at the start.

    Registers of other regions that are told again stay, where the scope carries their paths.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    core, after = recovery.core, 0
    if core.observing:
        return
    while True:
        with core.state.transaction() as tx:
            rows = tx.outbox(ROWS, after)
            kept = [row for row in rows if not publishing.leaves(core.scope, core.identity.region, row.event)]
            unit = recovery.units.begin(tx, now)
            unit.load([row.event.path for row in kept])
            for row in kept:
                unit.take(retracted(unit[row.event.path], row.event))
                unit.afterwards(partial(recovery.values.want, row.event.path))
            tx.acknowledged([row.sequence for row in kept])
            unit.store()
        unit.settle()
        if kept:
            # the bus may have one of these already: its echo is no sign of an old copy of this database
            recovery.progress.published = max(recovery.progress.published, kept[-1].sequence)
        recovery.telemetry.tally["published", "retracted"] += len(kept)
        if len(rows) < ROWS:
            return
        after = rows[-1].sequence


def settle(recovery: Recovery, now: Millis) -> None:
    """Take back what may not leave, let go what waits for paths that have left, and forget deletes of what has come in.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    _keep_period(recovery.core, now)
    retract(recovery, now)
    core = recovery.core
    if not core.uncompared.lets_in or core.observing:
        return
    with core.state.transaction() as tx:
        identity = tx.set_identity(generation=core.identity.generation + 1)
    core.renamed(identity)  # and not before it is stored
    after: MetaPath | None = None
    while True:
        with core.state.transaction() as tx:
            page = tx.page(PAGE, after)
            unit = recovery.units.begin(tx, now)
            outside = [each.path for each in page if _waits(each) and not core.scope.contains(each.path)]
            unit.load(outside)
            for path in outside:
                unit.take(left(unit[path]))
            unit.store()
            tx.save([marked for each in page if comes_in(core, each.path) and (marked := frozen(each)) is not each])
        unit.settle()
        recovery.telemetry.tally["scope", "let-go"] += len(outside)
        if not page:
            break
        after = page[-1].path
    place: tuple[Millis, MetaPath] | None = None
    while True:
        with core.state.transaction() as tx:
            found = tx.dead(PAGE, _END, place)
            _forget(core, tx, found)
        if not found:
            return
        place = (found[-1].stamp.updated_at_ms, found[-1].path)


def _keep_period(core: Core, now: Millis) -> None:
    """Keep since when the paths that come in are carried, before any message is taken."""
    periods = core.periods.dated(now)
    with core.state.transaction() as tx:
        if tx.scope_periods() != periods.kept:
            tx.keep_scope_periods(periods.kept)
    core.periods = periods


def knows(core: Core, register: Register) -> bool:
    """Return whether what is known of a path counts: something is, and not from before the path came in."""
    return register.known is not None and not is_met_anew(core, register)


def _waits(register: Register) -> bool:
    """Whether something is due, wished or held; a delete that is held back is due nowhere."""
    return register.due or register.hold is not None or register.wish is not None


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


def met(core: Core, register: Register, entry: Entry | None, moment: Moment) -> Register:
    """The register by which a read of a path that has come in is judged."""
    return entered(register, alive=entry is not None and not _is_known(core, register, entry, moment))


def _is_known(core: Core, register: Register, entry: Entry, moment: Moment) -> bool:
    """The path may have been carried all the time, and stands as the group knows it: nothing is met.

    That is judged as of a path that was carried: by the value with its kept and its excluded fields.
    """
    if register.known is None or core.uncompared.was_carried(register.path) is False:
        return False
    carried = entered(register, alive=False)
    found = core.replica.observe(carried, entry, replace(moment, by_scan=True), publishes=False).register
    return found.known is not None and found.known.digest == found.stored_digest
