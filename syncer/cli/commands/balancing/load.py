"""``syncer balancer load``: a cluster's load as it is known now, each figure with its source and age."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import LISTEN_S, ClusterOption, ListenOption, picture_of
from syncer.cli.session import log_to_stderr, session_of


@app.command("load")
def load(
    context: typer.Context,
    cluster: ClusterOption,
    bundles: Annotated[bool, typer.Option("--bundles", help="Show the bundles, not the brokers.")] = False,
    topics: Annotated[
        bool, typer.Option("--topics", help="Ask each broker for its topics, too: bundles get figures by them.")
    ] = False,
    listen: ListenOption = LISTEN_S,
) -> None:
    """Show what is known of a cluster's load: brokers, usages, rates, bundles, age and source of each, and findings.

    Nothing is changed. What is not known is shown as '-', in JSON as null, and never as 0.
    """
    from syncer.cli.render.balancer_load import show_load
    from syncer.documents.balancing.load import load_document

    session = session_of(context)
    config = session.config(whole=False)
    log_to_stderr()
    show_load(load_document(picture_of(config, cluster, listen, topics=topics)), session.form, bundles=bundles)
