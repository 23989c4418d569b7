"""Full scans: which paths the running one has met, to find what is gone without a notice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from syncer.model import MetaPath


class ScanTransaction(Protocol):
    """The part of a transaction that is about full scans."""

    def begin_scan(self) -> None:
        """Forget which paths a former scan met."""
        ...

    def met(self, paths: Collection[MetaPath]) -> None:
        """The running scan met these paths."""
        ...

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths where something stood that the scan did not meet, in path order, beyond ``after``.

        That is a living stored value, or one that could not be read: its path may never have had another.
        """
        ...
