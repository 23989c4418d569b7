"""Options of the commands about ledgers: which cluster, how its store is read, and how brokers open ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.errors import RequestInvalid

if TYPE_CHECKING:
    from syncer.inspection.ledgers.questions import OpeningWish
    from syncer.inspection.ledgers.reading import LedgersWish

ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="Name of the cluster's table in the configuration.")
]
FilesOption = Annotated[
    Path | None,
    typer.Option(
        "--from-files",
        metavar="DIR|FILE",
        help="Read ZooKeeper's folder ('version-2'), a file of 'etcdctl snapshot save', or Parquet, not the store.",
    ),
]
ReadsOption = Annotated[
    int | None,
    typer.Option("--max-reads", min=1, metavar="PER_SECOND", help="Ask the store for so many paths a second at most."),
]
RootOption = Annotated[
    str, typer.Option("--ledgers-root", metavar="PATH", help="Where BookKeeper's own paths begin in the store.")
]
BookiesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="BOOKIE...", help="Ids of bookies, as 'HOST:PORT'.")
]
RackOption = Annotated[
    list[str] | None, typer.Option("--rack", metavar="RACK", help="All bookies of a rack; once for each.")
]
QuorumsOption = Annotated[
    str | None,
    typer.Option(
        "--quorums",
        metavar="E/QW/QA",
        help="Ensemble, write and ack quorum of the brokers, as 3/2/2; those of most open ledgers if not given.",
    ),
]
EnforcedRacksOption = Annotated[
    int | None,
    typer.Option(
        "--enforce-racks", min=1, metavar="COUNT", help="Brokers refuse a write quorum on fewer racks than this."
    ),
]
ROOT: Final = "/ledgers"


def ledgers_wish(
    cluster: str,
    *,
    others: list[str] | None = None,
    files: Path | None = None,
    max_reads: int | None = None,
    root: str = ROOT,
) -> LedgersWish:
    """Make the wish of options.

    Args:
        cluster: Name of the cluster's table.
        others: Other clusters of the same bookies.
        files: Of the store.
        max_reads: Paths a second.
        root: Where BookKeeper's own paths begin.

    Raises:
        typer.BadParameter: The root is no path, or a cluster is there twice.
    """
    from syncer.inspection.ledgers.reading import LedgersWish
    from syncer.paths import checked, fault_of

    fault = fault_of(root)
    if fault is not None or not root.startswith("/") or root == "/":
        raise typer.BadParameter(f"--ledgers-root {root} is no path: {fault or 'it begins with / and names a node'}")
    names = [cluster, *(others or ())]
    if len(set(names)) < len(names):
        raise typer.BadParameter("a cluster is named twice")
    return LedgersWish(
        table=cluster,
        others=tuple(names[1:]),
        root=checked(root),
        max_reads_per_s=max_reads,
        files=None if files is None else files.absolute(),
    )


def opening_wish(quorums: str | None, racks: int | None) -> OpeningWish:
    """Make the wish of how brokers open ledgers.

    Args:
        quorums: ``E/QW/QA``.
        racks: That are enforced.

    Raises:
        typer.BadParameter: The quorums are none.
    """
    from syncer.inspection.ledgers.questions import opening_wish_of

    try:
        return opening_wish_of(quorums, racks)
    except RequestInvalid as exc:
        raise typer.BadParameter(exc.message) from exc
