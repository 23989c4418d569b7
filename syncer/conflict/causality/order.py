"""Last writer wins: the order of any two versions, and the relation (ancestor, successor, concurrent) of two changes.

The stamp alone decides the winner. The relation only decides whether a conflict is recorded.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from syncer.conflict.causality.vectors import covers
from syncer.model import Digest, Stamp, TieOrder

if TYPE_CHECKING:
    from syncer.model import Version


class Relation(StrEnum):
    """What an incoming version is to the known one."""

    SAME = "same"
    ANCESTOR = "ancestor"
    SUCCESSOR = "successor"
    EQUAL = "equal"
    CONCURRENT = "concurrent"


def later(left: Stamp, right: Stamp, ties: TieOrder) -> bool:
    """Whether ``left`` wins over ``right``. A strict total order: irreflexive, transitive, decided for any two stamps.

    Regions compare as Java compares strings, by UTF-16 code units, so that regions running Pulsar's own synchronizer
    agree.
    """
    if left.updated_at_ms != right.updated_at_ms:
        return left.updated_at_ms > right.updated_at_ms
    if left.region == right.region:
        return False
    smaller = left.region.encode("utf-16-be", "surrogatepass") < right.region.encode("utf-16-be", "surrogatepass")
    return smaller if ties is TieOrder.SMALLER_REGION else not smaller


def prevails(left: Digest | None, right: Digest | None) -> bool:
    """Which of two values stands where one stamp names both; ``None``: a delete.

    No author gives a stamp twice: a member lies, or a database that was put back has given it again. Any rule will do
    that is the same everywhere.
    """
    return (left or b"") > (right or b"")


def relate(known: Version | None, incoming: Version) -> Relation:
    """Relate an incoming version to what is known of its path, by version vectors.

    An ancestor is always the lesser of the two, a successor the greater one.

    Args:
        known: Greatest version ever folded, ``None`` when the path is unknown.
        incoming: A version of the same path.
    """
    if known is None:
        return Relation.SUCCESSOR
    if incoming.stamp == known.stamp:
        return Relation.SAME
    if covers(known, incoming.by, incoming.stamp.updated_at_ms):
        return Relation.ANCESTOR
    if covers(incoming, known.by, known.stamp.updated_at_ms):
        return Relation.SUCCESSOR
    return Relation.EQUAL if incoming.digest == known.digest else Relation.CONCURRENT
