"""Events of a migration in words, one line each; calls and single steps of preparing are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncer.migration.course import shown
from syncer.migration.steering import StepKind
from syncer.model import Millis
from syncer.state.contract.migrations import MigrationEvent

_What = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedMoment:
    """Something that has happened."""

    at_ms: Millis
    words: str


def timeline_of(events: Iterable[MigrationEvent]) -> tuple[ReportedMoment, ...]:
    """What has happened, in order."""
    return tuple(
        ReportedMoment(at_ms=event.at_ms, words=_WORDS[event.kind](event.document))
        for event in events
        if event.kind in _WORDS
    )


def _asked(what: _What) -> str:
    return f"{what['who']} asks for {what['command']}{f': {why}' if (why := what['why']) else ''}"


def _step_ends(what: _What) -> str:
    stop = what["stop"]
    step = "" if what["step"] == StepKind.ADVANCE else f"{what['step']} {what['end']}; "
    words = f"{step}the migration is {what['phase']}"
    return words if stop is None else f"{words}, stopped ({stop['code']}): {stop['words']}"


def _checked(what: _What) -> str:
    blocking = tuple(what["blocking"])
    return f"checks ({what['stage']}): {f'blocked by {shown(blocking)}' if blocking else 'all hold'}"


def _prepared(what: _What) -> str:
    left = tuple(what["unprepared"])
    return f"green is prepared for {shown(tuple(what['namespaces']))}{f', but for {shown(left)}' if left else ''}"


def _warmed_up(what: _What) -> str:
    cold = tuple(what["cold"])
    return (
        f"brokers warmed up in {what['took_s']:.1f} s: {len(what['topics'])}{f'; cold: {shown(cold)}' if cold else ''}"
    )


def _let_go(what: _What) -> str:
    words = f"let go, {what['closing_s']:.1f} s after the mark"
    return f"{words}; not migrated: {_reasons(what)}" if what["reasons"] else f"{words}: every topic is migrated"


def _rolled(what: _What) -> str:
    absent = len(what["staying"]) + len(what["missed"])
    return f"roll call: at green {what['arrived'] + what['started_anew']}, missing {absent}"


def _drained(what: _What) -> str:
    return f"drained: topics {len(what['topics'])}, subscriptions of others {len(what['subscriptions'])}"


def _tallied(what: _What) -> str:
    return f"tally of {what['namespace']}, topics: {len(what['topics'])}"


def _soaked(what: _What) -> str:
    words = f"soaked; topics of producers that have published nothing at green meanwhile: {len(what['still'])}"
    not_read = tuple(what.get("not_read", ()))
    return f"{words}; consumers that were given nothing while messages waited: {shown(not_read)}" if not_read else words


def _undone(what: _What) -> str:
    stays = {f"{name}: {words}": words for name, words in what["stays"].items()}
    return f"taken back; what stays: {shown(stays)}" if stays else "taken back"


def _broker_health(what: _What) -> str:
    words = f"broker {what['broker']} of {what['cluster']} is {what['state']}"
    return f"{words}: {what['said']}" if what["said"] else words


def _reasons(what: _What) -> str:
    return shown({f"{name}: {why}": why for name, why in what["reasons"].items()})


_WORDS: Final[Mapping[str, Callable[[_What], str]]] = {
    "asked": _asked,
    "not-followed": lambda what: f"{what['command']} is not followed: {what['why']}",
    "step-begins": lambda what: f"begins: {what['words']}",
    "step-ends": _step_ends,
    "checked": _checked,
    "prepared": _prepared,
    "preparation-stopped": lambda what: f"{what['kind']} {what['subject']} was refused: {what['answer']}",
    "made-since": lambda what: (
        f"{len(what['subjects']) + what['more']} were made meanwhile: waves get them before they go"
    ),
    "guarded": lambda what: f"blue is guarded: settings frozen {len(what['frozen'])}, topics loaded {what['loaded']}",
    "warmed-up": _warmed_up,
    "foreseen": lambda what: f"foreseen: producers without an answer for {what['longest_gap_s']:.1f} s at most",
    "still": lambda what: f"topics that stand still: {len(what['last'])}",
    "marked": lambda what: f"marked: {shown(tuple(what['namespaces']))}",
    "let-go": _let_go,
    "taken-back": lambda what: f"taken back, nothing is marked: {_reasons(what)}",
    "put-back": lambda what: f"values put back that an earlier run had set: {len(what['acts'])}",
    "roll-called": _rolled,
    "mark-missing": lambda what: f"not marked any more: {shown(tuple(what['namespaces']))}",
    "unmarked": lambda what: f"mark of {what['namespace']} taken off, to read {shown(tuple(what['topics']))}",
    "marked-again": lambda what: f"marked again: {what['namespace']}",
    "broker-health": _broker_health,
    "not-watched": lambda what: f"blue could not be looked after: {what['why']}",
    "drained": _drained,
    "tallied": _tallied,
    "soaked": _soaked,
    "undone": _undone,
    "released": lambda _: "blue balances again as before",
}
"""Kind of an event → its words."""
