"""What truly happened: every content that ever stood in a store, and what its author could have seen there.

The referee's only source beside the final state. It is kept by the stores as they change, knows nothing of stamps but
the names that a region gave to contents, and derives "had seen" from one fact alone: who writes into a store has seen
what stood there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from syncer.model import Digest, MetaPath, Region, Stamp


class Violation(AssertionError):
    """A rule was broken. ``rule`` is short and stable; ``path`` is where, empty when it is about a whole region."""

    def __init__(self, rule: str, path: str, detail: str) -> None:
        super().__init__(f"{rule}: {path}: {detail}")
        self.rule = rule
        self.path = path
        self.detail = detail


@dataclass(eq=False, slots=True)
class Content:
    """One content of one path in one store (``digest is None``: absent).

    Args:
        number: Identifies the outside write; contents that a daemon wrote have the number of what they carry.
        past: Numbers of all outside writes that the author had seen in its store, its own included.
        outside: Written from outside; otherwise by a daemon.
        stamp: The name that the region gave to it, once it did.
    """

    number: int
    path: MetaPath
    digest: Digest | None
    past: frozenset[int]
    region: Region
    outside: bool
    stamp: Stamp | None = None

    def __str__(self) -> str:
        what = "⊥" if self.digest is None else f"#{self.number}"
        return what if self.outside else f"{what} (ours)"


@dataclass(slots=True)
class History:
    """All outside writes, and which stamp names which content."""

    contents: dict[int, Content] = field(default_factory=dict)
    named: dict[tuple[MetaPath, Stamp], Content] = field(default_factory=dict)
    withdrawn: set[tuple[MetaPath, Stamp]] = field(default_factory=set)

    def written_outside(self, path: MetaPath, digest: Digest | None, over: Content | None, region: Region) -> Content:
        """Somebody wrote into a store; the same projection over itself is no new content."""
        if over is not None and over.digest == digest:
            return over
        number = len(self.contents) + 1
        past = (over.past if over is not None else frozenset()) | {number}
        content = Content(number, path, digest, past, region, outside=True)
        self.contents[number] = content
        return content

    def asserted(self, path: MetaPath, digest: Digest | None, seen: list[Content], region: Region) -> Content:
        """A region asserted a value above what it knew (a revive, a rejected hold, a restored conflict)."""
        number = len(self.contents) + 1
        past = frozenset({number}).union(*(content.past for content in seen))
        content = Content(number, path, digest, past, region, outside=True)
        self.contents[number] = content
        return content

    def name(self, content: Content, stamp: Stamp) -> None:
        """A region stamped a content as a local change.

        Raises:
            Violation: It was no outside change, has a stamp already, or is stamped below what its author had seen.
        """
        path = content.path
        if not content.outside:
            raise Violation("echo", path, f"{stamp} was given to {content}, which a daemon wrote")
        if content.stamp is not None:
            raise Violation("twice", path, f"{stamp} was given to {content}, which is {content.stamp} already")
        for number in content.past:
            older = self.contents[number].stamp
            if older is not None and older.updated_at_ms >= stamp.updated_at_ms:
                raise Violation("causality", path, f"{stamp} was given to {content}, whose author had seen {older}")
        content.stamp = stamp
        self.named[path, stamp] = content

    def carried(self, path: MetaPath, stamp: Stamp, region: Region) -> Content:
        """The content that a daemon writes when it applies the version of this stamp."""
        origin = self.named.get((path, stamp))
        if origin is None:
            raise Violation("invented", path, f"{stamp} is applied at {region}, and nobody ever stamped it")
        return Content(origin.number, path, origin.digest, origin.past, region, outside=False, stamp=stamp)

    def knew(self, winner: Content, loser: Content) -> bool:
        """Whether the winner's author had the loser, or the same value by another hand, in its store.

        A loser that was never stamped equals a content that its store was known to hold before (several writes
        between two reads are one change), so that one counts for it.
        """
        if loser.number in winner.past:
            return True
        if loser.digest is None and all(self.contents[number].stamp is None for number in loser.past):
            return True  # absent as before: what came and went was never read
        return any(
            same.digest == loser.digest and (loser.stamp is None or number not in loser.past)
            for number in winner.past
            if (same := self.contents[number]).path == loser.path
        )
