"""What truly happened: every content that ever stood in a store, and what its author could have seen there.

The referee's only source beside the final state. It is kept by the stores as they change, and derives "had seen" from
one fact alone: who writes into a store has seen what stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from syncer.model import NOTHING_SEEN, Counter, Digest, MetaPath, Millis, Region, Seen, Stamp, Version


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
        invented: A liar has made it up, in whatever name.
        claims: What a liar says that its author had seen.
        collected: A broker has deleted what stood there, because nobody used it.
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
    invented: bool = False
    claims: Seen = field(default_factory=lambda: NOTHING_SEEN)
    collected: bool = False

    def __str__(self) -> str:
        what = "⊥" if self.digest is None else f"#{self.number}"
        what = f"{what}, a lie" if self.invented else what
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
    twins: dict[tuple[MetaPath, Stamp], list[Content]] = field(default_factory=dict)
    """Where a liar has told one stamp with several values: those that are not the named one."""
    lied: bool = False
    """A liar has told something."""
    latest: Callable[[], int] = lambda: 0
    """No region believes now that anybody has seen what is stamped later than this."""

    def _new(self, path: MetaPath, digest: Digest | None, region: Region, over: Content | None) -> Content:
        content = Content(len(self.contents) + 1, path, digest, region, outside=True, over=over)
        self.contents.append(content)
        return content

    def written_outside(
        self, path: MetaPath, digest: Digest | None, over: Content, region: Region, *, distinct: bool = False
    ) -> Content:
        """Somebody wrote into a store; the same projection over itself is no new content, unless it is ``distinct``."""
        return over if over.digest == digest and not distinct else self._new(path, digest, region, over)

    def asserted(self, path: MetaPath, digest: Digest | None, past: frozenset[Content], region: Region) -> Content:
        """A region asserted a value above what it knew (a revive, a rejected hold, a restored conflict).

        Args:
            path: Where.
            digest: Of the value.
            past: What whoever decided it had seen.
            region: Whose.
        """
        content = self._new(path, digest, region, None)
        content.fixed = self._claimed(past | {content})
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
        content.stamp, content.fixed = stamp, self._claimed(past)
        self._give(content, path, stamp)

    def _give(self, content: Content, path: MetaPath, stamp: Stamp) -> None:
        """A region gives a stamp away; a liar that has guessed it before has told another version."""
        guessed = self.named.get((path, stamp))
        if guessed is not None and guessed.invented:
            self.twins.setdefault((path, stamp), []).append(guessed)
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
        self._give(again, content.path, stamp)
        return again

    def name_completed(self, content: Content, stamp: Stamp) -> Content:
        """A region stamped a content once more, with fields of others that it lacked; what the stamp names."""
        again = self._new(content.path, content.digest, content.region, None)
        again.stamp, again.fixed = stamp, self._claimed(content.reach() | {again})
        content.same.append(again)
        self._give(again, content.path, stamp)
        return again

    # -- what a liar tells

    def told(self, path: MetaPath, stamp: Stamp, by: Counter, seen: Seen, digest: Digest | None) -> None:
        """A liar tells a version: one that it has made up, or a true one of which it says what its author had seen."""
        self.lied = True
        content = self.version(path, stamp, digest)
        if content is None or content.digest != digest:
            content = self._new(path, digest, stamp.region, None)
            content.stamp, content.by, content.invented, content.fixed = stamp, by, True, frozenset({content})
            if (path, stamp) in self.named:
                self.twins.setdefault((path, stamp), []).append(content)
            else:
                self.named[path, stamp] = content
        content.claims = _joined(content.claims, seen)

    def version(self, path: MetaPath, stamp: Stamp, digest: Digest | None) -> Content | None:
        """What a stamp names; where a liar has told several values under it, the one of this digest."""
        named = self.named.get((path, stamp))
        if named is None or named.digest == digest:
            return named
        return next((twin for twin in self.twins.get((path, stamp), ()) if twin.digest == digest), named)

    def _claimed(self, past: frozenset[Content], liars: Iterable[Content] | None = None) -> frozenset[Content]:
        """A past with all that liars say that it holds, as far as that is believed now and stamped already.

        Args:
            past: What was truly seen.
            liars: Of whom what is said counts; all of the past.
        """
        if not self.lied:
            return past
        claims: Seen = NOTHING_SEEN
        for content in past if liars is None else liars:
            claims = _joined(claims, {by: at for by, at in content.claims.items() if at <= self._believed(content)})
        paths = {content.path for content in past}
        covered = (
            content
            for (path, stamp), content in self.named.items()
            if path in paths and content.by is not None and claims.get(content.by, -1) >= stamp.updated_at_ms
        )
        return past.union(*(content.past for content in covered if content not in past))

    def _believed(self, content: Content) -> int:
        """Nobody has seen what is later than the own change."""
        own = content.stamp.updated_at_ms if content.stamp is not None else 0
        return min(own, self.latest())

    # -- what daemons do with it

    def carried(
        self, path: MetaPath, stamp: Stamp, region: Region, digest: Callable[[], Digest | None] = lambda: None
    ) -> Content:
        """The content that a daemon writes when it applies the version of this stamp; ``digest``: of what it writes."""
        origin = self.version(path, stamp, digest()) if self.twins else self.named.get((path, stamp))
        if origin is None:
            raise Violation("invented", path, f"{stamp} is applied at {region}, and nobody ever stamped it")
        content = Content(origin.number, path, origin.digest, region, outside=False, carries=origin, stamp=stamp)
        content.fixed = self._claimed(origin.past | {content})
        return content

    def took_for(self, content: Content, stamp: Stamp) -> None:
        """A region read a content and takes it for the version of this stamp, because the digests are equal."""
        other = self.version(content.path, stamp, content.digest)
        if other is not None and other not in content.names and other.digest == content.digest:
            content.same.append(other)

    def knew(self, winner: Content, loser: Content) -> bool:
        """Whether the winner's author had the loser in its store, or the same value by another, concurrent hand."""
        loser = self.indistinct(loser)
        past = self._claimed(winner.past, (winner,))
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


def _joined(left: Seen, right: Seen) -> Seen:
    return {by: max(left.get(by, Millis(0)), right.get(by, Millis(0))) for by in {**left, **right}}
