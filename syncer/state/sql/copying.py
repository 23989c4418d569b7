"""Copies of a sidecar database, kept beside it before it is given up."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from syncer.errors import StateUnavailable
from syncer.state.sql.opening import create_file

GIVEN_UP: Final = ".given-up"
"""What the name of the copy ends with; there is one, the latest."""


def keep_copy(file: Path) -> Path:
    """Write a SQLite database as it is now to a file beside it, readable by its owner only; that file.

    Raises:
        StateUnavailable: There is no room for it, or it cannot be written.
    """
    kept = file.with_name(file.name + GIVEN_UP)
    fresh = kept.with_name(kept.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        create_file(fresh)
        with closing(sqlite3.connect(file)) as database:
            database.execute("VACUUM INTO ?", (str(fresh),))
        fresh.replace(kept)
        folder = os.open(kept.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (sqlite3.Error, OSError) as exc:
        fresh.unlink(missing_ok=True)
        raise StateUnavailable(f"the sidecar database cannot be kept as {kept}: {exc}") from exc
    return kept
