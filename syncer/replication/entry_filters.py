"""Entry filters that policies of the own store name, and those of them that its brokers are known not to apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from syncer.conflict.deletes.collected import CollectionTold
from syncer.conflict.fields.entry_filters import (
    DIRECTORY,
    FIELD,
    NAMES,
    NAMING,
    OVERRIDES,
    FilterLack,
    filters_named,
    missing_filters,
)
from syncer.conflict.projection import parse
from syncer.errors import ValueInvalid
from syncer.model import MetaPath
from syncer.paths import classify, shown

MISSING: Final = "entry-filters-missing"
KEPT: Final = 1_000
"""Policies that are kept in mind; of more it is not told what they name."""
_NAMED: Final = 3
_MARK: Final = FIELD.encode()
_WHY: Final[Mapping[FilterLack, str]] = {
    FilterLack.IGNORED: f"{OVERRIDES} is false at",
    FilterLack.ABSENT: f"{DIRECTORY} is empty at",
}


class NamedFilters:
    """The filters that policies name, as the store was last read; in memory, and found anew by a scan."""

    def __init__(self) -> None:
        self._named: dict[MetaPath, frozenset[str]] = {}
        self._unmet: set[MetaPath] = set()
        self._judged: tuple[CollectionTold, list[tuple[str, str]]] | None = None
        """What was found by an answer of the brokers; ``None``: policies have changed since."""

    def begin_scan(self) -> None:
        """All of the store is met anew."""
        self._unmet = set(self._named)

    def end_scan(self) -> None:
        """All of the store was met: a policy that was not is gone."""
        for path in self._unmet:
            self._name(path, frozenset())
        self._unmet.clear()

    def look_at(self, path: MetaPath, value: bytes) -> None:
        """Note the filters that a value names; an empty one where there is none."""
        self._unmet.discard(path)
        self._name(path, _named_by(path, value))

    def _name(self, path: MetaPath, names: frozenset[str]) -> None:
        if names == self._named.get(path, frozenset()):
            return
        if not names:
            del self._named[path]
        elif path in self._named or len(self._named) < KEPT:
            self._named[path] = names
        self._judged = None

    def conditions(self, told: CollectionTold | None) -> list[tuple[str, str]]:
        """Return what an operator should look at: codes and messages.

        Args:
            told: What the brokers told of their settings; ``None``: they were not asked yet.
        """
        if told is None or not self._named:
            return []
        if self._judged is None or self._judged[0] is not told:  # asked for each second, and changed seldom
            self._judged = told, self._found(told)
        return self._judged[1]

    def _found(self, told: CollectionTold) -> list[tuple[str, str]]:
        found = missing_filters(self._named, {name: each.filters for name, each in told.brokers.items()})
        if found is None:
            return []
        why = " and ".join(f"{_WHY[lack]} {_first(brokers)}" for lack, brokers in found.brokers.items())
        said = (
            f"policies name entry filters that brokers here do not apply: {_first(map(shown, found.names))}, named by "
            f"{_first(map(shown, found.paths))}; {why}, and {NAMES} does not list them there. Consumers here get "
            "messages that these filters keep from them elsewhere"
        )
        return [(MISSING, said)]


def _named_by(path: MetaPath, value: bytes) -> frozenset[str]:
    """Return the filters that a value names; none, where it is no policy that could, or cannot be read."""
    if _MARK not in value:  # millions of values are looked at
        return frozenset()
    resource = classify(path)
    if resource is None or resource.kind not in NAMING:
        return frozenset()
    try:
        return filters_named(parse(value))
    except ValueInvalid:
        return frozenset()


def _first(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more
