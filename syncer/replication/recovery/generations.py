"""Generations (incarnation numbers) of this region's databases, and how far peers are believed that claim to know them.

Two databases of a region must not count under one generation, so a peer that has heard a higher one of another database
is obeyed: this one takes the next. But a generation only rises, and there is an end of them; so what is claimed counts
up to a thousand above the one that this daemon had when it started, or when its database began anew. What lies beyond
is shown with who says so, and changes nothing: a generation that is lower than another one's is no less unique. Nor is
such a number told on: a database's generation is the time of its birth in seconds, or a few above one, so one that lies
in the future is not remembered of a peer.
"""

from __future__ import annotations

from syncer.model import Region
from syncer.replication.group.peer import GENERATIONS_AHEAD
from syncer.replication.recovery.part import Recovery


def claim(recovery: Recovery, generation: int, teller: Region) -> bool:
    """Whether a generation of this region that somebody has heard may be believed; if not, it is shown who says so."""
    if generation <= recovery.started_as + GENERATIONS_AHEAD:
        return True
    recovery.telemetry.conditions["generation-claimed"] = (
        f"{teller} says that a database of this region had generation {generation}, and this one has "
        f"{recovery.core.identity.generation}: no such generation was ever taken, so it is not believed"
    )
    return False
