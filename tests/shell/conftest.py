"""Regions for the tests of the shell; every file and process of a test is gone after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from syncer.bus.trust.signing import UNSIGNED, Keyring
from tests.shell.region import Site
from tests.support.group_keys import keyring, signing

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


@pytest.fixture(params=["stranger", "member", pytest.param("open", marks=pytest.mark.slow)])
def peer(request: pytest.FixtureRequest) -> str:
    """Who is hostile: one without the key, one with it, or anybody where there is none."""
    return str(request.param)


@pytest.fixture
def mouth(peer: str) -> Keyring:
    """What the hostile one signs with."""
    return keyring("ours") if peer == "member" else UNSIGNED


@pytest.fixture
def regions(peer: str, make_site: MakeSite, tmp_path: Path) -> tuple[Site, Site]:
    """Two honest regions."""
    extra: dict[str, Any] = {} if peer == "open" else {"signing": signing(tmp_path, "ours")}
    return make_site("east", **extra), make_site("west", **extra)
