"""Looking: the picture of a cluster that all commands of the balancer begin with.

The load topics of the extensible manager keep nothing: who wants to know what its brokers report has to hear them for a
while. The modular manager's reports lie in the store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.planning_calls import now_ms

if TYPE_CHECKING:
    from syncer.balancer.decoding.records import LoadRecords
    from syncer.balancer.picture import LoadPicture
    from syncer.balancer.reading.cluster import LoadSources
    from syncer.config import Config

MOST_LISTEN_S: Final = 900
"""A broker that is well reports at least as often."""
LISTEN_S: Final = 5.0
RETRY_FOR: Final = timedelta(seconds=2)
"""How long a broker that does not answer is asked again: an operator waits for it."""

ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="Name of the cluster's table in the configuration.")
]
ListenOption = Annotated[
    float,
    typer.Option(
        "--listen",
        min=0,
        max=MOST_LISTEN_S,
        metavar="SECONDS",
        help="How long to hear the load topics of the extensible manager, which keep nothing.",
    ),
]


@asynccontextmanager
async def looking(
    config: Config, cluster: str, listen_s: float, *, topics: bool = False
) -> AsyncIterator[tuple[LoadPicture, LoadSources]]:
    """Look at a cluster; its sources stay open until left.

    Args:
        config: Of the region.
        cluster: A table of it.
        listen_s: How long the load topics of the extensible manager are heard.
        topics: Each broker is asked for its topics, too.

    Raises:
        NotFound: There is no such table.
        ConfigError: Its files cannot be used.
    """
    from syncer.balancer.picture import LoadManager
    from syncer.balancer.reading.cluster import owners_in_store, read_picture
    from syncer.config.admin_clients import load_sources

    async with load_sources(config, cluster, retry_for=RETRY_FOR) as unheard:
        sources, picture = unheard, await read_picture(unheard, now_ms(), topics=topics, ask=not listen_s)
        if picture.manager is LoadManager.EXTENSIBLE and listen_s:
            channel = not owners_in_store(picture)
            sources = replace(unheard, records=await _heard(config, cluster, listen_s, channel=channel))
            picture = await read_picture(sources, now_ms(), topics=topics)
        yield picture, sources


def picture_of(config: Config, cluster: str, listen_s: float, *, topics: bool = False) -> LoadPicture:
    """Look at a cluster, and take its picture alone; see :func:`looking`."""

    async def run() -> LoadPicture:
        async with looking(config, cluster, listen_s, topics=topics) as (picture, _):
            return picture

    return anyio.run(run)


async def _heard(config: Config, cluster: str, listen_s: float, *, channel: bool) -> LoadRecords:
    """Hear the load topics of a cluster for a while, and its channel where owners are told there."""
    from syncer.balancer.reading.listener import listener_to
    from syncer.config.admin_clients import cluster_access

    settings, urls = cluster_access(config, cluster)
    async with listener_to(urls.pulsar or urls.pulsar_ssl, settings, channel=channel) as listener:
        await anyio.sleep(listen_s)
        return await listener.heard()
