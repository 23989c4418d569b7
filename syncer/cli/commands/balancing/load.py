"""``syncer balancer load``: a cluster's load as it is known now, each figure with its source and age."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import ClusterOption, ListenOption
from syncer.cli.session import session_of
from syncer.inspection.balancing.questions import LISTEN_S, LookWish


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

    session = session_of(context)
    found = session.clusters().load(LookWish(table=cluster, listen_s=listen, topics=topics))
    show_load(found, session.form, bundles=bundles)
