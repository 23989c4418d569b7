"""What truly happened: every content that ever stood in a store, and what its author could have seen there.

The referee's only source beside the final state. It is kept by the stores as they change, and derives "had seen" from
one fact alone: who writes into a store has seen what stood there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from syncer.model import Counter, Digest, MetaPath, Region, Stamp, Version


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
        number: For people.
        over: What stood in this store before it was written from outside.
        carries: The outside content that a daemon wrote here.
        fixed: What its author had seen, as it was when it was stamped.
        same: Contents of equal digest that the region has taken this one for.
        outside: Written from outside; otherwise by a daemon, or absent from the beginning.
        stamp: The name that the region gave to it, once it did.
        by: The counter that this stamp was counted by.
        held: Its publication was held back when it was stamped.
    """

    number: int
    path: MetaPath
    digest: Digest | None
    region: Region
    outside: bool
    over: Content | None = None
    carries: Content | None = None
    fixed: frozenset[Content] | None = None
    same: list[Content] = field(default_factory=list)
    stamp: Stamp | None = None
    by: Counter | None = None
    held: bool = False

    def __str__(self) -> str:
        what = "⊥" if self.digest is None else f"#{self.number}"
        return what if self.outside else f"{what} (ours)"

    @property
    def past(self) -> frozenset[Content]:
        """Everything that its author had seen, itself included; fixed once it has a stamp."""
        return self.fixed if self.fixed is not None else self.reach()

    def reach(self) -> frozenset[Content]:
        """Everything that whoever writes over it here, now, has seen."""
        seen: set[Content] = set()
        content: Content | None = self
        while content is not None:
            seen.add(content)
            for same in content.same:
                seen |= same.past
            if content.fixed is not None:
                seen |= content.fixed
            content = content.over
        return frozenset(seen)

    @property
    def names(self) -> tuple[Content, ...]:
        """Itself, what it carries, and what the region has taken it for."""
        return (self, *self.same) if self.carries is None else (self, self.carries, *self.same)


@dataclass(slots=True)
class History:
    """All contents, and which stamp names which of them."""

    contents: list[Content] = field(default_factory=list)
    named: dict[tuple[MetaPath, Stamp], Content] = field(default_factory=dict)
    withdrawn: set[tuple[MetaPath, Stamp]] = field(default_factory=set)

    def _new(self, path: MetaPath, digest: Digest | None, region: Region, over: Content | None) -> Content:
        content = Content(len(self.contents) + 1, path, digest, region, outside=True, over=over)
        self.contents.append(content)
        return content

    def written_outside(self, path: MetaPath, digest: Digest | None, over: Content, region: Region) -> Content:
        """Somebody wrote into a store; the same projection over itself is no new content."""
        return over if over.digest == digest else self._new(path, digest, region, over)

    def asserted(self, path: MetaPath, digest: Digest | None, seen: list[Content], region: Region) -> Content:
        """A region asserted a value above what it knew (a revive, a rejected hold, a restored conflict).

        Of what comes from elsewhere it knows what its author had seen, and nothing that was learned there since.
        """
        content = self._new(path, digest, region, None)
        content.fixed = frozenset({content}).union(*(one.reach() if one.region == region else one.past for one in seen))
        return content

    def merged(self, path: MetaPath, known: Version) -> list[Content]:
        """What a region holds for one with the version that it knows: of equal digest, and told to it before."""
        return [
            each
            for each in self.contents
            if each.path == path
            and each.digest == known.digest
            and each.stamp is not None
            and each.by is not None
            and known.seen.get(each.by, -1) >= each.stamp.updated_at_ms
        ]

    def name(self, content: Content, stamp: Stamp) -> None:
        """A region stamped a content as a local change.

        Raises:
            Violation: It was no outside change, has a stamp already, or is stamped below what its author had seen.
        """
        path = content.path
        if not content.outside:
            raise Violation("echo", path, f"{stamp} was given to {content}, which nobody outside wrote")
        if content.stamp is not None:
            raise Violation("twice", path, f"{stamp} was given to {content}, which is {content.stamp} already")
        past = content.past
        for older in past:
            if older.stamp is not None and older.stamp.updated_at_ms >= stamp.updated_at_ms:
                raise Violation(
                    "causality", path, f"{stamp} was given to {content}, whose author had seen {older.stamp}"
                )
        content.stamp, content.fixed = stamp, past
        self.named[path, stamp] = content

    def name_again(self, content: Content, stamp: Stamp) -> Content:
        """A region that has lost its database stamped a content of which it has forgotten all; what the stamp names."""
        past = content.past
        below = any(older.stamp is not None and older.stamp.updated_at_ms >= stamp.updated_at_ms for older in past)
        if content.outside and content.stamp is None and not below:
            self.name(content, stamp)
            return content
        again = self._new(content.path, content.digest, content.region, None)
        again.stamp, again.fixed = stamp, frozenset({again})
        content.same.append(again)
        self.named[content.path, stamp] = again
        return again

    def carried(self, path: MetaPath, stamp: Stamp, region: Region) -> Content:
        """The content that a daemon writes when it applies the version of this stamp."""
        origin = self.named.get((path, stamp))
        if origin is None:
            raise Violation("invented", path, f"{stamp} is applied at {region}, and nobody ever stamped it")
        content = Content(origin.number, path, origin.digest, region, outside=False, carries=origin, stamp=stamp)
        content.fixed = origin.past | {content}
        return content

    def took_for(self, content: Content, stamp: Stamp) -> None:
        """A region read a content and takes it for the version of this stamp, because the digests are equal."""
        other = self.named.get((content.path, stamp))
        if other is not None and other not in content.names and other.digest == content.digest:
            content.same.append(other)

    def knew(self, winner: Content, loser: Content) -> bool:
        """Whether the winner's author had the loser in its store, or the same value by another, concurrent hand."""
        loser = self.indistinct(loser)
        past = winner.past
        if any(name in past for name in loser.names):
            return True
        before = loser.past
        return any(other.digest == loser.digest and other.stamp is not None and other not in before for other in past)

    @staticmethod
    def indistinct(content: Content) -> Content:
        """An absence after something that came and went unread is the absence before it; no store tells them apart."""
        while content.digest is None and content.stamp is None and not content.same:
            earlier = content.over
            while earlier is not None and earlier.stamp is None and earlier.digest is not None:
                earlier = earlier.over
            if earlier is None or earlier.digest is not None:
                break
            content = earlier
        return content

    def unnoticed(self, content: Content) -> bool:
        """Whether a path is absent and nothing that stood there was ever read: as if nothing had been."""
        return content.digest is None and all(other.stamp is None for other in content.past)
