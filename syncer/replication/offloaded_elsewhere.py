"""Namespaces that another region offloads and this one does not: each tells the names of those that have a driver.

A name is all that is told: the driver, its bucket and its keys leave no store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.bus.wire.fields import is_name
from syncer.conflict.fields.offloading import names_driver
from syncer.model import MetaPath, Region
from syncer.paths import POLICIES, shown
from syncer.stores.contract import Entry

ELSEWHERE: Final = "offloaded-elsewhere"
NAMES_TOLD: Final = 256
NAMES_CHARACTERS: Final = 16 * 1024
"""Of all names that a region tells, and that are looked at of those that others tell."""
MOST: Final = 10_000
"""Namespaces that are remembered; of more nothing is said."""
_BELOW: Final = f"{POLICIES}/"
_NAMED: Final = 5


@dataclass(slots=True)
class OffloadedHere:
    """The namespaces of the own store whose policies of offloading name a driver.

    Args:
        paths: Theirs, as last read.
        crowded: There were more than are remembered: it is not known which are not among them.
    """

    paths: set[MetaPath] = field(default_factory=set)
    crowded: bool = False

    def look_at(self, path: MetaPath, entry: Entry | None) -> None:
        """Take what was read of a path; ``None``: nothing stands there."""
        if not path.startswith(_BELOW):
            return
        if entry is None or not names_driver(entry.value):
            self.paths.discard(path)
        elif len(self.paths) < MOST or path in self.paths:
            self.paths.add(path)
        else:
            self.crowded = True

    def told(self, leaves: Callable[[MetaPath], bool]) -> tuple[str, ...]:
        """The names that this region tells, in order, as many as there is room for.

        Args:
            leaves: Whether a change of a path may leave the region.
        """
        return _within_room(
            sorted(name for path in self.paths if is_name(name := path.removeprefix(_BELOW)) and leaves(path))
        )


def missing_here(
    here: OffloadedHere, others: Mapping[Region, Iterable[str]], stands: Iterable[MetaPath]
) -> dict[MetaPath, Region]:
    """The namespaces that stand here without a driver, and one of the regions that have one, in order of their paths.

    Args:
        here: The own ones.
        others: What regions have told.
        stands: Of the namespaces that :func:`named_by` finds, those that stand here.
    """
    if here.crowded:
        return {}
    found = named_by(others)
    return {path: found[path] for path in sorted(stands) if path in found and path not in here.paths}


def named_by(others: Mapping[Region, Iterable[str]]) -> dict[MetaPath, Region]:
    """The namespaces that other regions name, each with the first of these; no more than one region may tell.

    Args:
        others: By region, what it has told.
    """
    found: dict[MetaPath, Region] = {}
    for region in sorted(others):
        for name in _within_room(others[region]):
            if len(found) < NAMES_TOLD:
                found.setdefault(MetaPath(f"{_BELOW}{name}"), region)
    return found


def in_words(missing: Mapping[MetaPath, Region]) -> str:
    """The message of the condition.

    Args:
        missing: At least one namespace, with a region that offloads it.
    """
    named = [f"{shown(path.removeprefix(_BELOW))} ({region})" for path, region in list(missing.items())[:_NAMED]]
    return (
        f"{len(missing)} namespaces are offloaded in another region, and have no driver here: {', '.join(named)}"
        f"{' …' if len(missing) > _NAMED else ''}; unless the brokers' own configuration names one, nothing of them is "
        "offloaded here"
    )


def _within_room(names: Iterable[str]) -> tuple[str, ...]:
    told: list[str] = []
    size = 0
    for name in names:
        size += len(name)
        if len(told) >= NAMES_TOLD or size > NAMES_CHARACTERS:
            break
        told.append(name)
    return tuple(told)
