"""Assembly: the parts of one region's daemon, built bottom up, and who follows and hears of which transactions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from syncer.conflict.classes.periods import ScopePeriods
from syncer.conflict.guards import DeleteWindow
from syncer.conflict.replica import Replica
from syncer.model import Region
from syncer.replacing import replace
from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.antientropy.tree_state import DigestTreeState
from syncer.replication.control.part import OperatorControl
from syncer.replication.core import Core
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.gc.state import TombstoneGc, Tombstones
from syncer.replication.group.participation import Participation
from syncer.replication.group.peer import own_rules
from syncer.replication.group.peers import Peers
from syncer.replication.inbound.part import Inbound
from syncer.replication.local.part import OwnStore
from syncer.replication.local.watch import StoreWatch
from syncer.replication.local.write_queue import WriteQueue
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.quotas import Rooms
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.rebuild import BeginAnew
from syncer.replication.telemetry import Telemetry
from syncer.replication.uncompared import Uncompared
from syncer.replication.unit_of_work import UnitsOfWork
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one daemon, lowest first; each was given those below that it uses."""

    core: Core
    telemetry: Telemetry
    group: Participation
    units: UnitsOfWork
    rooms: Rooms
    recovery: Recovery
    local: OwnStore
    antientropy: AntiEntropy
    gc: DeleteCollection
    membership: MembershipChanges
    inbound: Inbound
    control: OperatorControl


def assemble(core: Core, capabilities: Capabilities, *, expected: Collection[Region], forgetting: TombstoneGc) -> Parts:
    """Build the parts over a replica, and take what its database keeps.

    Args:
        core: The region's own replica.
        capabilities: Of its store.
        expected: Regions that may send; empty: any.
        forgetting: How deletes are forgotten.
    """
    identity = core.identity
    settings = replace(
        core.replica.settings, projections=core.replica.settings.projections.resumed(identity.projections)
    )
    core.replica = Replica(settings)
    telemetry = Telemetry()
    group = Participation(
        core=core,
        peers=Peers(own_rules(settings.projections, core.scope.fingerprint, settings.ties)),
        expected=frozenset(expected),
        paused=identity.paused,
    )
    units = UnitsOfWork(core, telemetry)
    rooms = Rooms(core, telemetry)
    recovery = Recovery(core=core, group=group, telemetry=telemetry, units=units, started_as=identity.generation)
    local = OwnStore(
        core=core,
        group=group,
        telemetry=telemetry,
        units=units,
        recovery=recovery,
        watch=StoreWatch(alive_until=identity.alive_until, gap_floor=identity.alive_until),
        writes=WriteQueue(
            max_writes=capabilities.max_batch_writes,
            max_bytes=capabilities.max_batch_bytes,
            delete_weight=capabilities.delete_weight,
            alone=capabilities.alone,
        ),
        deletes=DeleteWindow(settings.limits),
    )
    antientropy = AntiEntropy(
        core=core,
        group=group,
        telemetry=telemetry,
        recovery=recovery,
        local=local,
        tree_state=DigestTreeState(core.scope),
    )
    gc = DeleteCollection(
        core=core,
        group=group,
        telemetry=telemetry,
        recovery=recovery,
        local=local,
        antientropy=antientropy,
        tombstones=Tombstones(forgetting),
    )
    membership = MembershipChanges(
        core=core, group=group, telemetry=telemetry, recovery=recovery, local=local, antientropy=antientropy, gc=gc
    )
    inbound = Inbound(
        core=core,
        group=group,
        telemetry=telemetry,
        units=units,
        rooms=rooms,
        recovery=recovery,
        local=local,
        antientropy=antientropy,
        gc=gc,
        membership=membership,
    )
    control = OperatorControl(
        core=core,
        group=group,
        telemetry=telemetry,
        units=units,
        recovery=recovery,
        local=local,
        antientropy=antientropy,
        gc=gc,
        membership=membership,
        inbound=inbound,
    )
    units.followers.append(antientropy.follow)
    units.count_carried = antientropy.count_carried
    units.listeners += [recovery.on_commit, local.on_commit]
    recovery.progress.published = identity.last_sequence
    group.evidence.until_ms = identity.heard_until
    with core.state.transaction() as tx:
        group.recall(tx)
        before = _recall_periods(core, tx)
        antientropy.sum_what_is_shared()
        antientropy.tree_state.load(tx)
    if antientropy.tree_state.of_another_scope and identity.first_scan_done:
        sums = antientropy.tree_state
        between = before.after(sums.former) if sums.former is not None else ()
        core.uncompared = Uncompared(rules=True, former=sums.former, between=between, unkept=sums.rules_unkept)
    elif not identity.first_scan_done and identity.rebuild is None and before.other_than(core.scope):
        scopes = before.scopes  # what was taken from the bus under these is no first contact
        core.uncompared = Uncompared(rules=True, former=scopes[0], between=scopes[1:])
    return Parts(
        core=core,
        telemetry=telemetry,
        group=group,
        units=units,
        rooms=rooms,
        recovery=recovery,
        local=local,
        antientropy=antientropy,
        gc=gc,
        membership=membership,
        inbound=inbound,
        control=control,
    )


def _recall_periods(core: Core, tx: Transaction) -> ScopePeriods:
    """Take the scopes that the database keeps, and add the daemon's own; those of before.

    A daemon that only observes takes messages from now on, and none of what it leaves out. One that is to be active
    takes none before it is the region's writer, and keeps its scope then.
    """
    before = ScopePeriods(tx.scope_periods())
    core.periods = before.under(core.scope)
    if core.observing and core.periods != before:
        tx.keep_scope_periods(core.periods.kept)
    return before


def begin_anew(parts: Parts, asked: BeginAnew) -> None:
    """Begin anew as another database: no part keeps anything of the former one in memory.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    rebuild.renew(parts.recovery, asked)
    parts.local.begin_anew()
    parts.antientropy.begin_anew()
    parts.gc.begin_anew()
    parts.core.uncompared = parts.core.uncompared.of_an_empty_database
    with parts.core.state.transaction() as tx:
        parts.antientropy.sum_what_is_shared()
        parts.antientropy.tree_state.load(tx)
        rebuild.renewed(parts.recovery, tx, asked)
    rebuild.begun(parts.recovery)
