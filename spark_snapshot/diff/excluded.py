"""Excluded fields in a comparison: fields that a region has for itself, in snapshots that hold its own values of them.

A snapshot with registers holds the group's values in their place. One without holds what the store holds, which is
nobody's difference: where two regions are compared, fields that either has for itself are taken to be as in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.own import laid_over, localized, part_of
from syncer.conflict.projection import parse, stored
from syncer.errors import ValueInvalid
from syncer.model import MetaPath


@dataclass(frozen=True)
class ExcludedFields:
    """Fields that snapshots hold as their stores do; the rules are sent to a worker and compiled there.

    Args:
        rules: Of each that holds any, by its name.
    """

    rules: tuple[tuple[str, tuple[Exclusion, ...]], ...] = ()

    def __reduce__(self) -> tuple[type[ExcludedFields], tuple[object]]:
        return ExcludedFields, (self.rules,)

    @cached_property
    def _exclusions(self) -> dict[str, Exclusions]:
        return {name: Exclusions(each, told=True) for name, each in self.rules}

    def at(self, path: MetaPath, name: str) -> frozenset[str]:
        """The fields that are a snapshot's own at a path."""
        found = self._exclusions.get(name)
        return frozenset() if found is None else found.at(path)

    def left_out(self, path: MetaPath, values: Mapping[str, bytes], first: str) -> dict[str, bytes]:
        """Values of one path as they are compared.

        Args:
            path: Where.
            values: By snapshot. The fields that the one which counts has for itself are taken from the others, in this
                order.
            first: The one whose version counts.
        """
        names = {name: self.at(path, name) for name in values}
        if first not in values or not any(names.values()):
            return dict(values)
        try:
            documents = {name: parse(value) for name, value in values.items()}
        except ValueInvalid:
            return dict(values)
        counts, lacking = documents.pop(first), names[first]
        for name, document in documents.items():
            there = lacking - names[name]
            counts, lacking = laid_over(counts, there, part_of(document, there)), lacking - there
        found = {name: localized(document, counts, names[name] | lacking) for name, document in documents.items()}
        return {name: stored(found.get(name, counts)) for name in values}


NOTHING_EXCLUDED: Final = ExcludedFields()
