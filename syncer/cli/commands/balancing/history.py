"""``syncer balancer history``: what was recorded of a cluster's load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import ClusterOption
from syncer.cli.commands.balancing.recorded import SinceOption, history_of, since_ms
from syncer.cli.render.output import say
from syncer.cli.session import session_of
from syncer.documents.words import counted

history = typer.Typer(no_args_is_help=True, help="What was recorded of a cluster's load.")
app.add_typer(history, name="history")


@history.callback()
def recorded() -> None:
    """What was recorded of a cluster's load."""


@history.command("show")
def show(
    context: typer.Context,
    cluster: ClusterOption,
    since: SinceOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many changes of owner at most.")] = 50,
) -> None:
    """Show how much was recorded, which bundles changed their broker, and how far predictions of moves were off.

    The active daemon records where the cluster's table has a table 'history'. A bundle that was back at its broker
    between two samples is not seen.
    """
    from syncer.cli.render.load_history import show_load_history
    from syncer.config.clusters import history_file
    from syncer.documents.balancing.history import load_history_document

    session, begin_ms = session_of(context), since_ms(since)
    config = session.config(whole=False)
    with history_of(config, cluster) as reader:
        latest = reader.changes(begin_ms)[: -limit - 1 : -1]
        found = load_history_document(
            cluster, str(history_file(config, cluster)), reader.extent(), latest, reader.outcomes()
        )
    show_load_history(found, session.form)


@history.command("export")
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Parquet file to write; never overwritten.")],
    cluster: ClusterOption,
    since: SinceOption = None,
) -> None:
    """Write the samples as Parquet, a row for each broker and each bundle; needs the packages of snapshots."""
    from syncer.cli.commands.snapshots.steps import bulk
    from syncer.planning.whole_file import whole

    session, begin_ms = session_of(context), since_ms(since)
    config = session.config(whole=False)
    with history_of(config, cluster) as reader:
        with bulk():
            from spark_snapshot.format.load_history import write_load_history

        with whole(file) as target:
            count = write_load_history(target, reader.samples(begin_ms))
    say(f"wrote {file}: {counted(count, 'sample')}")
