"""Snapshots in the simulated world: what a region's store held at some moment, told again by anybody at any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.conflict.classes.moving import is_unmet
from syncer.conflict.scope import Scope
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, TieOrder
from syncer.paths import classify
from syncer.plan.diffing import fingerprint
from syncer.repair.preconditions import scopes_text
from syncer.state.contract.repairs import Repair, RepairState, Telling

if TYPE_CHECKING:
    from tests.simulation.world import Site


@dataclass(frozen=True, slots=True)
class Picture:
    """What a region held, as a snapshot of it tells it to the group.

    Only what its register knows as the newest, and the store held in this form, is told; not what is held back.
    """

    region: Region
    taken_at_ms: Millis
    scope: str
    events: tuple[MetadataChangeEvent, ...]
    unseen: tuple[MetaPath, ...]

    def tellings(self) -> list[Telling]:
        """As a repair names them."""
        rows = [*((each.path, each) for each in self.events), *((path, None) for path in self.unseen)]
        return [
            Telling(number=number, path=path, found_in=self.region, event=event)
            for number, (path, event) in enumerate(rows, 1)
        ]

    def repair(self, teller: Region, scope: Scope) -> Repair:
        """As it is brought in, compared with what the region that is to tell it holds by its scope of now.

        Args:
            teller: That region.
            scope: Its scope.
        """
        scopes = {teller: scope.fingerprint} | {self.region: self.scope}
        return Repair(
            id=0,
            state=RepairState.READY,
            regions=(self.region,),
            taken_at_ms=self.taken_at_ms,
            rules=(scopes_text(scopes), TieOrder.SMALLER_REGION.value),
            asked_by="operator",
            reason="simulated",
            made_at_ms=self.taken_at_ms,
            total=len(self.events) + len(self.unseen),
            deletes=sum(each.value is None for each in self.events),
        )


def take(site: Site, scope: Scope, *, held: bool = False) -> Picture:
    """Take a picture of a region now.

    Args:
        site: The region.
        scope: Its scope.
        held: It has what is held back too, as none is that a daemon takes: somebody may have made it up by the store.
    """
    events: list[MetadataChangeEvent] = []
    unseen: list[MetaPath] = []
    for path, register in sorted(site.disk.tables.registers.items()):
        node, resource, stored = site.store.nodes.get(path), classify(path), register.stored
        if resource is None or stored is None or not scope.contains(path):
            continue
        if is_unmet(register) or (fingerprint(path, node.value) if node is not None else None) != stored.digest:
            unseen.append(path)
            continue
        if register.due or (register.hold is not None and register.hold.local and not held):
            continue
        events.append(
            MetadataChangeEvent(
                type=EventType.DELETED if node is None else EventType.MODIFIED,
                resource=resource.kind,
                resource_name=resource.name,
                path=path,
                value=node.value if node is not None else None,
                stamp=stored.stamp,
                by=stored.by,
                seen=stored.seen,
            )
        )
    return Picture(site.region, site.clock(), scope.fingerprint, tuple(events), tuple(unseen))
