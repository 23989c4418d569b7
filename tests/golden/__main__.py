"""Make a release's folder from the code as it is: ``python -m tests.golden tests/golden/VERSION``.

What is decided by chance or by the clock (ids of databases, stamps of played regions) differs from run to run; the
rest does not. An existing folder is never written over: a release's files stay what that release has made.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio

from tests.golden import files, listings, messages, scenes


def make(folder: Path) -> None:
    """Make the folder; it must not exist."""
    folder.mkdir(parents=True)
    messages.write(folder)
    listings.write(folder)
    for scene, play in scenes.PLAYS.items():
        with tempfile.TemporaryDirectory() as place:
            played = anyio.run(play, Path(place))
            scenes.keep(folder / scenes.FOLDER / scene, played.values())
    files.write(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
