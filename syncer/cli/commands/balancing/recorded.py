"""Recorded: the history of a cluster's load as commands take it, where there is one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.planning_calls import now_ms

if TYPE_CHECKING:
    from syncer.balancer.recording.reading import HistoryReader
    from syncer.config import Config

SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="DURATION", help="Only of so long ago, such as 24h; all if not given.")
]
_MS: Final = timedelta(milliseconds=1)


def since_of(text: str | None) -> timedelta | None:
    """The time that ``--since`` goes back; ``None``: it is not given.

    Raises:
        typer.BadParameter: It is no duration.
    """
    from syncer.config.durations import parse_duration

    if text is None:
        return None
    duration = parse_duration(text)
    if duration is None:
        raise typer.BadParameter(f"{text!r} is no duration such as 30min, 24h or 7d", param_hint="'--since'")
    return duration


def since_ms(text: str | None) -> int:
    """The moment that ``--since`` means; 0 where it is not given.

    Raises:
        typer.BadParameter: It is no duration.
    """
    duration = since_of(text)
    return 0 if duration is None else max(0, now_ms() - duration // _MS)


def history_of(config: Config, cluster: str) -> HistoryReader:
    """Open the history of a cluster.

    Raises:
        NotFound: The configuration has no such table.
        HistoryMissing: Nothing was recorded.
        HistoryForeign: The file is no history of the cluster.
        HistoryUnavailable: It cannot be read.
    """
    from syncer.balancer.recording.reading import HistoryReader
    from syncer.config.clusters import history_file

    return HistoryReader(history_file(config, cluster), cluster)
