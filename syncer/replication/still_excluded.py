"""Excluded fields that no rule excludes any more: they stay the store's own until they are as the group has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from syncer.conflict.register import Register
from syncer.paths import shown
from syncer.replication.core import Core
from syncer.replication.telemetry import Telemetry

DIFFER: Final = "excluded-fields-differ"
MOST: Final = 10_000
"""Paths that are counted; what goes beyond is found by a later start."""


def note(core: Core, telemetry: Telemetry, registers: Iterable[Register]) -> None:
    """Take what was read of some paths, and say in the status where fields stay excluded without a rule.

    Args:
        core: The region's own replica.
        telemetry: Takes the condition.
        registers: Of paths that were just read.
    """
    found, excluded = core.still_excluded, core.replica.settings.excluded
    before = len(found)
    for register in registers:
        names = () if register.kept is None else register.kept.excluded
        if names and not excluded(register.path).issuperset(names):
            if before < MOST:
                found.add(register.path)
        elif found:
            found.discard(register.path)
    if found:
        telemetry.conditions[DIFFER] = (
            f"fields that no rule excludes any more differ from the group's at {len(found)} paths, {shown(min(found))} "
            "the first: they stay this region's own until both are the same"
        )
    elif before:
        telemetry.conditions.pop(DIFFER, None)
