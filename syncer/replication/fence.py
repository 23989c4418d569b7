"""The fence, a fencing token: one node in the region's store that names its only writer, with receipts of its writes.

Every transaction on the store rewrites the fence at the revision that the writer last saw, with the id of the batch in
it. So a former writer's request cannot land any more, and after a crash the fence tells exactly which batches did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import orjson

from syncer.errors import PreconditionFailed, ValueInvalid
from syncer.model import Millis, Revision
from syncer.state.contract.identity import Identity
from syncer.state.contract.membership import JOINING
from syncer.stores.contract import Entry

RECEIPTS: Final = 8
"""Receipts kept in the fence; more batches than that are never open at once."""
BETWEEN: Final = "between"
"""In the place of an address: not all of the store was compared since it was given another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Content of the fence node.

    Args:
        number: Rises with each daemon that becomes active; after a rebuild it is a time, in seconds since the epoch.
        database_id: Sidecar database of the writer.
        generation: Generation of that database.
        store_id: Made once per store; tells this store from another one at the same address.
        epoch: Epoch of that database when the fence was raised; 0: not told.
        landed: Ids of the last batches that were applied, newest last.
        mark: Rises each time the writer notes here that its database has gone on, see :mod:`.marking`.
        joining: The region was new, and no person had let it take part.
        at: Digest of the address of the store that was last compared whole; empty: none was told. In a store that was
            copied to another place it is that of the former one, and :data:`BETWEEN` until all was compared there.
        untold: Ids of batches of which the writer has not been told yet whether they were applied: their paths wait,
            nothing else does. One that is read with the fence no more is settled.
        found: Of those that are settled, the ones that were found to have been applied. Read with the fence, and never
            written.
    """

    number: int
    database_id: str
    generation: int
    store_id: str
    epoch: int = 0
    landed: tuple[str, ...] = ()
    mark: int = 0
    joining: bool = False
    at: str = ""
    untold: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """Serialise for the store."""
        return orjson.dumps(
            {
                "number": self.number,
                "database": self.database_id,
                "generation": self.generation,
                "store": self.store_id,
                "epoch": self.epoch,
                "landed": self.landed,
                "mark": self.mark,
                **({"joining": True} if self.joining else {}),
                **({"at": self.at} if self.at else {}),
                **({"untold": self.untold} if self.untold else {}),
                **({"found": self.found} if self.found else {}),
            }
        )

    @staticmethod
    def decode(value: bytes) -> Fence:
        """Parse a fence node.

        Raises:
            ValueInvalid: Somebody else wrote there.
        """
        try:
            document = orjson.loads(value)
            return Fence(
                number=int(document["number"]),
                database_id=str(document["database"]),
                generation=int(document["generation"]),
                store_id=str(document["store"]),
                epoch=int(document.get("epoch", 0)),
                landed=tuple(str(batch) for batch in document["landed"]),
                mark=int(document.get("mark", 0)),
                joining=document.get("joining") is True,
                at=str(document.get("at", "")),
                untold=tuple(str(batch) for batch in document.get("untold", ())),
                found=tuple(str(batch) for batch in document.get("found", ())),
            )
        except (ValueError, KeyError, TypeError) as exc:
            raise ValueInvalid(
                f"the fence node holds something else: {value[:80]!r}",
                hint="Nothing but this daemon may write there; delete the node only when no daemon of the region runs.",
            ) from exc

    def landing(self, batch: str) -> Fence:
        """The fence with one more receipt."""
        return replace(self, landed=(*self.landed, batch)[-RECEIPTS:], joining=False)

    def doubting(self, batch: str) -> Fence:
        """The fence with one more batch of which it cannot be told yet whether it was applied."""
        return replace(self, untold=(*self.untold, batch))

    def as_noted(self, held: Fence) -> Fence:
        """The fence as just read or written, with its batches and its place as the writer has noted them since.

        What becomes of other batches comes apart. Its place is another one once all of the store was compared.

        Args:
            held: As the writer holds it.
        """
        return replace(self, landed=held.landed, untold=held.untold, found=(), at=held.at)

    def rollback_counter(self, identity: Identity) -> Fence:
        """The fence with the latest mark that the writer's database has given out."""
        return replace(self, mark=identity.mark, generation=identity.generation, joining=identity.paused == JOINING)

    def precedes(self, landed: str | None, mark: int) -> bool:
        """Whether this is what the node held before a batch had landed (``None``: none had), or a mark stood in it."""
        if self.mark < mark:
            return True
        if landed is None or landed in self.landed:
            return False
        return order_of(landed) > max(map(order_of, self.landed), default=(0, 0))


