"""Namespaces of Pulsar's first form (``PROPERTY/CLUSTER/NAMESPACE``) that a reader meets: counted and named."""

from __future__ import annotations

from typing import Final

from syncer.paths import first_form_namespace, shown

NAMED: Final = 3
"""So many are named; all are counted."""


class FirstFormSeen:
    """A count of namespaces of the first form; each path is looked at once.

    Args:
        count: How many were met.
        named: The first of them by name, as errors show names.
    """

    def __init__(self, count: int = 0, named: tuple[str, ...] = ()) -> None:
        self.count = count
        self.named = named

    def look_at(self, path: str) -> None:
        """Count a path, if it holds the policies of such a namespace."""
        if (name := first_form_namespace(path)) is not None:
            self.count += 1
            self.named = tuple(sorted((*self.named, shown(name)))[:NAMED])
