"""Racks of bookies, as operators tell them to Pulsar: a document of groups, each bookie with its rack.

Source: BookieRackAffinityMapping, Pulsar 4.0.8; the node ``/bookies``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DEFAULT_RACK: Final = "/default-rack"
"""The rack of a bookie that nobody gave one; it counts as one."""


@dataclass(frozen=True, slots=True)
class RackMap:
    """Bookie → rack; of what could not be read ``flaws`` tell."""

    racks: Mapping[str, str] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()

    def rack(self, bookie: str) -> str:
        """The rack of a bookie.

        Args:
            bookie: Its id.
        """
        return self.racks.get(bookie, DEFAULT_RACK)

    def region(self, bookie: str) -> str:
        """The region of a bookie: the first part of its rack.

        Args:
            bookie: Its id.
        """
        return region_of(self.rack(bookie))

    def depths(self) -> frozenset[int]:
        """How deep racks are; where there is more than one depth, BookKeeper refuses bookies."""
        return frozenset(rack.count("/") for rack in self.racks.values())


def region_of(rack: str) -> str:
    """The first part of a rack's path.

    Args:
        rack: The path.
    """
    return "/" + rack.split("/")[1]


def rack_map(value: bytes) -> RackMap:
    """Read the racks of bookies; an absent or empty document has none.

    Args:
        value: The bytes of the document.
    """
    if not value:
        return RackMap()
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return RackMap(flaws=("the document is no JSON",))
    if not isinstance(document, dict):
        return RackMap(flaws=("the document is no object",))
    racks: dict[str, str] = {}
    flaws = []
    for group, bookies in document.items():
        if not isinstance(bookies, dict):
            flaws.append(f"the group {group} is no object")
            continue
        for bookie, info in bookies.items():
            rack = info.get("rack") if isinstance(info, dict) else None
            if rack is not None and not isinstance(rack, str):
                flaws.append(f"the rack of {bookie} is no text")
            elif rack and rack != "/":
                racks[bookie] = rack if rack.startswith("/") else f"/{rack}"
    return RackMap(racks, tuple(flaws))
