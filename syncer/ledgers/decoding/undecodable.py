"""Values that cannot be decoded: kept with their path and the reason, counted, never fatal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_SHOWN: Final = 200


class ValueKind(StrEnum):
    """The sort of value that was expected at a path."""

    LEDGER = "ledger"
    MANAGED_LEDGER = "managed-ledger"
    CURSOR = "cursor"
    SCHEMA = "schema"
    MARK = "mark"
    LOCK = "lock"
    AUDITOR = "auditor"
    RECOVERY_SETTING = "recovery-setting"
    BOOKIE = "bookie"
    COOKIE = "cookie"
    LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A value that nothing can be said of: its kind, its path, and the reason, which shows none of its bytes."""

    kind: ValueKind
    path: str
    why: str


class ValueDamaged(Exception):
    """Raised and caught within decoding; who decodes gets an :class:`Undecodable`."""


def undecodable(kind: ValueKind, path: str, error: Exception) -> Undecodable:
    """Make an answer of the error of a decoder.

    Args:
        kind: What was expected.
        path: Where.
        error: What went wrong.
    """
    return Undecodable(kind, path, str(error)[:_SHOWN] or type(error).__name__)
