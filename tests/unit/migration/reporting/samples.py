"""What is noted of a migration of one namespace, step by step, and the migration itself."""

from __future__ import annotations

from typing import Any

from syncer.migration.course import MigrationRun, WaveVerdict
from syncer.migration.phases import MigrationPhase, MigrationStanding
from syncer.migration.reporting.report import MigrationReport, report_of
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.migrations import Migration, MigrationEvent
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.test_migration_plan import plan

T0 = 1_790_000_000_000
SCRIPT = """<script>alert("x")</script>&'"\x00\u202e"""
FORESEEN = {
    "namespaces": [NAMESPACE],
    "longest_gap_s": 5.8,
    "cures": {TOPIC: "gate-and-brake"},
    "rates": {TOPIC: 166},
    "why": {TOPIC: "silent"},
    "shared": {"/10.0.0.1:5000": [[TOPIC, "", "blue-0-1"], [TOPIC, "audit", "ab1x"]]},
}
STILL = {"last": {TOPIC: "7:41"}, "backlog": {TOPIC: {"audit": 4, "empty": 0}}, "mark_by_ms": T0}
LET_GO = {"reasons": {}, "moved": {}, "closing_s": 2.1, "held_s": 6.3}
TALLY = {
    "closed_at": "7:41",
    "ends_at": "7:41",
    "read_at_blue": True,
    "lacking": [],
    "stored": 20,
    "subscriptions": {"audit": {"backlog": 3, "consumers": 2}},
}
VERDICT = WaveVerdict(wave=0, outcome="migrated", arrived=3, started_anew=1, missing=("one",))


def happened(*rows: tuple[str, dict[str, Any]]) -> list[MigrationEvent]:
    """Events, a second apart."""
    return [
        MigrationEvent(number=number, at_ms=Millis(T0 + number * 1_000), kind=kind, document=document)
        for number, (kind, document) in enumerate(rows, 1)
    ]


def act(what: str, at_ms: int, value: object = 166, subject: str = TOPIC) -> dict[str, Any]:
    """Something that was set, or put back."""
    return {"act": what, "setting": "publish-rate", "subject": subject, "value": value, "at_ms": at_ms}


def tallied(**changes: Any) -> tuple[str, dict[str, Any]]:
    """A tally of the topic, with changes."""
    return "tallied", {"namespace": NAMESPACE, "topics": {TOPIC: {**TALLY, **changes}}}


def step_ends(verdict: dict[str, Any] | None, stop: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """The end of a wave's step."""
    row = {"step": "move", "end": "done", "phase": "canary", "wave": 0, "stop": stop, "verdict": verdict}
    return "step-ends", row


def roll_called(*missed: list[str], staying: tuple[list[str], ...] = ()) -> tuple[str, dict[str, Any]]:
    """A roll call."""
    row = {"namespaces": [NAMESPACE], "arrived": 3, "started_anew": 1, "staying": list(staying), "missed": list(missed)}
    return "roll-called", row


def whole() -> list[MigrationEvent]:
    """A migration that has gone through, with one client missing."""
    return happened(
        ("asked", {"command": "go", "who": "ann", "why": "it looks well"}),
        ("foreseen", FORESEEN),
        ("still", STILL),
        ("marked", {"namespaces": [NAMESPACE]}),
        ("let-go", {**LET_GO, "acts": [act("set", T0), act("back", T0 + 5_000, None)]}),
        roll_called([TOPIC, "audit", "ab1x", "/10.0.0.2:5000", "Pulsar-CPP-v3.7.2"]),
        step_ends({"outcome": "migrated", "reasons": {}}),
        ("drained", {"topics": [TOPIC], "subscriptions": []}),
        tallied(),
    )


def migration(phase: MigrationPhase = MigrationPhase.CLOSED, **changes: Any) -> Migration:
    """A migration in a phase, with changes of its run."""
    stopped_in = MigrationPhase.CANARY if phase in {MigrationPhase.PAUSED, MigrationPhase.FAILED} else None
    run = MigrationRun(since_ms=Millis(T0), standing=MigrationStanding(phase=phase, stopped_in=stopped_in))
    return Migration(
        id=7,
        fingerprint=plan().fingerprint,
        phase=phase.value,
        run=replace(run, **{"marked": True, "verdicts": (VERDICT,), **changes}).document,
        claim="cc" * 16,
        asked_by="ann",
        reason="new hardware",
        made_at_ms=Millis(T0),
        changed_at_ms=Millis(T0),
    )


def report(events: list[MigrationEvent] | None = None, **changes: Any) -> MigrationReport:
    """The report of a whole migration, or of other events."""
    return report_of(migration(**changes), plan(), whole() if events is None else events, ())
