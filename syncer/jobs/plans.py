"""Repair plans that comparisons make on this machine: one file of each run, of which the latest are kept.

WORK/plans/RUN.jsonl
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

KEPT_PLANS: Final = 10


def plan_file(work: Path, run: str) -> Path:
    """Where the plan of a run lies."""
    return work / "plans" / f"{run}.jsonl"


def make_room(work: Path) -> None:
    """Have a folder for one more plan; the oldest beyond the latest few go, and what was never written to its end.

    Raises:
        OSError: It cannot be had.
    """
    folder = plan_file(work, "any").parent
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    aged = sorted(folder.iterdir(), key=lambda each: (each.stat().st_mtime_ns, each.name))
    for each in aged[: max(0, len(aged) - KEPT_PLANS + 1)]:
        each.unlink(missing_ok=True)
