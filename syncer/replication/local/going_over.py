"""Going over to another projection, once every member of the group can work by it.

From one moment on digests are made by the other one. What is due is looked through in the database, and all that the
store holds is read once; until both are done the other regions are told so, and neither they nor this one write what
values of these kinds say. A daemon that ends meanwhile goes on with it when it starts.
"""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import Outcome
from syncer.conflict.changeover import ProjectionsInUse, agreed, made_anew
from syncer.conflict.projection import FORMER
from syncer.conflict.replica import Replica
from syncer.model import Millis
from syncer.replacing import replace
from syncer.replication.core import GoingOver
from syncer.replication.group.peer import own_rules
from syncer.replication.local.part import OwnStore

_PAGE: Final = 1_000


def look_again(local: OwnStore, now: Millis) -> None:
    """Begin to go over where the group agrees on it, or do the next piece of that."""
    projections = local.core.replica.settings.projections
    if projections.former:
        _look_through(local, now)
        return
    peers, expected = local.group.peers, local.group.expected
    wanted = {kind: agreed(kind, projections.able, peers.able(kind, expected)) for kind in FORMER}
    towards = projections.towards({kind: found for kind, found in wanted.items() if found is not None})
    if towards.former:
        _use(local, towards)
        local.core.going_over = GoingOver(wants_scan=True)


def scanned(local: OwnStore) -> None:
    """All that the store holds was read, and every answer decided."""
    if local.core.replica.settings.projections.former and not local.core.going_over.wants_scan:
        local.core.going_over.all_read = True
        _arrive(local)


def _arrive(local: OwnStore) -> None:
    if local.core.going_over.all_read and local.core.going_over.due_seen:
        _use(local, local.core.replica.settings.projections.arrived)


def _use(local: OwnStore, projections: ProjectionsInUse) -> None:
    core = local.core
    with core.state.transaction() as tx:
        identity = tx.set_identity(projections=projections.told)
    core.identity, settings = identity, replace(core.replica.settings, projections=projections)
    core.replica = Replica(settings)
    local.group.peers.work_by(own_rules(projections, core.scope.fingerprint, settings.ties))


def _look_through(local: OwnStore, now: Millis) -> None:
    """Look through the next page of what is due: its values are in the database, and perhaps not in the store."""
    state = local.core.going_over
    if state.due_seen:
        return
    with local.core.state.transaction() as tx:
        page = tx.due(_PAGE, state.due_after)
        unit = local.units.begin(tx, now)
        unit.load([register.path for register in page])
        for register in page:
            made, acts = made_anew(local.core.replica.settings.projections, register, ())
            unit.take(Outcome(made, acts))
        unit.store()
    unit.settle()
    if len(page) < _PAGE:
        state.due_seen = True
        _arrive(local)
    else:
        state.due_after = page[-1].path
