"""Fields of a JSON object, each read as its type; flaws are noted, and what they spoil is None.

Source: ObjectMapperFactory, Pulsar 4.0.8: unknown fields are passed over, NaN is written as a text.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Final

import orjson

from syncer.balancer.java import INT_MAX
from syncer.balancer.picture import LoadFinding, LoadFindingKind

_LONG_MAX: Final = 2**63 - 1
_SHOWN: Final = 60
_REMEDIES: Final = {
    LoadFindingKind.TORN: "Read the load again; if it stays so, look at whoever writes it.",
    LoadFindingKind.MISSING: "Read the load again later; if it stays so, look at the log of the broker.",
    LoadFindingKind.IMPOSSIBLE: "Read the load again; if it stays so, restart the broker that reports it.",
    LoadFindingKind.STALE: "See whether the broker still answers, and whether its clock is right.",
    LoadFindingKind.CONTRADICTION: "Read the load again in a minute; if it stays so, unload the bundle.",
    LoadFindingKind.UNREADABLE: "Give the reader's role the right to ask, or see why nobody answers.",
}
"""The next step for each kind, where the finding names none of its own."""


@dataclass(slots=True)
class FlawNotes:
    """Findings, in the order in which they were met."""

    findings: list[LoadFinding] = field(default_factory=list)

    def note(self, kind: LoadFindingKind, where: str, what: str, remedy: str = "") -> None:
        """Note one.

        Args:
            kind: Of what sort it is.
            where: The place that was read.
            what: The flaw, and what becomes unknown by it.
            remedy: The operator's next step, unless it is that of the kind.
        """
        self.findings.append(LoadFinding(kind, where, what, remedy or _REMEDIES[kind]))


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """A JSON object, where it was read, and where its flaws are noted.

    A field that is absent where it must be, or null, is as unknown as one that cannot be true.
    """

    where: str
    values: dict[str, object]
    notes: FlawNotes

    def number(self, name: str, *, below_zero: bool = False) -> float | None:
        """Read a finite number that is not below zero.

        Args:
            name: Of the field.
            below_zero: It may be.
        """
        value = self.values.get(name)
        if type(value) is float and (0 <= value < math.inf or (below_zero and math.isfinite(value))):
            return value
        found = self._read(name, value)
        if found is None:
            return None
        if not math.isfinite(found) or (found < 0 and not below_zero):
            self._flaw(LoadFindingKind.IMPOSSIBLE, name, f"is {found}, which no broker can measure")
            return None
        return found

    def count(self, name: str) -> int | None:
        """Read a whole number of at most 31 bits."""
        value = self.values.get(name)
        if type(value) is int and 0 <= value <= INT_MAX:
            return value
        found = self.number(name)
        if found is None:
            return None
        if found > INT_MAX:
            self._flaw(LoadFindingKind.IMPOSSIBLE, name, f"is {found:g}, which is no count")
            return None
        return int(found)

    def time_ms(self, name: str) -> int | None:
        """Read a time, in milliseconds since the epoch; 0 is none."""
        value = self.values.get(name)
        if type(value) is int and 0 < value <= _LONG_MAX:
            return value
        found = self.number(name)
        if found is None:
            return None
        if not 1 <= found <= _LONG_MAX:
            self._flaw(LoadFindingKind.IMPOSSIBLE, name, f"is {found:g}, which is no time")
            return None
        return int(found)

    def whole(self, name: str) -> int | None:
        """Read a whole number of 64 bits, of either sign; no text stands for it."""
        value = self.values.get(name)
        if type(value) is int and -_LONG_MAX <= value <= _LONG_MAX:
            return value
        self._flaw(LoadFindingKind.TORN, name, f"is {_shown(value)} and no whole number")
        return None

    def text(self, name: str) -> str | None:
        """Read a text that may be absent; an empty one counts as that."""
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value or None
        self._flaw(LoadFindingKind.TORN, name, f"is {_shown(value)} and no text")
        return None

    def flag(self, name: str, *, default: bool) -> bool:
        """Read true or false; what is neither, or absent, is as Pulsar has it.

        Args:
            name: Of the field.
            default: Pulsar's.
        """
        value = self.values.get(name)
        if isinstance(value, bool):
            return value
        if value is not None:
            self._flaw(LoadFindingKind.TORN, name, f"is {_shown(value)} and neither true nor false")
        return default

    def below(self, name: str) -> DocumentFields | None:
        """Read an object that must be there."""
        value = self.values.get(name)
        if isinstance(value, dict):
            return DocumentFields(f"{self.where} {name}", value, self.notes)
        self._absent(name, value, "an object")
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Read a list of texts that must be there."""
        value = self.values.get(name)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self._absent(name, value, "a list of texts")
        return None

    def _read(self, name: str, value: object) -> float | None:
        try:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
            if isinstance(value, str) and "_" not in value:
                return float(value)
        except (ValueError, OverflowError):
            self._flaw(LoadFindingKind.TORN, name, f"is {_shown(value)} and no number")
            return None
        self._absent(name, value, "a number")
        return None

    def _absent(self, name: str, value: object, wanted: str) -> None:
        if value is None:
            self._flaw(LoadFindingKind.MISSING, name, "is not there")
        else:
            self._flaw(LoadFindingKind.TORN, name, f"is {_shown(value)} and not {wanted}")

    def _flaw(self, kind: LoadFindingKind, name: str, what: str) -> None:
        self.notes.note(kind, self.where, f"{name} {what}")


def parsed(where: str, data: bytes, notes: FlawNotes) -> DocumentFields | None:
    """Parse a JSON object; None, and a finding, where it is none.

    Args:
        where: The place that it was read from.
        data: Its bytes.
        notes: Where flaws are noted.
    """
    try:
        found = _loaded(data)
    except (ValueError, TypeError, RecursionError) as exc:
        reason = "is empty" if not data else f"cannot be read: {str(exc)[:_SHOWN]}"
        notes.note(LoadFindingKind.TORN, where, f"its JSON {reason}")
        return None
    if not isinstance(found, dict):
        notes.note(LoadFindingKind.TORN, where, f"it holds {_shown(found)} and no object")
        return None
    return DocumentFields(where, found, notes)


def _loaded(data: bytes) -> object:
    """Parse; NaN and infinities, which are no JSON, are read so that the figures beside them are not lost."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"NaN" not in data and b"Infinity" not in data:
            raise
    found = json.loads(data)
    orjson.dumps(found)  # a text that is no Unicode is refused here as it is above
    return found


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
