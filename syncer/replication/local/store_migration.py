"""A store that Pulsar is migrating to another one: read where it says so, and not written to meanwhile.

While brokers copy their store away they refuse every write, and so does this daemon: what it wrote into the store could
be missing in the copy, and the older value there would be taken for somebody's change. Reads, decisions, folds and
publications go on. Once the copy is complete brokers use the other store only, and this one is written no more.

    not-started ─▶ preparation ─▶ copying ─▶ completed        written to:      not-started, failed
                        └────────────┴─────▶ failed           not written to:  preparation, copying, completed, unclear

Source: PIP-454; ``MigrationState``, ``DualMetadataStore`` and ``MigrationCoordinator`` of Pulsar 4.2.4 and 5.0.0-M1.
Both copy from ZooKeeper to Oxia alone. Their coordinator waits for nobody but brokers, and for these a minute at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

from syncer.admin.topic_probe import BOOKKEEPER_NODES
from syncer.model import MetaPath
from syncer.stores.contract import Entry

FLAG: Final = MetaPath("/pulsar/migration-coordinator/migration")
LOOKED_AT: Final = (FLAG, *BOOKKEEPER_NODES)
"""What is read: the flag, and whether the store is a cluster's own at all."""
IN_MIGRATION: Final = "store-in-migration"
MIGRATED: Final = "store-migrated"
UNCLEAR: Final = "store-migration-unclear"
UNKNOWN_HERE: Final = "oxia:"
_SHOWN_CHARS: Final = 200


class StorePhase(StrEnum):
    """How far Pulsar's migration of a store is, by the names that Pulsar gives."""

    NOT_STARTED = "NOT_STARTED"
    PREPARATION = "PREPARATION"
    COPYING = "COPYING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


WRITABLE: Final = frozenset({StorePhase.NOT_STARTED, StorePhase.FAILED})
"""Brokers write to the store that the flag stands in."""


@dataclass(slots=True, kw_only=True)
class StoreMigration:
    """What was last read of a migration of the watched store.

    Args:
        phase: How far it is.
        target: URL of the store that it leads to, as Pulsar names it; empty: none was told.
        trouble: Why it cannot be told whether there is one; empty: it can.
        foreign: The store is no cluster's own: the flag of a cluster's store is not found in it.
        looked: Whether it was read at all.
        waiting: How many writes wait for its end.
    """

    phase: StorePhase = StorePhase.NOT_STARTED
    target: str = ""
    trouble: str = ""
    foreign: bool = False
    looked: bool = False
    waiting: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing may be written to the store now."""
        return bool(self.trouble) or self.phase not in WRITABLE

    def take(self, answers: Mapping[MetaPath, Entry | None], *, embedded: bool = False) -> None:
        """Take what was read.

        A flag that cannot be understood may be that of a migration: nothing is written before it is.

        Args:
            answers: What stands at each of :data:`LOOKED_AT`.
            embedded: The store is one of this program, and no cluster has another one.
        """
        entry = answers.get(FLAG)
        self.looked, self.trouble = True, ""
        self.foreign = entry is None and not embedded and not any(answers.get(path) for path in BOOKKEEPER_NODES)
        if entry is None:
            self.phase, self.target = StorePhase.NOT_STARTED, ""
            return
        try:
            document = orjson.loads(entry.value)
            phase, target = StorePhase(document["phase"]), document.get("targetUrl")
        except (ValueError, KeyError, TypeError, AttributeError):
            self.trouble = f"{FLAG} holds something else than Pulsar writes: {entry.value[:_SHOWN_CHARS]!r}"
            return
        self.phase, self.target = phase, str(target or "")[:_SHOWN_CHARS]

    def denied(self, why: str) -> None:
        """The flag may not be read: whether there is a migration cannot be told."""
        self.looked, self.trouble = True, f"{FLAG} cannot be read: {why}"

    def conditions(self) -> Iterator[tuple[str, str]]:
        """What an operator has to know of it."""
        waits = f"; {self.waiting} {'write waits' if self.waiting == 1 else 'writes wait'}"
        where = f" to {self.target or 'another one'}"
        if self.target.startswith(UNKNOWN_HERE):
            where += ", a kind of store that this program does not know"
        if self.trouble:
            yield (UNCLEAR, f"{self.trouble}; nothing is written to the store before that is clear{waits}")
        elif self.phase is StorePhase.COMPLETED:
            given = "brokers use that one now; the region must be given it, and nothing is written to this one any more"
            yield (MIGRATED, f"Pulsar has migrated this store{where}: {given}{waits}")
        elif self.holds:
            during = f"{self.phase}: nothing is written to it meanwhile"
            yield (IN_MIGRATION, f"Pulsar migrates this store{where}; {during}{waits}")

    def report(self) -> str | None:
        """The same in a few words, for the status; ``None``: it was not looked at."""
        if not self.looked:
            return None
        if self.trouble:
            return "unclear"
        if self.foreign:
            return "not seen from here: this is no cluster's own store"
        return f"{self.phase}{f', to {self.target}' if self.target else ''}"
