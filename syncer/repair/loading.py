"""Loading of a repair: its plan is brought into the sidecar database, and the daemon is asked to publish it.

The daemon may run on another machine, and another one may take its place; so the versions go into the sidecar database,
in short transactions that keep no daemon waiting, and the daemon is asked only when all of them are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from syncer.conflict.projection import PROJECTIONS
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import Millis, Region
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.repair.preview import Consent, held_back
from syncer.repair.repair_file import DifferingPath, Head, RepairFile
from syncer.replacing import replace
from syncer.state.contract.repairs import Repair, RepairState, Telling

if TYPE_CHECKING:
    from syncer.state.contract.operations import Asked, Operation

ROWS_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 4 * 1024 * 1024

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

    def ask_all(self, requests: Sequence[OperationRequest], asked: Asked) -> list[int]:
        """Ask the daemon; the operations' numbers."""
        ...

    def operation(self, number: int) -> Operation | None:
        """An operation by its number."""
        ...


def bring_in(
    views: Loading,
    file: RepairFile,
    asked: Asked,
    *,
    made_at_ms: Millis,
    report: Report = lambda _done: None,
    reviewed: str = "",
) -> Repair:
    """Put a plan's tellings into the sidecar database, whole or not at all.

    Args:
        views: The database.
        file: The plan.
        asked: Who does it, and why.
        made_at_ms: Now.
        report: Told how far it has come.
        reviewed: Seal of the plan that was agreed to; empty: whichever it is.

    Raises:
        PlanInvalid: The file is no plan, is damaged, or names nothing.
        PreconditionFailed: It was made by another version's rules, or is another one than was agreed to; or the file
            cannot be read.
        StateUnavailable: The database cannot be written now.
    """
    with file.reading() as (head, findings):
        check_projections(head)
        repair = Repair(
            id=0,
            state=RepairState.LOADING,
            regions=tuple(Region(each.region) for each in head.regions),
            taken_at_ms=head.taken_at_ms,
            rules=head.rules,
            asked_by=asked.by,
            reason=asked.reason,
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
            if reviewed not in {"", file.sha256}:
                raise PreconditionFailed(
                    f"{file.path} is another plan now than the one that was shown",
                    hint="Give the command again: it shows what is there now.",
                )
            totals = file.totals
            ready = replace(repair, id=number, state=RepairState.READY, total=totals.paths, deletes=totals.deletes)
            views.end_loading(ready)
        except BaseException:
            views.drop_repair(number)
            raise
    return ready


def request_of(repair: Repair, consent: Consent) -> OperationRequest:
    """What has the daemon begin."""
    arguments = {
        "repair": str(repair.id),
        "allow_deletes": str(consent.deletes).lower(),
        "force_old": str(consent.old).lower(),
    }
    return OperationRequest(OperationKind.SNAPSHOT_SYNC, arguments)


def ask_for(views: Loading, repair: Repair, consent: Consent, asked: Asked) -> list[int]:
    """Ask the daemon to begin; the operations' numbers.

    Of a request that came twice at once, and has led to an operation already, what was brought in for it is dropped.

    Raises:
        RequestKeyReused: The key was used for another request; what was brought in is dropped.
        StateUnavailable: The database cannot be written now; likewise.
    """
    request = request_of(repair, consent)
    try:
        numbers = views.ask_all([request], asked)
        found = views.operation(numbers[0])
        asked_before = found is not None and found.arguments != dict(request.arguments)
    except BaseException:
        views.drop_repair(repair.id)
        raise
    if asked_before:
        views.drop_repair(repair.id)
    return numbers


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


def portions(tellings: Iterable[Telling], *, rows_at_once: int, bytes_at_once: int) -> Iterator[list[Telling]]:
    """Cut tellings into portions of bounded size."""
    portion: list[Telling] = []
    size = 0
    for each in tellings:
        portion.append(each)
        size += len(each.event.value or b"") if each.event is not None else 0
        if len(portion) >= rows_at_once or size >= bytes_at_once:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
