"""No schedule of regions runs jobs: whoever asks for one is told that there is none."""

from __future__ import annotations

from typing import NoReturn

from syncer.model import Millis
from syncer.state.contract.jobs import JobEnd, JobRow


class WithoutJobs:
    """Implements :class:`~syncer.state.contract.jobs.JobTransaction` where there is none."""

    def ask_job(self, job: JobRow) -> NoReturn:
        """Nobody asks for one."""
        raise NotImplementedError

    def job(self, number: int) -> JobRow | None:
        """There is none."""
        del number
        return None

    def open_jobs(self) -> list[JobRow]:
        """There is none."""
        return []

    def last_job(self, asked_by: str) -> JobRow | None:
        """There was none."""
        del asked_by
        return None

    def begin_job(self, number: int, host: str, run: str, now: Millis) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def requeue_job(self, number: int, run: str) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def ask_end_of_job(self, number: int, asked_by: str) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def end_job(self, number: int, run: str, how: JobEnd) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def prune_jobs(self, keep: int) -> int:
        """There is none."""
        del keep
        return 0
