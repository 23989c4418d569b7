"""Speakers: the region that a database speaks for, as keys of regions have proved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.model import Region
from syncer.state.contract.peers import PeerRow

KEPT: Final = 8
"""Databases of a region, with names that do not show it, that are remembered as its own; newest last."""
OF_ROW: Final = "speaks_by"
"""Where they stand in the row of a peer."""


@dataclass(slots=True)
class Speakers:
    """What was proved of who speaks.

    Args:
        keys: Region → id of the key that it has signed with last.
        databases: Region → its databases whose names do not show it.
    """

    keys: dict[Region, str] = field(default_factory=dict)
    databases: dict[Region, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[PeerRow]) -> Speakers:
        """What earlier daemons on this database have seen proved."""
        return cls(databases={row.region: _kept(row) for row in rows})

    def owner(self, database: str, believed: Mapping[Region, object]) -> Region | None:
        """The region that speaks by a database, of those that are believed."""
        return next(
            (region for region, several in self.databases.items() if region in believed and database in several), None
        )

    def note(self, database: str, region: Region) -> None:
        """A region has proved that it speaks by a database."""
        self.databases[region] = (*self.databases.get(region, ()), database)[-KEPT:]


def _kept(row: PeerRow) -> tuple[str, ...]:
    told: Any = row.document.get(OF_ROW, ())
    return tuple(told)
