"""The program's version, as it is installed; it is read only where it is told."""

from __future__ import annotations

import importlib.metadata
from typing import Final

DISTRIBUTION: Final = "pulsar-syncer"


def version() -> str:
    """Version of the installed program."""
    return importlib.metadata.version(DISTRIBUTION)


def made_by() -> str:
    """Program and version, as files that it makes name their maker."""
    return f"{DISTRIBUTION} {version()}"
