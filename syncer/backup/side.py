"""A backup as one side of a comparison: fingerprints of all that it holds, and values on demand."""

from __future__ import annotations

from collections.abc import Collection

import anyio.to_thread

from syncer.backup.reading import Backup
from syncer.conflict.settings import nothing_excluded
from syncer.conflict.withholding import carried_value
from syncer.model import Digest, MetaPath, Region
from syncer.plan.diffing import fingerprint
from syncer.planning.completion import NOT_AT_HAND


class BackupSide:
    """A backup; every pass over it checks it whole."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup
        self.region = Region(backup.manifest.region)
        self.scope = backup.scope

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"backup of region {self.region}, taken {self._backup.manifest.taken_at.replace('T', ' ')}"

    @property
    def trouble(self) -> str:
        """Why its values are not completed."""
        return "" if self._backup.manifest.completed else NOT_AT_HAND

    @property
    def own_values(self) -> bool:
        """It keeps what the store held."""
        return True

    @property
    def first_form(self) -> None:
        """A backup does not note namespaces of the first form."""
        return

    def excluded(self, path: MetaPath) -> frozenset[str]:
        """None: nobody has noted it."""
        return nothing_excluded(path)

    async def own(self, paths: Collection[MetaPath]) -> dict[MetaPath, frozenset[str]]:
        """None: nobody has noted it."""
        del paths
        return {}

    async def picture(self) -> dict[MetaPath, Digest]:
        """Read all files."""
        return await anyio.to_thread.run_sync(self._picture)

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Read all files again, and keep what is asked for."""
        wanted = frozenset(paths)
        return await anyio.to_thread.run_sync(self._values, wanted)

    def _picture(self) -> dict[MetaPath, Digest]:
        return {path: fingerprint(path, value) for path, value in self._backup.resources()}

    def _values(self, wanted: frozenset[MetaPath]) -> dict[MetaPath, bytes]:
        return {path: carried_value(path, value) for path, value in self._backup.resources() if path in wanted}
