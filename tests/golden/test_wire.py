"""Messages of a release mean what they meant, ours are written to the byte, and names that others rely on stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden import listings, messages, product
from tests.golden.compatibility import breaking

RELEASES = [each for each in sorted(Path(__file__).parent.iterdir()) if (each / messages.NAME).is_file()]
GROWING = {"tables", "metrics", "errors", "words", "config", "documents", "openapi"}
"""May grow by names that were not there; what was there stays, lists of required fields included."""


@pytest.fixture(params=RELEASES, ids=lambda folder: folder.name)
def release(request: pytest.FixtureRequest) -> Path:
    """A release's folder."""
    return Path(request.param)


def test_every_message_means_what_it_meant(release: Path) -> None:
    for kept in messages.read(release):
        understood = product.unseal(kept.sent.payload, kept.sent.properties, messages.KEYS[kept.keys]).message
        found = json.loads(json.dumps(messages.all_of(understood)))
        assert lost(kept.meaning, found) == [], kept.name


def test_ours_are_written_again_to_the_byte(release: Path) -> None:
    for kept in messages.read(release):
        keys = messages.KEYS[kept.keys]
        understood = product.unseal(kept.sent.payload, kept.sent.properties, keys).message
        if kept.ours:
            assert not isinstance(understood, product.Ignored)
            again = product.sealed(understood, keys)
            assert (again.payload, dict(again.properties)) == (kept.sent.payload, kept.sent.properties), kept.name


@pytest.mark.parametrize("name", sorted(listings.LISTINGS))
def test_names_stay(release: Path, name: str) -> None:
    assert name in GROWING
    before, now = listings.read(release, name), listings.plain(listings.LISTINGS[name])
    assert (breaking if name == "openapi" else lost)(before, now) == []


def lost(before: Any, now: Any, at: str = "") -> list[str]:
    """Where what was there is not there any more, or another one; new names beside it are none of it."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [each for name in before for each in lost(before[name], now.get(name), f"{at}/{name}")]
    if at.endswith("/required") or not (isinstance(before, list) and isinstance(now, list)):
        return [] if before == now else [f"{at}: {before!r} was there, {now!r} is"]
    if all(isinstance(each, str) for each in before):
        return [f"{at}: {each!r} is gone" for each in before if each not in now]
    return [each for one, other in zip(before, now, strict=False) for each in lost(one, other, at)] + [
        f"{at}: {len(before)} were there, {len(now)} are" for _ in [0] if len(now) < len(before)
    ]


def test_a_schema_that_is_drawn_apart_is_the_same_schema() -> None:
    within = {"defs": {"a": {"type": "string"}, "self": {"again": {"$ref": "#/defs/self"}}}}
    assert listings.resolved({"b": [{"$ref": "#/defs/a"}]}, within) == {"b": [{"type": "string"}]}
    assert listings.resolved({"$ref": "#/defs/self"}, within) == {"again": {"$ref": "#/defs/self"}}


def test_what_is_gone_or_another_one_is_found() -> None:
    assert lost({"a": [1], "b": ["x", "y"]}, {"a": [1], "b": ["y", "z", "x"], "c": 1}) == []
    assert lost({"a": {"b": 1}, "c": ["x"]}, {"a": {}, "c": ["z"]}) == ["/a/b: 1 was there, None is", "/c: 'x' is gone"]
