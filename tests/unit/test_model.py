"""Names of databases: whoever reads one knows whose it is."""

from __future__ import annotations

import pytest

from syncer.model import Region, database_id, home_of


def test_a_database_is_named_after_its_region() -> None:
    name = database_id("0a1b", Region("east"))
    assert (name, home_of(name)) == ("0a1b@east", "east")


@pytest.mark.parametrize("name", ["", "0a1b", "0a1b@", "@east", "0a-1b@east"])
def test_other_names_show_no_region(name: str) -> None:
    assert home_of(name) is None
