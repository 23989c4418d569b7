"""``python -m spark_snapshot take|diff|audit …``: the jobs as a program, and as ``spark-submit`` starts it.

The commands are those of ``syncer snapshot``, and the audit of ledgers in bulk; progress comes as lines of JSON on
stdout unless it is wished otherwise, and the last line says what has become of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __package__ in {None, ""}:  # started as a file, as spark-submit does: its own folder must not hide other modules
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from typing import Annotated

import typer

from spark_snapshot import commands
from syncer.cli.commands.snapshots import snapshot, steps
from syncer.cli.main import DEFAULT_CONFIG, Root
from syncer.cli.render.output import Format
from syncer.cli.session import CommandSession

app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Snapshots of metadata stores, and audits of ledgers, on Spark.",
)


@app.callback()
def root(
    context: typer.Context,
    config: Annotated[
        Path, typer.Option("--config", "-c", envvar="SYNCER_CONFIG", metavar="FILE", help="Configuration of a region.")
    ] = DEFAULT_CONFIG,
    output: Annotated[Format, typer.Option("--output", "-o", help="Form of the result on stdout.")] = Format.JSON,
) -> None:
    """Take the options that hold for every command."""
    context.obj = CommandSession(config_path=config, form=output)
    context.meta[steps.PROGRESS_FORM] = steps.ProgressForm.JSON


app.command("take")(snapshot.take)
app.command("diff")(snapshot.diff)
app.command("prune")(snapshot.prune)
app.add_typer(commands.app, name="audit")


def main() -> None:
    """Run one job."""
    app(prog_name="python -m spark_snapshot")


if __name__ == "__main__":
    main()
