"""State of one daemon's digest trees: in memory, in step with the registers, and kept in the database with them.

There is one tree over all that this region carries, and one more for each class of paths that it shares with peers of
other scopes (:mod:`syncer.replication.antientropy.class_sums`): all of them are kept under one label and one log.

Every transaction that changes what is known of paths logs what that adds to the sums; from time to time all sums are
written anew and the log is forgotten. Memory takes a change over only after its commit. A row of the log that memory
does not expect (a commit whose answer was lost, a roll-back) means: read the trees again.

A database that has no sums, or sums of another scope, is summed once, a slice of paths at a time; until then this
region has no root. So is a class that is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

from syncer.conflict.classes.pairs import label_of
from syncer.conflict.digest_tree import GROUPS, Changes, DigestTree, note, packed, unpacked
from syncer.conflict.register import Register
from syncer.conflict.scope import DEFAULT_RULES, Scope
from syncer.model import Digest, MetaPath
from syncer.replication.antientropy.class_sums import CLASSES_KEPT, ClassSums, SumsLabel, joined_row, parted_row
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction

SLICE: Final = 5_000
"""Paths that are summed, or looked through, at a time: some tens of milliseconds of the driver's time."""

LOG_ROWS: Final = 1000
"""After so many the sums are written anew."""
PATHS: Final = "paths/2"
"""Which paths can be resources at all. Sums that were kept under another rule are summed anew, once; regions compare
whatever their rules are, as long as a path that only one of them sums does not stand in its store."""


