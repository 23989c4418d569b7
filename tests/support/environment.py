"""The environment of a test that is to take nothing from outside: no setting, no credential."""

from __future__ import annotations

import os

import pytest


def without_settings(monkeypatch: pytest.MonkeyPatch, *further: str) -> None:
    """Take away what the program would read of its environment, until the test ends.

    Args:
        monkeypatch: Puts it back.
        further: Beginnings of names that are to go, too.
    """
    for name in list(os.environ):
        if name.startswith(("SYNCER_", *further)) or name == "CREDENTIALS_DIRECTORY":
            monkeypatch.delenv(name)
