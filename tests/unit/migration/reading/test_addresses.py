"""Addresses at which somebody answers, and those at which nobody does, with the reason."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from syncer.migration.evidence import ClusterUrls
from syncer.migration.reading.addresses import dead_addresses

pytestmark = pytest.mark.anyio


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def dead() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


async def test_only_addresses_where_nobody_answers_are_named(listening: str, dead: str) -> None:
    urls = ClusterUrls(
        http=f"http://{listening}", pulsar=f"pulsar://{listening},{dead}", pulsar_ssl=f"pulsar+ssl://{dead}"
    )
    found = await dead_addresses(urls)
    assert sorted(found) == sorted([f"pulsar://{dead}", f"pulsar+ssl://{dead}"])
    assert all("connection refused" in cause for cause in found.values())


async def test_names_that_cannot_be_looked_up_are_told_as_such() -> None:
    (cause,) = (await dead_addresses(ClusterUrls(pulsar=f"pulsar://{'a' * 64}.invalid:1"))).values()
    assert cause


async def test_a_host_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    async def never(host: str, port: int) -> None:
        assert (host, port) == ("green", 6650)
        await anyio.sleep_forever()

    monkeypatch.setattr(anyio, "connect_tcp", never)
    assert await dead_addresses(ClusterUrls(pulsar="pulsar://green"), within_s=0.01) == {
        "pulsar://green": "no answer in time"
    }
