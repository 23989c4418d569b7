"""The record of writes to system topics whose outcome is not known, one document in the region's store.

    announced ─▶ landed, with the receipt in the fence: away
              └▶ unknown ─▶ settled, by a look into its topic ─▶ the fence does not name it any more: away

A write stays recorded until it is settled, and then until the writer's own database has noted that: the fence names the
batch as untold until it has. So after a crash at any moment what became of it is told once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from syncer.errors import ValueInvalid
from syncer.model import MetaPath
from syncer.replacing import replace
from syncer.replication.fence import Fence

MAX_OPEN: Final = 64
"""Writes of one region whose outcome may be unknown at once; while there are so many, no other one is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """The record of one write.

    Args:
        batch: Id of the batch.
        database: Sidecar database of the writer.
        store_id: Store of its fence.
        fence: Number of its fence.
        path: What it writes.
    """

    batch: str
    database: str
    store_id: str
    fence: int
    path: MetaPath

    def noted_in(self, fence: Fence) -> bool:
        """Whether the fence has its receipt."""
        return self.database == fence.database_id and self.batch in fence.landed

    def named_by(self, fence: Fence) -> bool:
        """Whether the fence names it as untold."""
        return self.database == fence.database_id and self.batch in fence.untold


@dataclass(slots=True)
class OpenWrite:
    """A write whose outcome is not known to the writer's database.

    ``landed``: what a look into its topic has told, after which nothing can change it; ``None``: nothing yet.
    """

    pending: PendingWrite
    landed: bool | None = None

    def kept_with(self, fence: Fence) -> bool:
        """Whether it has to stay recorded beside this fence."""
        return self.landed is None or self.pending.named_by(fence)


def encode_pending(pending: Sequence[PendingWrite]) -> bytes:
    """Serialise for the store; one alone as a document, as former versions have it, several as a list of such."""
    documents = [
        {
            "batch": each.batch,
            "database": each.database,
            "store": each.store_id,
            "fence": each.fence,
            "path": each.path,
        }
        for each in pending
    ]
    return orjson.dumps(documents[0] if len(documents) == 1 else documents)


def decode_pending(value: bytes) -> list[PendingWrite]:
    """Parse the record; an empty node records nothing.

    Raises:
        ValueInvalid: Somebody else wrote there.
    """
    try:
        found = orjson.loads(value) if value else []
        return [
            PendingWrite(
                batch=str(each["batch"]),
                database=str(each["database"]),
                store_id=str(each["store"]),
                fence=int(each["fence"]),
                path=MetaPath(str(each["path"])),
            )
            for each in (found if isinstance(found, list) else [found])
        ]
    except (ValueError, KeyError, TypeError) as exc:
        raise ValueInvalid(
            f"the record of a write to a system topic is something else: {value[:80]!r}",
            hint="Nothing but this daemon may write there; delete the node only when no daemon of the region runs.",
        ) from exc


def reconciled(known: Iterable[OpenWrite], recorded: Iterable[PendingWrite], fence: Fence) -> list[OpenWrite]:
    """The open writes as the store has them.

    Args:
        known: What was known of them before.
        recorded: As just read.
        fence: As it stood at the same moment.
    """
    former = {each.pending: each for each in known}
    return [former.get(each) or OpenWrite(each) for each in recorded if not each.noted_in(fence)]


def told(fence: Fence, opened: Iterable[OpenWrite], *, ours: bool) -> Fence:
    """The fence with what is known of open writes, for who reads it.

    What was settled is told to a writer whose fence names it as untold, and to nobody else: a receipt that the store
    does not hold is none, and whoever is about to raise the fence asks again.

    Args:
        fence: As it stands in the store.
        opened: The open writes.
        ours: It was raised by this process.
    """
    mine = [each for each in opened if each.pending.database == fence.database_id]
    settled = [each for each in mine if ours and each.landed is not None and each.pending.named_by(fence)]
    return replace(
        fence,
        untold=tuple(each.pending.batch for each in mine if each not in settled),
        found=tuple(each.pending.batch for each in settled if each.landed),
    )
