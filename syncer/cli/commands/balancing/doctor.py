"""``syncer balancer doctor``: whatever hinders a cluster's load balancing, each finding with evidence and remedy."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import LISTEN_S, ClusterOption, ListenOption, looking
from syncer.cli.session import log_to_stderr, session_of


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

    Nothing is changed. What cannot be judged is said, with the reason.
    """
    from syncer.balancer.doctor.case import Case
    from syncer.balancer.doctor.checkup import checkup
    from syncer.balancer.reading.properties import read_properties
    from syncer.cli.render.balancer_doctor import show_doctor
    from syncer.documents.balancing.doctor import doctor_document

    session = session_of(context)
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> Case:
        async with looking(config, cluster, listen, topics=topics) as (picture, sources):
            properties = await read_properties(sources.calls, picture.registered, picture.taken_ms)
            return Case(picture=picture, properties=properties)

    case = anyio.run(run)
    show_doctor(doctor_document(case.picture, checkup(case)), session.form)
