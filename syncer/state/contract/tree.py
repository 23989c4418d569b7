"""The digest tree (Merkle-like) as a database keeps it: pages, and a log of what changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTree:
    """The digest tree as kept: pages, and what was logged since they were written. Opaque to the database.

    Args:
        label: What it sums, and how; empty: nothing was summed yet.
        number: Of the last log row ever written.
        pages: By their number.
        log: In order.
    """

    label: str
    number: int
    pages: Mapping[int, bytes] = field(default_factory=dict)
    log: Sequence[bytes] = ()


class TreeTransaction(Protocol):
    """The part of a transaction that is about the digest tree."""

    def tree(self) -> KeptTree:
        """The digest tree as kept."""
        ...

    def tree_number(self) -> int:
        """Number of the last row ever written into the tree's log. Cheap."""
        ...

    def log_tree(self, changes: bytes) -> int:
        """Append to the tree's log; the row's number, one more than that of the last one."""
        ...

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        """Replace the label and all pages, and forget the log; its numbers go on."""
