"""Ownership of a file that this process may not use: where the way to it is closed, and which user owns it.

What counts is what the system refuses, tried on the file itself: rights by lists, mounts and containers are seen too.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BESIDE: Final = ("-wal", "-shm")
"""What SQLite keeps beside a database; who may use the one has to be able to use the others."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Where the way to a file is closed to this process. ``owner``: a user's name, or the number of one without."""

    place: Path
    owner: str


def user(number: int) -> str:
    """The name of a user, as ``sudo -u`` takes it; ``#`` and the number where there is none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


def ourselves() -> str:
    """The user whose rights this process has."""
    return user(os.geteuid())


def closed(path: Path, *, writing: bool = False) -> Closed | None:
    """Where the way to a file is closed to us; ``None``: it is open, or ends where nothing is.

    The owner is that of the file, or, where even that cannot be seen, that of the first closed directory.

    Args:
        path: The file; links are followed.
        writing: Whether it has to be writable, and its directory too: a database makes files beside itself.
    """
    real = Path(os.path.realpath(path))
    for place in (*reversed(real.parents), real):
        try:
            place.stat()
        except PermissionError:
            return Closed(place.parent, user(place.parent.stat().st_uid))
        except OSError:
            return None
    if not _allowed(real, os.W_OK | os.R_OK if writing else os.R_OK):
        return Closed(real, user(real.stat().st_uid))
    return None


def closed_database(path: Path, *, writing: bool) -> Closed | None:
    """The same of a SQLite database and what it keeps beside itself.

    To read one, its side files have to be there, or be made; to write, all of it has to be writable.
    """
    if (found := closed(path, writing=writing)) is not None:
        return found
    real = Path(os.path.realpath(path))
    beside = [real.with_name(real.name + suffix) for suffix in BESIDE]
    for each in beside:
        if each.exists() and (found := closed(each, writing=writing)) is not None:
            return found
    if os.statvfs(real.parent).f_flag & os.ST_RDONLY:
        return None  # nobody may write there, whoever owns it
    makes = writing or not all(each.exists() for each in beside)
    if makes and not _allowed(real.parent, os.W_OK | os.X_OK):
        return Closed(real.parent, user(real.stat().st_uid))
    return None


def _allowed(path: Path, how: int) -> bool:
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)
