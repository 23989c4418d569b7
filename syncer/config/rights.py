"""Files of the configuration that this user may not read: whose they are."""

from __future__ import annotations

from pathlib import Path

from syncer import ownership
from syncer.errors import ConfigDenied, ConfigError


def unreadable(what: str, path: Path, exc: OSError) -> ConfigError:
    """The error of a file that the configuration is, or names, and that cannot be read.

    Args:
        what: What it is, before its name.
        path: The file, or the directory.
        exc: What the system says.
    """
    message = f"{what} {path} cannot be read: {exc.strerror or exc}"
    found = ownership.closed(path) if isinstance(exc, PermissionError) else None
    if found is None:
        return ConfigError(message, hint="Name a file that is there, and that the user of this command may read.")
    return ConfigDenied(f"{message}; {found.place} belongs to user {found.owner}", owner=found.owner)
