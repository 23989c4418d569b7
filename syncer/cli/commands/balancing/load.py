"""``syncer balancer load``: a cluster's load as it is known now, each figure with its source and age."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.planning_calls import now_ms
from syncer.cli.session import log_to_stderr, session_of

if TYPE_CHECKING:
    from syncer.balancer.picture import LoadPicture

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
) -> None:
    """Show what is known of a cluster's load: brokers, usages, rates, bundles, age and source of each, and findings.

    Nothing is changed. What is not known is shown as '-', in JSON as null, and never as 0.
    """
    from syncer.balancer.reading.cluster import read_picture
    from syncer.cli.render.balancer_load import show_load
    from syncer.config.admin_clients import load_sources
    from syncer.documents.balancing.load import load_document

    session = session_of(context)
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> LoadPicture:
        async with load_sources(config, cluster, retry_for=RETRY_FOR) as sources:
            return await read_picture(sources, now_ms(), topics=topics)

    show_load(load_document(anyio.run(run)), session.form, bundles=bundles)
