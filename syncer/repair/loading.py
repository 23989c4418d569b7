"""Delivery of a repair plan: shown before anything happens, and brought to the daemon that is to publish it.

The daemon may run on another machine, and another one may take its place; so the tellings go into the sidecar database,
in short transactions that keep no daemon waiting, and the daemon is asked only when all of them are there.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import HELD_BACK
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import EventType, Millis, Region
from syncer.operations.contract import OperationKind
from syncer.repair.preconditions import Objection, Offer, Terms, objections
from syncer.repair.repair_file import DifferingPath, Head, RepairFile
from syncer.replacing import replace
from syncer.state.contract.repairs import Repair, RepairState, Telling
from syncer.state.sql.repairs import portions

ROWS_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 4 * 1024 * 1024
SHOWN: Final = 1_000
"""Paths of a preview that are named; all are counted."""

Report = Callable[[int], None]
"""Told now and then: how many paths are behind us."""


class Loading(Protocol):
    """Where tellings are brought in; :class:`syncer.state.views.region.Views` implements it."""

    def begin_repair(self, repair: Repair) -> int:
        """Begin; the repair's number."""
        ...

    def add_tellings(self, number: int, tellings: Iterable[Telling]) -> None:
        """Add a portion."""
        ...

    def end_loading(self, repair: Repair) -> None:
        """All are there."""
        ...

    def drop_repair(self, number: int) -> None:
        """Forget it again."""
        ...

    def ask(self, kind: str, arguments: dict[str, str], asked_by: str, reason: str) -> int:
        """Ask the daemon; the operation's number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a person lets pass.

    Args:
        deletes: However much is deleted.
        old: However long ago the snapshots were taken.
    """

    deletes: bool = False
    old: bool = False


@dataclass(slots=True, kw_only=True)
class Preview:
    """What a repair would change.

    Args:
        head: What was compared.
        changes: By region and what happens there (``create or change``, ``delete``, ``wait for a person``): how many.
        unstamped: By region: paths that its own daemon has to find in its store, or holds back.
        ignored: By native region: tellings that it would, or may, not take.
        shown: The first paths, in the plan's order.
        paths: How many there are.
        deletes: How many of these are deletes.
    """

    head: Head
    changes: Tally[tuple[Region, str]] = field(default_factory=Tally)
    unstamped: Tally[Region] = field(default_factory=Tally)
    ignored: Tally[Region] = field(default_factory=Tally)
    shown: list[DifferingPath] = field(default_factory=list)
    paths: int = 0
    deletes: int = 0


def preview(file: RepairFile, *, native: Collection[Region] = ()) -> Preview:
    """What a plan would change in each region. Nothing is asked of anybody.

    Args:
        file: The plan.
        native: Regions that run Pulsar's own synchronizer.

    Raises:
        PlanInvalid: The file is no plan, or is damaged.
    """
    with file.reading() as (head, findings):
        found = Preview(head=head)
        for each in findings:
            if len(found.shown) < SHOWN:
                found.shown.append(each)
            if each.event is None or held_back(each):
                found.unstamped[each.found_in] += 1
                continue
            what = "delete" if each.event.type is EventType.DELETED else "create or change"
            for region in each.losers:
                found.changes[region, "wait for a person" if region in each.held else what] += 1
                found.ignored[region] += region in native and may_be_ignored(each, region)
    found.paths, found.deletes = file.totals.paths, file.totals.deletes
    found.ignored = +found.ignored
    return found


def refused(found: Preview, terms: Terms, now: Millis, consent: Consent) -> Iterator[Objection]:
    """Why a daemon on these terms would not begin, as far as anybody can tell without asking it."""
    head = found.head
    offer = Offer(
        rules=(head.scope, head.tie_order), taken_at_ms=head.taken_at_ms, paths=found.paths, deletes=found.deletes
    )
    return objections(offer, terms, now, old=consent.old, deletes=consent.deletes)


def held_back(finding: DifferingPath) -> bool:
    """Whether the version is a change that its own region has published to nobody: only a person there lets it out."""
    return finding.held.get(finding.found_in) in {reason.value for reason in HELD_BACK}


def may_be_ignored(finding: DifferingPath, region: Region) -> bool:
    """Whether a region that runs Pulsar's own synchronizer would ignore a telling, as far as is known.

    It takes what is told of a path that it lacks. Where it has a node, it ignores what is stamped before that node was
    last written, which is when the loser was written *there*: mostly after the winner's stamp. Where the plan does not
    say when that was, it may be.

    Source: ``AbstractMetadataStore.shouldIgnoreEvent``, Pulsar 4.0.8.
    """
    if finding.event is None or finding.cls == "only-in":
        return False
    written_ms = finding.written_ms.get(region)
    return written_ms is None or finding.event.stamp.updated_at_ms < written_ms


def bring_in(
    views: Loading,
    file: RepairFile,
    *,
    asked_by: str,
    reason: str,
    made_at_ms: Millis,
    report: Report = lambda _done: None,
) -> Repair:
    """Put a plan's tellings into the sidecar database, whole or not at all.

    Args:
        views: The database.
        file: The plan.
        asked_by: Who does it.
        reason: Why.
        made_at_ms: Now.
        report: Told how far it has come.

    Raises:
        PlanInvalid: The file is no plan, is damaged, or names nothing.
        PreconditionFailed: It was made by another version's rules; or the file cannot be read.
        StateUnavailable: The database cannot be written now.
    """
    with file.reading() as (head, findings):
        check_projections(head)
        repair = Repair(
            id=0,
            state=RepairState.LOADING,
            regions=tuple(Region(each.region) for each in head.regions),
            taken_at_ms=head.taken_at_ms,
            rules=(head.scope, head.tie_order),
            asked_by=asked_by,
            reason=reason,
            made_at_ms=made_at_ms,
        )
        number = views.begin_repair(repair)
        try:
            done = 0
            for portion in portions(_tellings(findings), rows_at_once=ROWS_AT_ONCE, bytes_at_once=BYTES_AT_ONCE):
                views.add_tellings(number, portion)
                done += len(portion)
                report(done)
            if not file.whole or not file.totals.paths:
                raise PlanInvalid(f"{file.path} names no path", hint="There is nothing to repair.")
            totals = file.totals
            ready = replace(repair, id=number, state=RepairState.READY, total=totals.paths, deletes=totals.deletes)
            views.end_loading(ready)
        except BaseException:
            views.drop_repair(number)
            raise
    return ready


def ask_for(views: Loading, repair: Repair, consent: Consent) -> int:
    """Ask the daemon to begin; the operation's number. What REST does, too."""
    arguments = {
        "repair": str(repair.id),
        "allow_deletes": str(consent.deletes).lower(),
        "force_old": str(consent.old).lower(),
    }
    return views.ask(OperationKind.SNAPSHOT_SYNC, arguments, repair.asked_by, repair.reason)


def check_projections(head: Head) -> None:
    """Refuse what was compared by other projections than this version's.

    Raises:
        PreconditionFailed: It was.
    """
    unlike = [kind for kind, projection in PROJECTIONS.items() if head.projections.get(str(kind)) != projection.id]
    if unlike:
        raise PreconditionFailed(
            f"the snapshots compare {', '.join(sorted(unlike))} in another way than this version does",
            hint="Take new snapshots with this version, in every region, and compare those.",
        )


def _tellings(findings: Iterator[DifferingPath]) -> Iterator[Telling]:
    for number, each in enumerate(findings, 1):
        event = None if held_back(each) else each.event
        yield Telling(number=number, path=each.path, found_in=each.found_in, event=event)
