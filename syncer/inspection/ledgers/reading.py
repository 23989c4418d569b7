"""Reading of a cluster's ledgers out of its store, or the store's files: ledgers first, who refers to them after.

Nothing is written, no ledger is opened, no broker and no bookie is asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Final

from syncer.errors import ConfigError
from syncer.ledgers.auditing.gathering import PictureGathering, StoredEntry
from syncer.model import MetaPath
from syncer.wanted.ledgers import LEDGERS_ROOT, LedgerPart, ledger_paths

if TYPE_CHECKING:
    from pathlib import Path

    from spark_snapshot.sources.place import Source
    from syncer.config import Config
    from syncer.ledgers.auditing.picture import LedgersPicture

IN_ORDER: Final = (LedgerPart.LEDGERS, LedgerPart.REFERENCES, LedgerPart.BOOKIES, LedgerPart.RECOVERY)
"""A ledger is made before it is referred to, and its reference goes before it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgersWish:
    """Which ledgers are read, and how.

    Args:
        table: Name of the cluster's table in the configuration.
        others: Other clusters whose ledgers the same bookies keep.
        root: Where BookKeeper's own paths begin.
        max_reads_per_s: Paths to ask a live store for in a second; ``None``: no limit.
        files: Files of the store, instead of the live one.
    """

    table: str
    others: tuple[str, ...] = ()
    root: MetaPath = LEDGERS_ROOT
    max_reads_per_s: int | None = None
    files: Path | None = None


def read_ledgers(config: Config, wish: LedgersWish, parts: Sequence[LedgerPart] = IN_ORDER) -> LedgersPicture:
    """Read the picture of a cluster's ledgers.

    Args:
        config: Of the region.
        wish: Of which cluster, and how.
        parts: Those that are read.

    Raises:
        NotFound: There is no such table.
        ConfigError: The store cannot be read by these settings.
        StoreError: The store does not answer, or what it answers cannot be understood.
    """
    sources = {name: _source(config, name, wish) for name in (wish.table, *wish.others)}
    own = _gathered(sources[wish.table], wish.table, wish, parts)
    if LedgerPart.REFERENCES in parts:
        for name in wish.others:
            own.refer(_gathered(sources[name], name, wish, [LedgerPart.REFERENCES]).picture)
    if wish.files is not None and not own.picture.readable:
        own.picture.assume_bookies_up()
    return own.picture


def _source(config: Config, name: str, wish: LedgersWish) -> Source:
    from spark_snapshot.sources.place import StorePlace, source  # noqa: PLC0415 - it loads where it is used

    if wish.files is None:
        return source(StorePlace.of_cluster(config, name))
    if wish.others:
        raise ConfigError(
            "files are of one store, and several clusters are given", hint="Give one --cluster with --from-files."
        )
    return source(StorePlace.files_of_cluster(config, name, wish.files))


def _gathered(source: Source, name: str, wish: LedgersWish, parts: Iterable[LedgerPart]) -> PictureGathering:
    gathering = PictureGathering(name, _now_ms(), wish.root)
    for part in parts:
        gathering.begin(part, _now_ms())
        wanted = ledger_paths(part, root=wish.root, max_reads_per_s=wish.max_reads_per_s)
        for share in source.parts(wanted, 1):
            for batch in source.read(wanted, share):
                created = batch.created_ms or repeat(None)
                rows = map(StoredEntry, batch.paths, batch.kinds, batch.values, created)
                gathering.take(part, rows)
        gathering.end(part, _now_ms())
    return gathering


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
