"""``syncer snapshot``: pictures of whole stores, compared, and what they show told to the group."""

from __future__ import annotations

import typer

from syncer.cli import repairs

app = typer.Typer(no_args_is_help=True, help="Snapshots: compare any number of regions, and make them equal.")
repairs.add_to(app)
