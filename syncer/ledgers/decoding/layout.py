"""Layout of ledgers, as BookKeeper's own driver writes it: two lines of text.

Source: LedgerLayout, BookKeeper 4.17.2.
"""

from __future__ import annotations

from typing import Final

from syncer.ledgers.decoding.messages import text
from syncer.ledgers.decoding.numbers import int32
from syncer.ledgers.decoding.undecodable import ValueDamaged
from syncer.ledgers.nodes import LedgerLayout

_VERSIONS: Final = (1, 2)


def ledger_layout(value: bytes) -> LedgerLayout:
    """Decode the layout.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: It is none, or of a version that is not known.
    """
    lines = text(value).split("\n")
    version = int32(lines[0], "the version of the layout's format")
    if version not in _VERSIONS:
        raise ValueDamaged(f"its format has version {version}; 1 and 2 are known")
    parts = lines[1].rstrip(":").split(":") if len(lines) > 1 else []
    if len(parts) != 2:
        raise ValueDamaged("it does not name a manager of ledgers and its version")
    return LedgerLayout(version, parts[0], int32(parts[1], "the version of the manager of ledgers"))
