"""The pace of reads from a live store: at most so many a second.

Invariant: in any stretch of time the reads are at most the rate times the stretch, and one request more.

Units: seconds of a clock that only goes forward.
"""

from __future__ import annotations

from typing import Final

SLICE_S: Final = 0.2
"""Of so much time are the reads that one request makes at most, so that they come evenly."""


class ReadPace:
    """Reads that were made, and when the next one is due.

    Args:
        per_s: Most reads in a second.
    """

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._due_s: float | None = None
        self.most = max(1, int(per_s * SLICE_S))
        """Most reads of one request."""

    def wait_s(self, now_s: float) -> float:
        """How long to wait before the next request.

        Args:
            now_s: The time.
        """
        return 0.0 if self._due_s is None else max(0.0, self._due_s - now_s)

    def took(self, reads: int, now_s: float) -> None:
        """Count the reads of a request.

        Args:
            reads: Paths that it asked for, or brought where that is known only then.
            now_s: The time; not before :meth:`wait_s` is over.
        """
        begun = now_s if self._due_s is None else max(self._due_s, now_s)
        self._due_s = begun + reads / self._per_s
