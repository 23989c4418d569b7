"""``syncer balancer doctor``: whatever hinders a cluster's load balancing, each finding with evidence and remedy."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import ClusterOption, ListenOption
from syncer.cli.session import session_of
from syncer.inspection.balancing.questions import LISTEN_S, HistoryPart, LookWish


@app.command("doctor")
def doctor(
    context: typer.Context,
    cluster: ClusterOption,
    topics: Annotated[
        bool, typer.Option("--topics", help="Ask each broker for its topics, too: hot ones are found by them.")
    ] = False,
    listen: ListenOption = LISTEN_S,
) -> None:
    """Find settings that fight, thresholds that cannot fire, stale reports and more, each with evidence and remedy.

    Nothing is changed. What cannot be judged is said, with the reason. Bundles that come and go are found by the
    history of load, where the daemon records one.
    """
    from syncer.cli.render.balancer_doctor import show_doctor

    session = session_of(context)
    wish = LookWish(
        table=cluster, listen_s=listen, topics=topics, properties=True, names=True, history=HistoryPart.CHANGES
    )
    show_doctor(session.clusters().doctor(wish), session.form)
