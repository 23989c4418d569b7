"""Values that peers want of this region, and values that are due here and wanted of them; all of it may be lost."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from syncer.model import MetaPath, Millis, Region, Stamp, Version
from syncer.replication.bounded_paths import PATHS_BYTES, Paths

WANTING_BOUND: Final = 50_000


@dataclass(slots=True, eq=False)
class MissingValue:
    """A value that is due here, and was not known when its listing was learned.

    Args:
        stamp: Of the version; ``None``: its version is not known either.
        asked_at_ms: When a member was last asked for it.
        times: How often one was asked.
        lacking: Members that have said that they have not the value.
        older: Of these, who has said that it tells an older version in its place.
        told: By region, the latest version, before the one that lacks, that it has told meanwhile.
    """

    stamp: Stamp | None
    asked_at_ms: Millis
    times: int = 0
    lacking: set[Region] = field(default_factory=set)
    older: set[Region] = field(default_factory=set)
    told: dict[Region, Version] = field(default_factory=dict)


@dataclass(slots=True)
class ValueExchange:
    """What is asked for between this region and its peers, path by path.

    Args:
        requested: Paths of which a peer is to be told; the version that it lacks the value of, where it has said so.
        wanting: Paths whose value is to be asked of a peer.
        lacks: Values that members are asked for, the one that was asked for longest ago first.
        telling: Of these, where members have told older versions, the one that was told of longest ago first.
        told_bytes: How many bytes these have.
        nothing: Paths that others have asked for, and whose value is not known here; the version that was asked for,
            where an older one is told in its place, and ``None`` where there is nothing to tell.
    """

    requested: Paths[Stamp | None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    wanting: Paths[None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    lacks: OrderedDict[MetaPath, MissingValue] = field(default_factory=OrderedDict)
    telling: OrderedDict[MissingValue, None] = field(default_factory=OrderedDict)
    told_bytes: int = 0
    nothing: dict[MetaPath, Stamp | None] = field(default_factory=dict)

    def want(self, path: MetaPath) -> None:
        """The value of this path is due here, and has to come from a peer; beyond the bound the tick finds it again."""
        if len(self.wanting) < WANTING_BOUND:
            self.wanting[path] = None
