"""The words of a comparison: where a row's stamp comes from, what is found at a path, why a version wins."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

EXCLUDED: Final = "excluded"
"""Instead of a class: live values differ in nothing but fields that a region has for itself, which is no difference."""


class StampOrigin(StrEnum):
    """Where a row's stamp comes from."""

    REGISTER = "register"
    """The daemon's register of the path: it has stamped, or folded, what the store holds."""
    UNSEEN = "unseen"
    """The store holds another value than the register says: a change that the daemon has not taken yet."""
    STORE = "store"
    """No register knows the path; the store's own time stands in, or 0 where it keeps none."""


class PathClass(StrEnum):
    """What a path is in the regions that are compared."""

    SAME = "same"
    """Every region has the same value, or none has one: deleted and never heard of are alike."""
    ONLY_IN = "only-in"
    """A value that some regions have, and the others never heard of."""
    DIFFERS = "differs"
    """Values that differ, or a delete that is older than a value elsewhere."""
    DELETED = "deleted"
    """The latest change is a delete, and some region still has a value."""
    HELD = "held"
    """One of the others, and a region that has to change holds the path: an operator decides there."""


class WinReason(StrEnum):
    """Why the winner wins over the strongest version with other content."""

    NEWER = "newer"
    REGION_ORDER = "region-order"
    """Both changed in the same millisecond; the order of the regions' names decides."""
    SAME_STAMP = "same-stamp"
    """One stamp stands with two contents: a value wins over a delete, then the larger digest."""
    NOT_PUBLISHED = "not-published"
    """All other content is of regions that publish nothing there, and no daemon has stamped it."""
    ONLY = "only"
    """No region knows any other content."""
