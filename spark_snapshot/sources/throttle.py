"""The throttle of a reader: it waits between requests to a live store, so that its other clients are served.

The rate is that of all readers together; each has its part of it.
"""

from __future__ import annotations

from asyncio import sleep as sleep_in_loop
from time import monotonic, sleep
from typing import Final

from spark_snapshot.sources.reach import WHOLE, Share
from syncer.wanted.contract import ReadTerms
from syncer.wanted.pace import ReadPace

UNLIMITED: Final = 1 << 30


class Throttle:
    """The throttle of one reader; open without a limit in the terms.

    Args:
        terms: On which the store is read.
        share: Which of several readers it is.
    """

    def __init__(self, terms: ReadTerms, share: Share = WHOLE) -> None:
        limit = terms.max_reads_per_s
        self._pace = None if limit is None else ReadPace(limit / share.of)

    @property
    def most(self) -> int:
        """Most paths of one request."""
        return UNLIMITED if self._pace is None else self._pace.most

    def wait(self) -> None:
        """Wait until the next request is due."""
        if self._pace is not None and (wait_s := self._pace.wait_s(monotonic())) > 0:
            sleep(wait_s)

    async def wait_in_loop(self) -> None:
        """Wait until the next request is due; the event loop goes on."""
        if self._pace is not None and (wait_s := self._pace.wait_s(monotonic())) > 0:
            await sleep_in_loop(wait_s)

    def took(self, paths: int) -> None:
        """Count the paths of a request."""
        if self._pace is not None:
            self._pace.took(paths, monotonic())
