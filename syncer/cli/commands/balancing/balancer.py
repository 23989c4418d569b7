"""``syncer balancer``: load of a cluster, what its load balancing does, and what would be better."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Load balancing of a Pulsar cluster, and what would be better.")


@app.callback()
def balancer() -> None:
    """Load balancing of a Pulsar cluster, and what would be better."""
