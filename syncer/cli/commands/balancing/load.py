"""``syncer balancer load``: a cluster's load as it is known now, each figure with its source and age."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.planning_calls import now_ms
from syncer.cli.session import log_to_stderr, session_of

if TYPE_CHECKING:
    from syncer.balancer.decoding.records import LoadRecords
    from syncer.balancer.picture import LoadPicture
    from syncer.config import Config

MOST_LISTEN_S: Final = 900
"""A broker that is well reports at least as often."""
RETRY_FOR: Final = timedelta(seconds=2)
"""How long a broker that does not answer is asked again: an operator waits for it."""


@app.command("load")
def load(
    context: typer.Context,
    cluster: Annotated[str, typer.Option("--cluster", metavar="NAME", help="A table [cluster.NAME].")],
    bundles: Annotated[bool, typer.Option("--bundles", help="Show the bundles, not the brokers.")] = False,
    topics: Annotated[
        bool, typer.Option("--topics", help="Ask each broker for its topics, too: bundles get figures by them.")
    ] = False,
    listen: Annotated[
        float,
        typer.Option(
            "--listen",
            min=0,
            max=MOST_LISTEN_S,
            metavar="SECONDS",
            help="How long to hear the load topics of the extensible manager, which keep nothing.",
        ),
    ] = 5.0,
) -> None:
    """Show what is known of a cluster's load: brokers, usages, rates, bundles, age and source of each, and findings.

    Nothing is changed. What is not known is shown as '-', in JSON as null, and never as 0.
    """
    from syncer.balancer.picture import LoadManager
    from syncer.balancer.reading.cluster import read_picture
    from syncer.cli.render.balancer_load import show_load
    from syncer.config.admin_clients import load_sources
    from syncer.documents.balancing.load import load_document

    session = session_of(context)
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> LoadPicture:
        async with load_sources(config, cluster, retry_for=RETRY_FOR) as sources:
            picture = await read_picture(sources, now_ms(), topics=topics)
            if picture.manager is not LoadManager.EXTENSIBLE or not listen:
                return picture
            heard = replace(sources, records=await _heard(config, cluster, listen))
            return await read_picture(heard, now_ms(), topics=topics)

    show_load(load_document(anyio.run(run)), session.form, bundles=bundles)


async def _heard(config: Config, cluster: str, listen_s: float) -> LoadRecords:
    """Hear the load topics of a cluster for a while."""
    from syncer.balancer.reading.listener import listener_to
    from syncer.config.admin_clients import cluster_access

    settings, urls = cluster_access(config, cluster)
    async with listener_to(urls.pulsar or urls.pulsar_ssl, settings) as listener:
        await anyio.sleep(listen_s)
        return await listener.heard()
