"""Peers whose protocol is unknown: they run a newer version of the program, and nothing of theirs is taken until then.

Their messages are not kept: it would be all that they ever say. None of their numbers counts as consumed, so once this
region is upgraded the gap shows, deletes are told again, and comparing finds the rest.

Units: milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import structlog

from syncer.errors import ProtocolUnknown
from syncer.model import Region
from syncer.paths import shown

log = structlog.get_logger()

CODE: Final = "peer-protocol-unknown"
KEPT: Final = 32
"""Regions that are named at most: anybody may claim to be any."""
_NAME_CHARACTERS: Final = 100


@dataclass(slots=True)
class UnknownProtocols:
    """Regions that speak so, with the version of their protocol and how many of their messages were let go."""

    met: dict[str, tuple[str, int]] = field(default_factory=dict)

    def meet(self, region: str, error: ProtocolUnknown) -> None:
        """A message came that only a newer version of the program understands."""
        name = region[:_NAME_CHARACTERS]
        count = self.met.get(name, ("", 0))[1] + 1
        if name not in self.met and len(self.met) >= KEPT:
            return
        self.met[name] = (error.version, count)
        if count == 1:
            log.warning(CODE.replace("-", "_"), region=shown(name), protocol=error.version, hint=error.hint)

    def understood(self, region: Region) -> None:
        """The region has said something that this version understands."""
        self.met.pop(region, None)

    def conditions(self) -> list[tuple[str, str]]:
        """For the status: who is not understood."""
        return [(CODE, _words(region, *found)) for region, found in sorted(self.met.items())]


def _words(region: str, version: str, count: int) -> str:
    return (
        f"{shown(region)} speaks version {version!r} of the protocol, which this program does not know: nothing of it "
        f"is taken until this region is upgraded ({count} messages were let go since the start; what they said is "
        "found by comparing then)"
    )
