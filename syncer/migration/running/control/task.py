"""A migration as all of its steps know it: its plan, both clusters, and what keeps and tells what was done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.claiming import Claim
from syncer.migration.running.control.examining import BrokerExamination
from syncer.migration.running.control.surveying import Survey
from syncer.migration.running.journal import MigrationJournal

Tell = Callable[..., Awaitable[None]]
"""Notes an event, and what belongs to it by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationTask:
    """One migration, as all of its steps know it.

    Attributes:
        blue: The cluster that is left.
        green: The cluster that clients go to.
        journal: Former values and events.
        survey: Reads both clusters.
        claim: On the namespaces that are moved.
        examination: Of the brokers of blue.
    """

    plan: MigrationPlan
    blue: MigrationSide
    green: MigrationSide
    clock: Clock
    journal: MigrationJournal
    survey: Survey
    claim: Claim
    examination: BrokerExamination
    tell: Tell
