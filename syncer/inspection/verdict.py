"""The judgement of a region's status: is it well, or is an operator needed, and what comes next.

    judge(status) ──▶ Verdict     one line for people and monitoring, an exit status, the next step, every reason

Nothing here reads a clock, a file or a database: the same status always has the same verdict.

Units: ``*_s`` seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.bus.wire.messages import LEFT
from syncer.dispositions import ExitCode
from syncer.documents.status import StatusDocument
from syncer.inspection.conditions import NextStep, Severity, weight

WATCH_LIMIT_S: Final = 300.0
"""A watch that stays broken for so long does not heal by itself."""
OUTBOX_LIMIT_S: Final = 300.0
"""A local change that the bus has not taken for so long is stuck."""
BEGINNING_LIMIT_S: Final = 3600.0
"""A first scan, or a rebuild, that goes on for so long is stuck."""

_NOTHING: Final = NextStep("nothing to do")
_START: Final = NextStep(
    "see why it stopped, then start it; without systemd, see its log", "systemctl status pulsar-syncer"
)


class LookOutcome(StrEnum):
    """What a look at a region comes to."""

    WELL = "well"
    OPERATOR = "operator-needed"
    SILENT = "silent"
    NO_DATABASE = "no-database"
    UNREACHABLE = "unreachable"
    NOT_ALLOWED = "not-allowed"


EXIT: Final = {
    LookOutcome.WELL: ExitCode.DONE,
    LookOutcome.OPERATOR: ExitCode.FAILED,
    LookOutcome.SILENT: ExitCode.UNREACHABLE,
    LookOutcome.NO_DATABASE: ExitCode.UNREACHABLE,
    LookOutcome.UNREACHABLE: ExitCode.UNREACHABLE,
    LookOutcome.NOT_ALLOWED: ExitCode.NOT_ALLOWED,
}
"""Exit status of ``syncer status --check``."""


@dataclass(frozen=True, slots=True)
class VerdictReason:
    """One thing that was found: an alarm, or something that can wait and is said all the same."""

    code: str
    severity: Severity
    message: str
    step: NextStep


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionVerdict:
    """What a look at a region comes to. ``reasons``: the gravest first."""

    outcome: LookOutcome
    message: str
    step: NextStep
    reasons: tuple[VerdictReason, ...] = field(default=())

    @property
    def line(self) -> str:
        """The verdict in one line."""
        return f"{self.outcome.value.replace('-', ' ')}: {self.message}"


def judge(status: StatusDocument) -> RegionVerdict:
    """Judge a region by its status."""
    if status.daemon != "running":
        return _silent(status)
    reasons = tuple(_reasons(status))
    alarms = tuple(each for each in reasons if each.severity is Severity.ALARM)
    advice = tuple(each for each in reasons if each.severity is Severity.ADVICE)
    standing = next((each for each in advice if each.code in _STANDING), None)
    if alarms:
        first, *others = alarms
        more = f" (and {len(others)} more: {_codes(others)})" if others else ""
        beside = f"; {standing.message}" if standing is not None else ""
        return RegionVerdict(
            outcome=LookOutcome.OPERATOR,
            message=f"{status.region}: {first.message}{more}{beside}",
            step=first.step,
            reasons=alarms + advice,
        )
    said = [each for each in advice if each is not standing]
    return RegionVerdict(
        outcome=LookOutcome.WELL,
        message="; ".join([standing.message if standing is not None else _works(status), *_also(said)]),
        step=standing.step
        if standing is not None
        else next((each.step for each in said if each.code in _LATER), _NOTHING),
        reasons=advice,
    )


def _silent(status: StatusDocument) -> RegionVerdict:
    """No daemon works: which one did last, or stands by."""
    waiting = next((each for each in status.daemons if each.role == "standby" and not each.silent), None)
    last = next((each for each in status.daemons if each.role in {"active", "observer"}), None)
    step = _START
    if waiting is not None:
        message = (
            f"no daemon of {status.region} is active; the one on {waiting.host} (process {waiting.pid}) stands by: the "
            "bus has not given it the role, or the store does not answer"
        )
        step = NextStep("see whether store and bus answer", "syncer config check --connect")
    elif status.daemon == "never-started":
        message = f"no daemon of {status.region} has ever reported"
    else:
        where = f" on {last.host} (process {last.pid})" if last is not None else ""
        message = (
            f"the daemon of {status.region}{where} reported last {_long(status.reported_age_s)} ago: it does not run, "
            "hangs, or is cut off from its database"
        )
    code = "daemon-never-started" if status.daemon == "never-started" else "daemon-silent"
    reason = VerdictReason(code, Severity.ALARM, message, step)
    return RegionVerdict(outcome=LookOutcome.SILENT, message=message, step=step, reasons=(reason, *_waiting(status)))


def _reasons(status: StatusDocument) -> Iterator[VerdictReason]:
    """Everything that can be said of a region whose daemon runs."""
    yield from _beginning(status)
    yield from _waiting(status)
    yield from _away(status)
    yield from _stuck(status)
    for each in status.conditions:
        if each.code != "rebuilding":  # told with the beginning
            found = weight(each.code)
            yield VerdictReason(each.code, found.severity, each.line, found.step)
    for region in status.unheard:
        step = NextStep(
            "start its daemon; one that runs Pulsar's own synchronizer is never heard", "syncer regions list"
        )
        yield VerdictReason("peer-unheard", Severity.ADVICE, f"{region} is expected and was never heard", step)
    if status.waiting.conflicts:
        message = (
            f"{_count(status.waiting.conflicts, 'change')} that lost a conflict {_is(status.waiting.conflicts)} kept"
        )
        yield VerdictReason(
            "conflicts-kept",
            Severity.ADVICE,
            message,
            NextStep("when there is time: restore or discard what lost", "syncer conflicts list"),
        )


_LATER: Final = frozenset({"conflicts-kept", "peer-unheard"})
"""What is well, and yet worth a look when there is time."""
_STANDING: Final = frozenset({"first-scan", "rebuilding", "paused", "observing", "left"})
"""How a region can stand that is well: said instead of what it does otherwise."""


def _beginning(status: StatusDocument) -> Iterator[VerdictReason]:
    """What a region is busy with, or was told, in place of its ordinary work."""
    region, since_s = status.region, _at_work_s(status)
    late = since_s is not None and since_s > BEGINNING_LIMIT_S
    severity = Severity.ALARM if late else Severity.ADVICE
    for_long = f", for {_long(since_s)} by now" if late else ""
    if status.joining:
        step = NextStep("see what joining would change, then confirm it", "syncer regions join")
        yield VerdictReason("joining", Severity.ALARM, "it waits for an operator before it joins the group", step)
    elif status.mode == LEFT:
        yield VerdictReason("left", Severity.ADVICE, f"{region} has left the group, and replicates nothing", _NOTHING)
    elif status.paused is not None:
        message = f"{region} is paused, so nothing is written or published: {status.paused}"
        yield VerdictReason("paused", Severity.ADVICE, message, NextStep("when the work is done", "syncer resume"))
    if status.rebuilding is not None:
        told = next((each.message for each in status.conditions if each.code == "rebuilding"), status.rebuilding)
        yield VerdictReason("rebuilding", severity, f"{region} is {told}{for_long}", weight("rebuilding").step)
    elif not status.baseline_done:
        message = f"{region} reads its store for the first time{for_long}; nothing is published before that is done"
        yield VerdictReason(
            "first-scan", severity, message, NextStep("wait until it is done", "syncer status --wait 600")
        )
    if status.mode == "observe":
        message = f"{region} only observes: nothing is written or published"
        yield VerdictReason("observing", Severity.ADVICE, message, _NOTHING)


def _waiting(status: StatusDocument) -> Iterator[VerdictReason]:
    """What waits for an operator."""
    waiting = status.waiting
    if holds := waiting.holds + waiting.future_events:
        message = f"{_count(holds, 'change')} {_is(holds)} held until an operator decides"
        yield VerdictReason(
            "holds", Severity.ALARM, message, NextStep("look at each, then confirm or reject it", "syncer holds list")
        )
    if waiting.quarantine:
        message = f"{waiting.quarantine} in quarantine: messages or values that could not be handled"
        step = NextStep("see why, mend it, then retry or discard", "syncer quarantine list")
        yield VerdictReason("quarantine", Severity.ALARM, message, step)


def _away(status: StatusDocument) -> Iterator[VerdictReason]:
    """Members that were not heard for too long."""
    for peer in status.peers:
        if peer.away:
            message = f"{peer.region} was last heard {_long(peer.heard_age_s)} ago (limit {_long(status.silence_s)})"
            step = NextStep("look at the daemon there, and at the link", "syncer regions list")
            if status.rebuilding is not None:
                without = f"syncer state rebuild --without {peer.region}"
                step = NextStep(
                    f"bring its daemon back; only if it is gone for good: '{without}'", "syncer regions list"
                )
            yield VerdictReason("peer-away", Severity.ALARM, message, step)


def _stuck(status: StatusDocument) -> Iterator[VerdictReason]:
    """What does not move, though nothing is paused."""
    whole_until, now = status.watch_whole_until_ms, status.reported_at_ms
    if status.watch_whole is False and status.baseline_done and whole_until is not None and now is not None:
        broken_s = (now - whole_until) / 1000
        if broken_s > WATCH_LIMIT_S:
            message = f"changes of the store are not seen since {_long(broken_s)}: the watch is broken"
            step = NextStep("see whether the store answers", "syncer config check --connect")
            yield VerdictReason("watch-broken", Severity.ALARM, message, step)
    oldest_s = status.outbox.oldest_age_s
    if status.paused is None and oldest_s is not None and oldest_s > OUTBOX_LIMIT_S:
        waiting = f"{_count(status.outbox.depth, 'local change')} {_is(status.outbox.depth)} not published"
        message = f"{waiting}, the oldest since {_long(oldest_s)}"
        step = NextStep("see whether the bus answers", "syncer config check --connect")
        yield VerdictReason("outbox-stuck", Severity.ALARM, message, step)


def _at_work_s(status: StatusDocument) -> float | None:
    """For how long the daemon that works has had its role."""
    since = next((each.since_ms for each in status.daemons if each.role in {"active", "observer"}), None)
    return None if since is None or status.reported_at_ms is None else (status.reported_at_ms - since) / 1000


def _works(status: StatusDocument) -> str:
    """What a region does that is well."""
    members = [peer for peer in status.peers if peer.member]
    if not members:
        return f"{status.region} works; no other region was heard yet"
    equal = [peer.region for peer in members if peer.compared == "equal"]
    others = [peer.region for peer in members if peer.compared != "equal"]
    parts = [f"equal with {', '.join(equal)}"] if equal else []
    parts += [f"hears {', '.join(others)}"] if others else []
    return f"{status.region} works: {'; '.join(parts)}"


def _also(said: list[VerdictReason]) -> Iterator[str]:
    """What is said beside, in short."""
    advice = [each for each in said if each.code not in _LATER | _STANDING]
    yield from (each.message for each in said if each not in advice)
    if advice:
        yield f"advice: {_codes(advice)}"


def _codes(reasons: list[VerdictReason]) -> str:
    return ", ".join(dict.fromkeys(each.code for each in reasons))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _long(seconds: float | None) -> str:
    """A length of time as it is said."""
    left = seconds or 0.0
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if left >= 2 * length:
            return f"{left / length:.0f} {unit}"
    return f"{left:.0f} s"
