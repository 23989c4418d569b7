"""The contract between readers of stores and what is wanted of them.

Invariants of every value: a wanted path lies at or below exactly one root; every path on the way from that root to it
is entered; all that :meth:`WantedPaths.together` gives one name is read by one of several readers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

from syncer.making import made_quickly
from syncer.model import MetaPath

REFUSED: Final = "refused"
"""Kind of a row that tells of a path which may not be read, nor what lies below it; see :class:`ReadTerms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTerms:
    """Terms on which a store is read.

    Args:
        moment: All rows are of one moment. Otherwise each is of a moment of its own between begin and end of the read,
            which therefore ends however often the store changes; a path that exists all the time is read once.
        forgiving: What the credentials do not allow becomes a row of the kind ``REFUSED``, and the read goes on.
        created: Rows tell when a path was created, where the store knows.
        digests: Of the values, too: a reader may make them while its store is at the next answer.
        max_reads_per_s: Paths of a live store that all readers together ask for in a second; ``None``: no limit.
    """

    moment: bool = True
    forgiving: bool = False
    created: bool = False
    digests: bool = False
    max_reads_per_s: int | None = None

    def __post_init__(self) -> None:
        if self.max_reads_per_s is not None and self.max_reads_per_s < 1:
            raise ValueError(f"max_reads_per_s is {self.max_reads_per_s}: a read of less than one a second never ends")


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class NamesBelow:
    """The wanted ones of the names directly below a path.

    Args:
        kind: Of all that is wanted there; ``None``: each has its own.
        tenant: Whose all of it is; ``None``: each is a tenant itself.
        kind_of: Kind by name, ``None`` for one that is not wanted. Not given: every name is wanted.
        empties: Also paths without a value, which are inner nodes elsewhere.
        sessions: Also paths that end with the session of whoever made them.
    """

    kind: str | None
    tenant: str | None
    kind_of: Callable[[str], str | None] | None = None
    empties: bool = False
    sessions: bool = False


class ReadTogether(NamedTuple):
    """Paths that one of several readers reads together; decided by names alone.

    ``whole``: all below the path in question belongs to it, too.
    """

    name: str
    whole: bool


class WantedPaths(Protocol):
    """Wanted paths of a store. A value: it travels to other processes as text."""

    @property
    def roots(self) -> tuple[MetaPath, ...]:
        """Subtrees that hold all that is wanted; none lies in another."""
        ...

    @property
    def terms(self) -> ReadTerms:
        """Terms on which it is read."""
        ...

    def levels_below(self, path: MetaPath) -> int:
        """How many levels below a path may hold wanted ones."""
        ...

    def enters(self, path: MetaPath) -> bool:
        """Whether something that is wanted may lie below a path."""
        ...

    def below(self, path: MetaPath) -> NamesBelow | None:
        """The wanted ones directly below a path; ``None``: there are none."""
        ...

    def together(self, path: MetaPath) -> ReadTogether:
        """Paths that are read together with a path."""
        ...

    def digested(self) -> Self:
        """The same, with digests of the values."""
        ...

    def to_json(self) -> str:
        """As text, for an option of a data source."""
        ...
