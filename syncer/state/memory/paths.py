"""The part of a database in memory about paths: registers, tombstones, the digest tree, scans, and the outbox."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from syncer.conflict.register import Register
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis
from syncer.paths import child_prefixes
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.outbox import OutboxRow
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.tree import KeptTree
from syncer.state.memory import selection
from syncer.state.memory.database import UndoLog


class PathTables(UndoLog):
    """The part of a transaction that is about paths and their changes."""

    # -- registers

    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        """The registers that exist, of these paths and in their order."""
        known = self._db.registers
        return {path: known[path] for path in paths if path in known}

    def save(self, registers: Iterable[Register]) -> None:
        """Insert or replace registers."""
        for register in registers:
            path, former = register.path, self._db.registers.get(register.path)
            self._put(self._db.registers, path, register)
            if register.due or register.wish is not None or register.intent is not None:
                self._put(self._db.unsettled, path, None)
            else:
                self._drop(self._db.unsettled, path)
            change = register.stored_alive - (former is not None and former.stored_alive)
            if change:
                self._put(self._db.alive, "", self._db.alive[""] + change)

    def parents_of_living(self, paths: Collection[MetaPath], carried: Callable[[MetaPath], bool]) -> set[MetaPath]:
        """Of these paths, those with a child that is carried, and whose stored value is alive."""
        prefixes = {path: child_prefixes(path) for path in paths}
        return {
            path
            for path, under in prefixes.items()
            if under
            and any(
                each.path.startswith(under) and each.stored_alive and carried(each.path)
                for each in self._db.registers.values()
            )
        }

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers that are due or have a wish, in path order, beyond ``after``, even on hold or in flight."""
        found = (self._db.registers[path] for path in sorted(self._db.unsettled) if path > (after or ""))
        return [register for register in found if register.due or register.wish is not None][:limit]

    def incomplete(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers whose store lacks kept fields, in path order, beyond ``after``."""
        found = (register for path, register in sorted(self._db.registers.items()) if path > (after or ""))
        return [each for each in found if each.kept is not None and (each.kept.gone or each.kept.excluded)][:limit]

    def count_due(self) -> int:
        """How many registers are due."""
        return sum(self._db.registers[path].due for path in self._db.unsettled)

    def forget_revisions(self) -> None:
        """No register knows at which revision the store holds its value any more: each is compared when it is read."""
        for path, register in list(self._db.registers.items()):
            if register.stored is not None and register.stored.revision is not None:
                forgotten = replace(register, stored=replace(register.stored, revision=None))
                self._put(self._db.registers, path, forgotten)

    def intents(self) -> list[Register]:
        """Registers with an open intent, in path order."""
        found = (self._db.registers[path] for path in sorted(self._db.unsettled))
        return [register for register in found if register.intent is not None]

    def page(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers in path order, beyond ``after``."""
        found = (path for path in sorted(self._db.registers) if path > (after or ""))
        return [self._db.registers[path] for path in found][:limit]

    def count_alive(self) -> int:
        """How many paths the store was last known to hold. Cheap: kept up to date, not counted."""
        return self._db.alive[""]

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        """Paths whose *known* version is alive, with its digest, in path order, beyond ``after``."""
        return selection.living(self._db.registers, limit, after)

    def kept_values(self, above_bytes: int) -> Amount:
        """How many values of more bytes than that are due, and how many bytes they have."""
        return selection.kept_values(self._db.registers.values(), above_bytes)

    # -- digest tree

    def tree(self) -> KeptTree:
        """The digest tree as kept."""
        return self._db.tree[""]

    def tree_number(self) -> int:
        """Number of the last row ever written into the tree's log. Cheap."""
        return self._db.tree[""].number

    def log_tree(self, changes: bytes) -> int:
        """Append to the tree's log; the row's number, one more than that of the last one."""
        self._put(self._db.tree, "", selection.logged(self._db.tree[""], changes))
        return self._db.tree[""].number

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        """Replace the label and all pages, and forget the log; its numbers go on."""
        self._put(self._db.tree, "", KeptTree(label=label, number=self._db.tree[""].number, pages=dict(pages)))

    # -- tombstones

    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due, stamped at most ``until``, by time and path, beyond ``after``."""
        return selection.dead(self._db.registers, limit, until, after)

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths that are known to be deleted while something of them is unsettled, in path order, beyond ``after``."""
        return selection.dying(self._db.registers, limit, after)

    def unapplied(self) -> tuple[int, Millis | None]:
        """Deletes that are due and events that wait for their time: how many, and the smallest stamp time."""
        return selection.unapplied(self._db.registers.values(), (stamp for _, stamp in self._db.future))

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget these registers; none of them is alive. ``floor``: no path may ever start at or below it again."""
        for path in paths:
            self._drop(self._db.registers, path)
        self._put(self._db.membership, "", replace(self._db.membership[""], floor=floor))

    # -- outbox

    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        """Put events into the outbox, giving each the next sequence number, this database as sender."""
        identity = self._db.facts[""]
        for number, event in enumerate(events, identity.last_sequence + 1):
            self._put(self._db.outbox, number, replace(event, sender=identity.database_id, sequence=number))
        self._put(self._db.facts, "", replace(identity, last_sequence=identity.last_sequence + len(events)))

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        """What was carried over of the outbox of the database before, in its order, by numbers of its own."""
        numbers = sorted(self._db.carried)[:limit]
        return {number: self._db.carried[number] for number in numbers}

    def drop_carried(self, numbers: Collection[int]) -> None:
        """These were published, or need not be."""
        for number in numbers:
            self._drop(self._db.carried, number)

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        """Keep an event back, without a number; it replaces one held before for the same path."""
        self._put(self._db.held, event.path, event)

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        """The event that is held back for a path."""
        return self._db.held.get(path)

    def drop_held(self, path: MetaPath) -> None:
        """Forget the held event of a path, if there is one."""
        self._drop(self._db.held, path)

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with an event in the outbox or held back. Cheap when both are empty."""
        if not self._db.outbox and not self._db.held:
            return set()
        waiting = {event.path for event in self._db.outbox.values()}
        return {path for path in paths if path in waiting or path in self._db.held}

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The oldest events that are not yet acknowledged, with a number above ``after``, in order."""
        numbers = sorted(number for number in self._db.outbox if number > after)[:limit]
        return [OutboxRow(sequence=number, event=self._db.outbox[number]) for number in numbers]

    def acknowledged(self, sequences: Collection[int]) -> None:
        """The bus has acknowledged these: they leave the outbox."""
        for sequence in sequences:
            self._drop(self._db.outbox, sequence)

    # -- scans

    def begin_scan(self) -> None:
        """Forget which paths a former scan met."""
        for path in list(self._db.met):
            self._drop(self._db.met, path)

    def met(self, paths: Collection[MetaPath]) -> None:
        """The running scan met these paths."""
        for path in paths:
            self._put(self._db.met, path, None)

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths where something stood that the scan did not meet, in path order, beyond ``after``."""
        standing = (path for path, register in self._db.registers.items() if selection.stood(register))
        return sorted(path for path in standing if path not in self._db.met and path > (after or ""))[:limit]