class DigestTreeState:
    """The trees, and how they follow the registers.

    Args:
        scope: Which paths are summed.
    """

    def __init__(self, scope: Scope) -> None:
        self.label: Final = label_of(scope)
        self._head: Final = f"{self.label} {PATHS}"
        self._scope = scope
        self._rules: Final = "" if scope.rules == DEFAULT_RULES else scope.text
        self._tree = DigestTree()
        self._number = 0
        self._logged = 0
        self._stale = True
        self._filling = False
        self._after: MetaPath | None = None
        self._classes: dict[str, ClassSums] = {}
        """Beside the tree over all: by label."""
        self._kept: tuple[str, ...] = ()
        """Those of them that the database keeps, in its order."""
        self._unsaved = False
        self.crowded: tuple[str, ...] = ()
        """Classes for which there is no room."""
        self._wanted: frozenset[str] = frozenset()
        self.of_another_scope = False
        """The sums that were kept were of other rules: other paths took part until now."""
        self.former: Scope | None = None
        """Those rules, where they are known."""
        self.rules_unkept = False
        """They are not, because an older version has kept none."""

    @property
    def tree(self) -> DigestTree | None:
        """The tree over all; ``None`` while it is not whole."""
        return None if self._stale or self._filling else self._tree

    def tree_of(self, label: str) -> DigestTree | None:
        """The tree of a class, or that over all; ``None`` while it is not whole, or is none of these."""
        if label == self.label:
            return self.tree
        sums = self._classes.get(label)
        return None if self._stale or self._filling or sums is None or sums.filling else sums.tree

    @property
    def of_classes(self) -> dict[str, DigestTree]:
        """The trees of all classes that are whole, beside the one over all."""
        found = ((label, self.tree_of(label)) for label in sorted(self._classes))
        return {label: tree for label, tree in found if tree is not None}

    @property
    def busy(self) -> bool:
        """Whether :meth:`work` has something to do at once."""
        if self._stale or self._filling or self._unsaved or self._logged >= LOG_ROWS:
            return True
        return any(sums.filling for sums in self._classes.values())

    def want(self, classes: Mapping[str, Callable[[MetaPath], bool]]) -> None:
        """Sum these classes and no others; a new one is summed a slice at a time by :meth:`work`.

        One that is wanted no longer is followed until the database keeps it no longer.

        Args:
            classes: By label: whether a path is of the class.
        """
        wanted = {label: contains for label, contains in classes.items() if label != self.label}
        for label in [label for label in self._classes if label not in wanted]:
            if label in self._kept:
                self._unsaved = True
            else:
                del self._classes[label]
        room = CLASSES_KEPT - len(self._classes)
        new = [label for label in sorted(wanted) if label not in self._classes]
        for label in new[: max(room, 0)]:
            self._classes[label] = ClassSums(wanted[label])
        self.crowded = tuple(new[max(room, 0) :])
        self._wanted = frozenset(wanted)

    def load(self, tx: Transaction) -> None:
        """Read the trees as kept; what was kept of another scope is dropped, and summed anew by :meth:`work`."""
        kept = tx.tree()
        found = SumsLabel.of(kept.label)
        self._tree, self._number, self._logged = DigestTree(), kept.number, len(kept.log)
        self._after = None
        self._unsaved = False
        self._filling = found.head != self._head
        for sums in self._classes.values():
            sums.begin()
        self._kept = ()
        if not self._filling:
            self._read(found.classes, kept.pages, kept.log)
            self._unsaved = found.rules != self._rules  # as of a version that kept none
            if not set(found.classes) <= set(self._classes):
                self._save(tx)  # nobody shares it now, so what is logged from here on lacks it
        elif kept.label:
            self.of_another_scope = True
            self.former = found.scope
            self.rules_unkept = self.former is None and not found.rules
            # it is not kept up from here on: wrong for who comes back to its scope
            tx.save_tree(found.left().text, {})
        self._stale = False

    def _read(self, classes: tuple[str, ...], pages: Mapping[int, bytes], log: Sequence[bytes]) -> None:
        trees = [DigestTree() for _ in range(1 + len(classes))]
        for number, changes in pages.items():
            trees[number // GROUPS].apply(unpacked(changes))
        for row in log:
            for tree, changes in zip(trees, parted_row(row, len(classes)), strict=True):
                tree.apply(unpacked(changes))
        self._tree = trees[0]
        self._kept = classes
        for label, tree in zip(classes, trees[1:], strict=True):
            if (sums := self._classes.get(label)) is not None:
                sums.tree, sums.filling = tree, False

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
        self, tx: Transaction, changed: Sequence[tuple[MetaPath, Digest | None, Register]]
    ) -> Callable[[], None]:
        """Log in their transaction what changed registers add to the sums; what memory does after the commit.

        Where memory may have kept what a failed transaction did, the database says what it logs: a row of other classes
        than its label names could not be read again.
        """
        if self._stale:
            self.load(tx)
            self._stale = True  # this transaction may fail as well
        changes = self.changes_of(changed)
        if not self._classes:
            return partial(self.commit, self.keep(tx, changes), changes)
        of_classes = {label: sums.changes_of(changed) for label, sums in self._classes.items()}
        number = self.keep(tx, changes, [of_classes.get(label, {}) for label in self._kept])
        return partial(self._commit_all, number, changes, of_classes)

    def keep(self, tx: Transaction, changes: Changes, of_kept: Sequence[Changes] = ()) -> int:
        """Log changes in the transaction of their registers; the number to :meth:`commit` them by, 0 for none.

        Args:
            tx: That transaction.
            changes: Of the tree over all.
            of_kept: Of each class that is kept; a path of any of them is one of the tree over all, too.
        """
        if self._filling or not changes:
            return 0
        return tx.log_tree(joined_row(packed(changes), [packed(each) for each in of_kept]))

    def commit(self, number: int, changes: Changes) -> None:
        """The transaction was committed."""
        if number and number != self._number + 1:
            self._stale = True
        elif changes and not self._stale:
            self._tree.apply(changes)
            self._number = max(number, self._number)
            self._logged += 1

    def _commit_all(self, number: int, changes: Changes, of_classes: Mapping[str, Changes]) -> None:
        self.commit(number, changes)
        if not self._stale:
            for label, added in of_classes.items():
                if added and label in self._classes:
                    self._classes[label].tree.apply(added)

    def check(self, tx: Transaction) -> None:
        """See whether the database holds what memory does: the answer of a commit may have been lost."""
        if not self._filling and tx.tree_number() != self._number:
            self._stale = True

    def work(self, state: State) -> None:
        """Do the next piece of upkeep: read the trees again, sum the next slice of paths, or write the sums anew.

        Raises:
            StateUnavailable: Nothing was kept; the trees are read again.
        """
        try:
            with state.transaction() as tx:
                if self._stale:
                    self.load(tx)
                elif self._filling:
                    self._fill(tx)
                elif self._unsaved or self._logged >= LOG_ROWS:
                    self._save(tx)
                else:
                    self._fill_class(tx)
        except BaseException:
            self._stale = True
            raise

    def _save(self, tx: Transaction) -> None:
        """Write all sums anew, without those of classes that are wanted no longer."""
        for label in [label for label in self._classes if label not in self._wanted]:
            del self._classes[label]
        kept = {label: sums.tree for label, sums in sorted(self._classes.items()) if not sums.filling}
        pages = chain.from_iterable(
            ((GROUPS * place + group, sums) for group, sums in tree.pages().items())
            for place, tree in enumerate((self._tree, *kept.values()))
        )
        tx.save_tree(SumsLabel(head=self._head, rules=self._rules, classes=tuple(kept)).text, dict(pages))
        self._kept = tuple(kept)
        self._logged, self._unsaved = 0, False

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
            self._save(tx)
            self._filling = False
            self._number = tx.tree_number()

    def _fill_class(self, tx: Transaction) -> None:
        """Sum the next slice for all classes that are at the same place."""
        places = sorted({sums.after or "" for sums in self._classes.values() if sums.filling})
        if not places:
            return
        at = [sums for sums in self._classes.values() if sums.filling and (sums.after or "") == places[0]]
        living = tx.living(SLICE, at[0].after)
        for sums in at:
            sums.take(living, last=len(living) < SLICE)
        if len(living) < SLICE:
            self._save(tx)
