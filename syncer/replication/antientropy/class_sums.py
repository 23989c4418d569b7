"""Sums of one class of paths, and how those of all classes lie in the database beside the tree over all.

A class holds the paths that this region and peers of one other scope both carry; all of them are paths that this region
carries, so whatever changes a class changes the tree over all, and one row of the log tells of all of them. To the
database, label, pages and log are opaque: a label without anything behind it is that of a database without classes, as
versions before this one write and read it; they sum anew what has another.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.classes.pairs import label_of
from syncer.conflict.classes.telling import scope_kept
from syncer.conflict.digest_tree import Changes, DigestTree, note
from syncer.conflict.register import Register
from syncer.conflict.scope import Scope
from syncer.errors import PayloadInvalid
from syncer.model import Digest, MetaPath

CLASSES_KEPT: Final = 8
"""Beside the tree over all; peers of further scopes are not compared."""

_LEFT: Final = "left "
"""Before the label of sums that were dropped, until those of another scope are whole."""
_LENGTH: Final = struct.Struct(">I")


@dataclass(slots=True)
class ClassSums:
    """The tree of one class.

    Args:
        contains: Whether a path that this region carries is of the class.
        tree: The sums.
        filling: They are not whole.
        after: The last path that was summed; ``None``: not begun.
    """

    contains: Callable[[MetaPath], bool]
    tree: DigestTree = field(default_factory=DigestTree)
    filling: bool = True
    after: MetaPath | None = None

    def begin(self) -> None:
        """All is to be summed anew."""
        self.tree, self.filling, self.after = DigestTree(), True, None

    def changes_of(self, changed: Iterable[tuple[MetaPath, Digest | None, Register]]) -> Changes:
        """What changed registers add to the sums; nothing of what the summing that goes on will still meet."""
        changes: Changes = {}
        for path, before, register in changed:
            known = register.known
            digest = known.digest if known is not None else None
            ahead = self.filling and (self.after is None or path > self.after)
            if digest != before and not ahead and self.contains(path):
                note(changes, path, before, digest)
        return changes

    def take(self, living: Sequence[tuple[MetaPath, Digest]], *, last: bool) -> None:
        """Sum the next slice of living paths."""
        changes: Changes = {}
        for path, digest in living:
            if self.contains(path):
                note(changes, path, None, digest)
        self.tree.apply(changes)
        if living:
            self.after = living[-1][0]
        self.filling = not last


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsLabel:
    """What the label of the sums in a database says.

    Args:
        head: What the tree over all sums, and how; one that begins with ``left`` is kept no longer.
        rules: Of the scope, as one text; empty: not told, or those by default.
        classes: Labels of the classes that lie behind it, in order.
    """

    head: str
    rules: str = ""
    classes: tuple[str, ...] = ()

    @staticmethod
    def of(label: str) -> SumsLabel:
        """What a label says; one that cannot be read is the label of nothing that is wanted."""
        head, _, rest = label.partition("\n")
        if not rest:
            return SumsLabel(head=head)
        try:
            told = json.loads(rest)
            return SumsLabel(head=head, rules=str(told["rules"]), classes=tuple(map(str, told["classes"])))
        except (ValueError, TypeError, KeyError):
            return SumsLabel(head=label)

    @property
    def text(self) -> str:
        """The label."""
        if not self.rules and not self.classes:
            return self.head
        return f"{self.head}\n{json.dumps({'rules': self.rules, 'classes': self.classes})}"

    def left(self) -> SumsLabel:
        """That nothing is kept of these sums any more."""
        return SumsLabel(head=_LEFT + self.head.removeprefix(_LEFT), rules=self.rules)

    @property
    def scope(self) -> Scope | None:
        """The scope that was summed, as far as it contains paths; ``None``: its rules are not known."""
        if self.rules:
            try:
                return scope_kept(self.rules)
            except PayloadInvalid:
                return None
        default = Scope()
        return default if self.head.removeprefix(_LEFT).startswith(f"{label_of(default)} ") else None


def joined_row(changes: bytes, of_classes: Sequence[bytes]) -> bytes:
    """One row of the log: what is added to the tree over all, and to those of all classes that are kept."""
    if not of_classes:
        return changes
    return b"".join(part for each in (changes, *of_classes) for part in (_LENGTH.pack(len(each)), each))


def parted_row(row: bytes, classes: int) -> list[bytes]:
    """The parts of a row: of the tree over all, and of so many classes."""
    if not classes:
        return [row]
    parts, at = [], 0
    for _ in range(1 + classes):
        (length,) = _LENGTH.unpack_from(row, at)
        at += _LENGTH.size
        parts.append(row[at : at + length])
        at += length
    return parts