def order_of(batch: str) -> tuple[int, int]:
    """Batches in the order in which they were decided."""
    incarnation, _, number = batch.partition(".")
    return int(incarnation or 0), int(number or 0)


@dataclass(frozen=True, slots=True)
class HeldFence:
    """A fence together with the revision at which this daemon last saw or wrote it."""

    fence: Fence
    revision: Revision

    def seen(self, entry: Entry | None) -> Fence | None:
        """The fence as just read, if it is this writer's; ``None``: another one's, or there is none.

        An equal revision tells nothing: a store that was put back from a backup gives revisions out again.
        """
        if entry is None:
            return None
        seen = Fence.decode(entry.value)
        ours = seen.number == self.fence.number and seen.database_id == self.fence.database_id
        return seen if ours else None


def raised(
    entry: Entry | None, identity: Identity, fresh_id: str, now: Millis, *, rebuilding: bool, at: str = ""
) -> Fence:
    """The fence that a daemon writes to become the writer of its region.

    Its number is one higher. A database that takes the place of another one may find the fence of a store that was put
    back from a backup, and numbers above it were given out. Messages in topics name them, of this very store: a lower
    one of now would not count after those. So its number is no lower than the seconds since the epoch, which no daemon
    comes to that raises a fence less than once a second.

    Args:
        entry: The fence node as just read, ``None`` when there is none.
        identity: What the daemon's own database says of itself.
        fresh_id: An id for a store that has none yet.
        now: The region's clock. Units: milliseconds.
        rebuilding: This database takes the place of the one that the fence names.
        at: Digest of the address, with the names by which the store is read; empty: nobody has said it.

    Raises:
        PreconditionFailed: This is another store than before, or another database wrote this fence.
    """
    present = _present(entry, identity, fresh_id, rebuilding=rebuilding)
    number = present.number + 1
    return replace(
        present,
        number=max(number, now // 1000) if rebuilding else number,
        database_id=identity.database_id,
        generation=identity.generation,
        epoch=identity.epoch,
        landed=present.landed if present.database_id == identity.database_id else (),
        untold=present.untold if present.database_id == identity.database_id else (),
        found=(),
        mark=max(present.mark, identity.mark) + 1,
        joining=identity.paused == JOINING,
        at=at if entry is None else BETWEEN if moved(present, at) else present.at,
    )


def moved(present: Fence | None, at: str) -> bool:
    """Whether a fence was brought from a store at another address; not, where one of the two is not known.

    Args:
        present: As it stands in the store.
        at: Digest of the address at which it was found.
    """
    return present is not None and bool(present.at) and bool(at) and present.at != at


def policies_moved(present: Fence | None, at: str) -> bool:
    """Whether topic policies may have been read of another place than they are now, in a store that has moved.

    Args:
        present: As it stands in the store.
        at: Digest of the address at which it was found.
    """
    if present is None or not moved(present, at):
        return False
    return present.at == BETWEEN or present.at.partition("+")[2] != at.partition("+")[2]


def _present(entry: Entry | None, identity: Identity, fresh_id: str, *, rebuilding: bool) -> Fence:
    """The fence that is raised: the one that stands there, or one that was never raised."""
    store_id, database_id = identity.store_id, identity.database_id
    if entry is None:
        if store_id is not None:
            raise PreconditionFailed(
                "the store does not hold this region's fence: it is empty, was replaced, or has another root now",
                hint="Point the store's address and chroot at the former root. If the store was really replaced, move "
                "the sidecar database away and start again: what the new store holds differently than the group is "
                "kept as conflicts and held, as at first contact; what the group has deleted may come back with it.",
            )
        return Fence(number=0, database_id=database_id, generation=identity.generation, store_id=fresh_id)
    present = Fence.decode(entry.value)
    if store_id is not None and present.store_id != store_id:
        raise PreconditionFailed(
            f"this is another store than before (its fence names {present.store_id}, not {store_id})",
            hint="Point the store's address and chroot at the former root.",
        )
    if present.database_id != database_id and not rebuilding:
        raise PreconditionFailed(
            f"the region's fence was written from another sidecar database ({present.database_id}, not {database_id})",
            hint="It took this region over while this daemon had the role too: two daemons use one region id on two "
            "subscriptions. Give one of them a region id and a store of its own, or stop it.",
        )
    return present
