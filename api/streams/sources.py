"""Numbered lists that can be followed: the journal, operations and jobs, each as its list shows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from api.streams.bookmark import MISSING, OVER, Bookmark
from api.streams.progress import ListEntry, ListSeen
from syncer.documents.explain import decision_document
from syncer.documents.jobs import job_document
from syncer.documents.operations import operation_document
from syncer.inspection.jobs import beyond_host
from syncer.state.contract.jobs import JobState
from syncer.state.contract.operations import OperationState

if TYPE_CHECKING:
    from syncer.state.contract.jobs import JobRow
    from syncer.state.contract.operations import Operation
    from syncer.state.views.region import Views

PAGE: Final = 500
LATE_WITHIN: Final = 100
"""Operations are asked for over several connections; of a shared database one may commit so many numbers late."""
PENDING: Final = "p"

Row = TypeVar("Row")


class ListSource(ABC):
    """A numbered list.

    Attributes:
        name: Type of its events.
    """

    name: str

    @abstractmethod
    def latest(self, views: Views) -> int:
        """The greatest number that was ever given."""

    @abstractmethod
    def open(self, views: Views) -> Mapping[int, str]:
        """Tags of what may still change, by number, in order."""

    @abstractmethod
    def seen(self, views: Views, bookmark: Bookmark) -> ListSeen:
        """What is of interest to a reader."""


class EventSource(ListSource):
    """The journal: nothing of it changes, one connection writes it, and its oldest rows are dropped."""

    name = "event"

    def latest(self, views: Views) -> int:
        """The greatest number that was ever given."""
        return views.journal_end()

    def open(self, views: Views) -> Mapping[int, str]:
        """Nothing."""
        del views
        return {}

    def seen(self, views: Views, bookmark: Bookmark) -> ListSeen:
        """Decisions behind the last; the journal's start is asked for where they do not follow at once."""
        rows = views.journal_after(bookmark.last, PAGE)
        latest = rows[-1].id if rows else views.journal_end()
        follows = rows[0].id == bookmark.last + 1 if rows else latest <= bookmark.last
        return ListSeen(
            new=[ListEntry(row.id, OVER, decision_document(row).model_dump(mode="json")) for row in rows],
            latest=latest,
            settled=0 if follows else views.journal_start(),
            whole=len(rows) < PAGE,
        )


class OperationSource(ListSource):
    """Operations, which are answered once."""

    name = "operation"

    def latest(self, views: Views) -> int:
        """The greatest number that was ever given."""
        return views.latest_operation()

    def open(self, views: Views) -> Mapping[int, str]:
        """Those that wait for the daemon."""
        return dict.fromkeys(views.pending_numbers(), PENDING)

    def seen(self, views: Views, bookmark: Bookmark) -> ListSeen:
        """New ones, and those of the open ones that were answered, or came late."""
        latest = self.latest(views)
        pending = self.open(views) if bookmark.open else {}
        again, gone = _again(bookmark, pending, views.operations_at, lambda row: row.id, _operation)
        new = views.operations(PAGE, bookmark.last) if latest > bookmark.last else []
        return ListSeen(
            new=[_operation(each) for each in new],
            again=again,
            gone=gone,
            latest=latest,
            settled=latest - LATE_WITHIN + 1,
            late=True,
            whole=len(new) < PAGE,
        )


class JobSource(ListSource):
    """Jobs: queued, running, perhaps to be cancelled, over. One connection makes them.

    All who follow are told the same: nobody is told stored values, whatever his rights are, nor places of the host.

    Args:
        places: The host's, as :func:`syncer.inspection.jobs.places_of` finds them; asked for at each look.
    """

    name = "job"

    def __init__(self, places: Callable[[], Sequence[str]]) -> None:
        self._places = places

    def latest(self, views: Views) -> int:
        """The greatest number that was ever given."""
        return views.latest_job()

    def open(self, views: Views) -> Mapping[int, str]:
        """Those that are not over."""
        return {job.id: _job_tag(job) for job in views.open_jobs()}

    def seen(self, views: Views, bookmark: Bookmark) -> ListSeen:
        """New ones, and those of the open ones that are in another state."""
        latest = self.latest(views)
        opened = self.open(views) if bookmark.open else {}
        again, gone = _again(bookmark, opened, views.jobs_at, lambda row: row.id, self._entry)
        new = views.jobs_after(bookmark.last, PAGE) if latest > bookmark.last else []
        return ListSeen(
            new=[self._entry(each) for each in new],
            again=again,
            gone=gone,
            latest=latest,
            settled=latest + 1,
            whole=len(new) < PAGE,
        )

    def _entry(self, row: JobRow) -> ListEntry:
        told = beyond_host(job_document(row), self._places(), values=False)
        return ListEntry(row.id, _job_tag(row), told.model_dump(mode="json"))


def _again(
    bookmark: Bookmark,
    now: Mapping[int, str],
    rows_at: Callable[[Sequence[int]], Sequence[Row]],
    number: Callable[[Row], int],
    entry: Callable[[Row], ListEntry],
) -> tuple[list[ListEntry], list[int]]:
    """What was open and is not as it was told, a page of it; and what of that is not there any more."""
    asked = [each for each, tag in bookmark.open.items() if now.get(each) != tag][:PAGE]
    if not asked:
        return [], []
    found = rows_at(asked)
    there = {number(row) for row in found}
    gone = [each for each in asked if each not in there and bookmark.open[each] != MISSING]
    return [entry(row) for row in found], gone


def _operation(row: Operation) -> ListEntry:
    tag = PENDING if row.state is OperationState.PENDING else OVER
    return ListEntry(row.id, tag, operation_document(row).model_dump(mode="json"))


def _job_tag(row: JobRow) -> str:
    if row.state not in {JobState.QUEUED, JobState.RUNNING}:
        return OVER
    return "c" if row.cancel_asked_by else row.state.value[0]
