"""Options of the commands that look at a cluster: which one, and for how long it is listened to."""

from __future__ import annotations

from typing import Annotated, Final

import typer

MOST_LISTEN_S: Final = 900
"""A broker that is well reports at least as often. Of a daemon is asked less."""

ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="Name of the cluster's table in the configuration.")
]
ListenOption = Annotated[
    float,
    typer.Option(
        "--listen",
        min=0,
        max=MOST_LISTEN_S,
        metavar="SECONDS",
        help="How long to hear the load topics of the extensible manager, which keep nothing.",
    ),
]
