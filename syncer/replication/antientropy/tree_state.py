"""State of one daemon's digest tree: in memory, in step with the registers, and kept in the database with them.

Every transaction that changes what is known of paths logs what that adds to the sums; from time to time all sums are
written anew and the log is forgotten. Memory takes a change over only after its commit. A row of the log that memory
does not expect (a commit whose answer was lost, a roll-back) means: read the tree again.

A database that has no sums, or sums of another scope, is summed once, a slice of paths at a time; until then this
region has no root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from syncer.conflict.digest_tree import SHAPE, Changes, DigestTree, note, packed, unpacked
from syncer.conflict.register import Register
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Direction
from syncer.model import Digest, MetaPath
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction

SLICE: Final = 5_000
"""Paths that are summed, or looked through, at a time: some tens of milliseconds of the driver's time."""

_LEFT: Final = "left "
"""Before the label of sums that were dropped, until those of another scope are whole."""
LOG_ROWS: Final = 1000
"""After so many the sums are written anew."""
PATHS: Final = "paths/2"
"""Which paths can be resources at all. Sums that were kept under another rule are summed anew, once; regions compare
whatever their rules are, as long as a path that only one of them sums does not stand in its store."""


def label_of(scope: Scope) -> str:
    """Names what a tree sums and how: equal labels make sums comparable.

    Which way a path flows does not matter: what is known of it is the same on both ends.
    """
    rules = "\n".join(f"{rule.direction is not Direction.IGNORE} {rule.pattern}" for rule in scope.rules)
    return f"{SHAPE}/{hashlib.blake2b(rules.encode(), digest_size=6).hexdigest()}"


class DigestTreeState:
    """The tree, and how it follows the registers.

    Args:
        scope: Which paths are summed.
    """

    def __init__(self, scope: Scope) -> None:
        self.label: Final = label_of(scope)
        self._kept_as: Final = f"{self.label} {PATHS}"
        self._scope = scope
        self._tree = DigestTree()
        self._number = 0
        self._logged = 0
        self._stale = True
        self._filling = False
        self._after: MetaPath | None = None
        self.of_another_scope = False
        """The sums that were kept were of other rules: other paths took part until now."""

    @property
    def tree(self) -> DigestTree | None:
        """The tree; ``None`` while it is not whole."""
        return None if self._stale or self._filling else self._tree

    @property
    def busy(self) -> bool:
        """Whether :meth:`work` has something to do at once."""
        return self._stale or self._filling or self._logged >= LOG_ROWS

    def load(self, tx: Transaction) -> None:
        """Read the tree as kept; what was kept of another scope is dropped, and summed anew by :meth:`work`."""
        kept = tx.tree()
        self._tree, self._number, self._logged = DigestTree(), kept.number, len(kept.log)
        self._after = None
        self._filling = kept.label != self._kept_as
        if not self._filling:
            for changes in (*kept.pages.values(), *kept.log):
                self._tree.apply(unpacked(changes))
        elif kept.label:
            self.of_another_scope = True
            label = kept.label.removeprefix(_LEFT)
            tx.save_tree(_LEFT + label, {})  # it is not kept up from here on: wrong for who comes back to its scope
        self._stale = False

    def changes_of(self, changed: Iterable[tuple[MetaPath, Digest | None, Register]]) -> Changes:
        """What changed registers add to the sums; each with the digest that was known before, ``None``: dead."""
        changes: Changes = {}
        contains, filling = self._scope.contains, self._filling
        for path, before, register in changed:
            known = register.known
            after = known.digest if known is not None else None
            if after != before and contains(path) and not (filling and self._ahead(path)):
                note(changes, path, before, after)
        return changes

    def _ahead(self, path: MetaPath) -> bool:
        """Whether the path will still be met by the summing that goes on."""
        return self._after is None or path > self._after

    def follow(
        self, tx: Transaction, changed: Iterable[tuple[MetaPath, Digest | None, Register]]
    ) -> Callable[[], None]:
        """Log in their transaction what changed registers add to the sums; what memory does after the commit."""
        changes = self.changes_of(changed)
        return partial(self.commit, self.keep(tx, changes), changes)

    def keep(self, tx: Transaction, changes: Changes) -> int:
        """Log changes in the transaction of their registers; the number to :meth:`commit` them by, 0 for none."""
        return 0 if self._filling or not changes else tx.log_tree(packed(changes))

    def commit(self, number: int, changes: Changes) -> None:
        """The transaction was committed."""
        if number and number != self._number + 1:
            self._stale = True
        elif changes and not self._stale:
            self._tree.apply(changes)
            self._number = max(number, self._number)
            self._logged += 1

    def check(self, tx: Transaction) -> None:
        """See whether the database holds what memory does: the answer of a commit may have been lost."""
        if not self._filling and tx.tree_number() != self._number:
            self._stale = True

    def work(self, state: State) -> None:
        """Do the next piece of upkeep: read the tree again, sum the next slice of paths, or write the sums anew.

        Raises:
            StateUnavailable: Nothing was kept; the tree is read again.
        """
        try:
            with state.transaction() as tx:
                if self._stale:
                    self.load(tx)
                elif self._filling:
                    self._fill(tx)
                elif self._logged >= LOG_ROWS:
                    tx.save_tree(self._kept_as, self._tree.pages())
                    self._logged = 0
        except BaseException:
            self._stale = True
            raise

    def _fill(self, tx: Transaction) -> None:
        living = tx.living(SLICE, self._after)
        changes: Changes = {}
        for path, digest in living:
            if self._scope.contains(path):
                note(changes, path, None, digest)
        self._tree.apply(changes)
        if living:
            self._after = living[-1][0]
        if len(living) < SLICE:
            tx.save_tree(self._kept_as, self._tree.pages())
            self._filling = False
            self._number, self._logged = tx.tree_number(), 0
