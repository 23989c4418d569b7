"""Regions for the tests of the shell; every file and process of a test is gone after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shell.region import Site

MakeSite = Callable[..., Site]


@pytest.fixture
def bus_file(tmp_path: Path) -> Path:
    """The bus of the test's regions."""
    return tmp_path / "bus.db"


@pytest.fixture
def make_site(tmp_path: Path, bus_file: Path) -> Iterator[MakeSite]:
    """Make regions on one bus: a name, and configuration by section."""
    sites: list[Site] = []

    def make(name: str, *, folder: str = "", **overrides: Any) -> Site:
        site = Site(tmp_path / (folder or name), bus_file, name, overrides)
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.kill()
        site.writer.close()


@pytest.fixture
def east(make_site: MakeSite) -> Site:
    """A region with the usual configuration."""
    return make_site("east")


@pytest.fixture
def west(make_site: MakeSite) -> Site:
    """Another one."""
    return make_site("west")
