"""What the regions of a test hold, compared by hand as snapshots are, and told again as the command line does it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from syncer.conflict.causality.order import later
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.conflict.scope import Scope
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, TieOrder
from syncer.paths import classify
from syncer.plan.diffing import fingerprint
from syncer.repair.loading import ask_for, bring_in
from syncer.repair.preview import Consent
from syncer.repair.repair_file import DifferingPath, Head, RegionPart, RepairFile, write
from syncer.state.contract.operations import Asked, Operation, OperationState
from syncer.state.contract.repairs import Repair
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, until
from tests.shell.region import Site

Picture = dict[MetaPath, MetadataChangeEvent]
NOTHING: Final = Consent()
_numbers: Final = count(1)


def picture(site: Site) -> Picture:
    """What the region's daemon has stamped, or folded, of what its store holds; with tombstones."""
    with closing(sqlite3.connect(site.database, timeout=WAIT_S)) as db:
        paths = [MetaPath(path) for (path,) in db.execute("SELECT path FROM registers ORDER BY path")]
    held, found = site.writer.items(), Picture()
    for path in paths:
        register = site.ask(partial(_register, path))
        stored = register.stored if register is not None else None
        value, resource = held.get(path), classify(path)
        if stored is None or resource is None:
            continue
        if (fingerprint(path, value) if value is not None else None) != stored.digest:
            continue  # the daemon has not seen yet what stands there
        found[path] = MetadataChangeEvent(
            type=EventType.MODIFIED if value is not None else EventType.DELETED,
            resource=resource.kind,
            resource_name=resource.name,
            path=path,
            value=value,
            stamp=stored.stamp,
            by=stored.by,
            seen=stored.seen,
        )
    return found


def _register(path: MetaPath, views: Views) -> Register | None:
    return views.register(path)


def compared(pictures: Mapping[Region, Picture]) -> Iterator[DifferingPath]:
    """For each path that regions hold differently, the greatest version."""
    for path in sorted({path for each in pictures.values() for path in each}):
        rows = {region: each.get(path) for region, each in pictures.items()}
        best = None
        for region, row in sorted(rows.items()):
            if row is not None and (best is None or later(row.stamp, best[1].stamp, TieOrder.SMALLER_REGION)):
                best = region, row
        assert best is not None
        losers = tuple(region for region, row in rows.items() if _digest(row) != _digest(best[1]))
        if losers:
            cls = "deleted" if best[1].value is None else "differs"
            yield DifferingPath(path=path, found_in=best[0], cls=cls, losers=losers, event=best[1])


def _digest(row: MetadataChangeEvent | None) -> bytes | None:
    return fingerprint(row.path, row.value) if row is not None and row.value is not None else None


def head(taken_at_ms: int, *regions: str) -> Head:
    """The head of a plan between these regions."""
    return Head(
        scope=Scope().fingerprint,
        tie_order=TieOrder.SMALLER_REGION.value,
        projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()},
        regions=tuple(RegionPart(region=region, snapshot=region, taken_at_ms=taken_at_ms) for region in regions),
        made_at_ms=taken_at_ms,
    )


def plan_of(folder: Path, *sites: Site) -> RepairFile:
    """Compare what the regions hold now."""
    path = folder / f"repair-{next(_numbers)}"
    taken_at_ms = sites[0].clock()
    pictures = {Region(site.name): picture(site) for site in sites}
    write(path, head(taken_at_ms, *(site.name for site in sites)), compared(pictures))
    return RepairFile(path)


async def asked(site: Site, file: RepairFile, consent: Consent = NOTHING) -> tuple[Repair, Operation]:
    """Bring a plan in and have the daemon begin; its answer."""

    def question(views: Views) -> tuple[Repair, int]:
        asked = Asked(by="a test", reason="because")
        repair = bring_in(views, file, asked, made_at_ms=Millis(site.clock()))
        return repair, ask_for(views, repair, consent, asked)[0]

    repair, number = site.ask(question)

    def answer() -> Operation:
        found: Operation = site.ask(lambda views: views.operation(number))
        return found

    await until(lambda: answer().state is not OperationState.PENDING, "snapshot-sync is answered")
    return repair, answer()


def state_of(site: Site, repair: Repair) -> Repair:
    """How far it is."""
    found = site.ask(lambda views: views.repair(repair.id))
    assert isinstance(found, Repair)
    return found


async def synced(site: Site, file: RepairFile, consent: Consent = NOTHING) -> Repair:
    """Have the plan told, to its end."""
    repair, operation = await asked(site, file, consent)
    assert operation.state is OperationState.DONE, operation.answer
    await until(lambda: state_of(site, repair).state.over, "the repair is over")
    return state_of(site, repair)
