"""Changes of the store, or of how it is looked at, since all of it was compared last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from syncer.conflict.scope import Scope
from syncer.model import MetaPath
from syncer.replication.fence import Fence, moved, policies_moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """In what the store, or the look at it, is another one, until a whole scan has compared it.

    Args:
        place: The fence was written into a store at another address.
        policies: Topic policies were compared at another place, where the brokers kept them then.
        rules: Those of the scope may be others than before.
        former: The scope that was compared last; ``None``: it is not known, or it is the same.
        between: Those that daemons had since, and did not compare all of; ``None`` for one that is not known.
        unkept: No rules were kept, as by an older version: most likely they are the same, so nothing counts as having
            come in.
    """

    place: bool = False
    policies: bool = False
    rules: bool = False
    former: Scope | None = None
    between: tuple[Scope | None, ...] = ()
    unkept: bool = False

    def in_store_of(self, fence: Fence | None, at: str) -> Uncompared:
        """The same where the store is the one in which a fence was found.

        Args:
            fence: As found; ``None``: there was none.
            at: Digest of the store's address.
        """
        return replace(self, place=moved(fence, at), policies=policies_moved(fence, at))

    @property
    def of_an_empty_database(self) -> Uncompared:
        """The same without rules from before: nothing is kept that they stand for, so nothing has come in by others."""
        return replace(self, rules=False, former=None, between=(), unkept=False)

    @property
    def lets_in(self) -> bool:
        """Whether paths may have come in that were not carried, or not read of this place, before."""
        return (self.rules and not self.unkept) or self.policies

    def was_carried(self, path: MetaPath) -> bool | None:
        """Whether a path was carried before; ``None``: nobody knows by which rules."""
        if not self.rules or self.unkept:
            return True
        if self.former is None or None in self.between:
            return None
        return all(scope.contains(path) for scope in (self.former, *self.between) if scope is not None)


NOTHING_UNCOMPARED: Final = Uncompared()
