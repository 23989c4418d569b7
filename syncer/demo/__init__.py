"""Three regions on this machine, each a process of its own, and a story that tries to make them differ."""

from __future__ import annotations


def run() -> int:
    """Play the story; the exit code says whether all of it held."""
    from syncer.demo.story import play  # noqa: PLC0415 - a region's process needs none of it

    return 0 if play() else 1
