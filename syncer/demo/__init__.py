"""Three regions on this machine, each a process of its own, and a story that tries to make them differ."""

from __future__ import annotations


def run() -> int:
    """Play the story; the exit code says whether all of it held."""
    from syncer.demo.story import play  # the command line imports this package for its name only

    return 0 if play() else 1
