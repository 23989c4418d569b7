"""Changes that a migration has made at either cluster for a while, and whether each was put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.migrations import MigrationEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedChange:
    """Something that was set.

    Attributes:
        cluster: ``blue`` or ``green``.
        setting: ``publish-rate``, ``backlog-quota``, ``encryption-required`` or ``dynamic-setting``.
        subject: The topic, namespace or key that it was set for.
        value: That was set; ``None``: it was not noted, since the daemon that had set it was killed.
        set_at_ms: ``None``: the same.
        back_at_ms: When the former value was put back; ``None``: that was not noted.
    """

    cluster: str = "blue"
    setting: str
    subject: str
    value: str | None = None
    set_at_ms: Millis | None = None
    back_at_ms: Millis | None = None


def changes_of(events: Iterable[MigrationEvent]) -> tuple[ReportedChange, ...]:
    """All that was set, in the order in which it was."""
    found: list[ReportedChange] = []
    standing: dict[tuple[str, str, str], int] = {}
    for act in (act for event in events for act in _acts(event)):
        what = act.get("cluster", "blue"), act["setting"], act["subject"]
        at_ms = Millis(act["at_ms"])
        change = ReportedChange(cluster=what[0], setting=what[1], subject=what[2])
        if act["act"] == "set":
            standing[what] = len(found)
            found.append(replace(change, value=str(act["value"]), set_at_ms=at_ms))
        elif what in standing:
            place = standing.pop(what)
            found[place] = replace(found[place], back_at_ms=at_ms)
        else:
            found.append(replace(change, back_at_ms=at_ms))
    return tuple(found)


def _acts(event: MigrationEvent) -> Iterable[Mapping[str, Any]]:
    acts = event.document.get("acts", ())
    return acts if isinstance(acts, list) else ()
