"""Amounts of what is kept: rows and bytes."""

from __future__ import annotations

from typing import NamedTuple


class Amount(NamedTuple):
    """How many things, and how many bytes they have."""

    things: int
    size_bytes: int
