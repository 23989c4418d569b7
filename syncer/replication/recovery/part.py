"""The parts of recovering a lost database: its progress, values that are due, and how long peers are waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from syncer.replication.core import Core
from syncer.replication.group.participation import Participation
from syncer.replication.recovery.progress import Doubts, Originals, RecoveryState
from syncer.replication.recovery.value_exchange import ValueExchange
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import Committed, UnitsOfWork

QUIET_MS: Final = 5_000
SPEAK_MS: Final = 30_000
"""Where no peers are configured, whoever has not spoken for so long is taken as no member of the group."""


HEAR_MS: Final = 30 * 60_000
"""Where no peers are configured, whoever has not told what it knows by then is not waited for any more."""


@dataclass(slots=True, kw_only=True)
class Recovery:
    """Recovering a lost database, and values that peers want of this region, or this region of them.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        units: Begins units of work.
        started_as: Generation that this database had when the daemon started, or when it began anew.
        progress: What is in memory of rebuilding a lost database, here and elsewhere.
        values: Values that peers want of this region, and this region of them.
        speak_ms: How long a rebuild waits for peers to be heard, where none are configured.
        hear_ms: How long it waits for those that have not told all that they know, where none are configured.
        quiet_ms: How long nothing is published after a start, where a peer does not say what it has of this database;
            0: it cannot be an old copy.
        takes_over: Whether this database may take the place of another one that the fence names.
        begun_on_hearsay: It has begun anew by what came from others, which it does once.
        doubts: What others say against this database.
        originals: The last changes of members as they have sent them; ``None``: nothing was looked up yet.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    units: UnitsOfWork
    started_as: int
    progress: RecoveryState = field(default_factory=RecoveryState)
    values: ValueExchange = field(default_factory=ValueExchange)
    speak_ms: int = SPEAK_MS
    hear_ms: int = HEAR_MS
    quiet_ms: int = QUIET_MS
    takes_over: bool = True
    begun_on_hearsay: bool = False
    doubts: Doubts = field(default_factory=Doubts)
    originals: Originals | None = None

    def on_commit(self, committed: Committed) -> None:
        """Registers were stored: values that some of them turned out to lack are asked for."""
        for path in committed.wanting:
            self.values.want(path)

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing that was in memory of it counts."""
        self.core.renamed(self.core.identity)
        self.started_as = self.core.identity.generation
        self.progress = RecoveryState(tried=self.progress.tried)
        self.core.fence = None  # what is under way belongs to the former database
        self.values = ValueExchange()
