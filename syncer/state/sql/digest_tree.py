"""The digest tree in the database: pages of sums, and a log of what was added since they were written."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, func, insert, select

from syncer.state.contract.tree import KeptTree
from syncer.state.sql.statements import upserting
from syncer.state.sql.tables import tree, tree_log, tree_pages


def read(connection: Connection) -> KeptTree:
    """All of it."""
    facts = connection.execute(select(tree.c.label, tree.c.number)).first()
    label, number = facts if facts is not None else ("", 0)
    pages = connection.execute(select(tree_pages.c.page, tree_pages.c.sums))
    log = connection.execute(select(tree_log.c.number, tree_log.c.changes).order_by(tree_log.c.number)).all()
    return KeptTree(
        label=label,
        number=log[-1].number if log else number,
        pages={row.page: row.sums for row in pages},
        log=[row.changes for row in log],
    )


def last_number(connection: Connection) -> int:
    """Number of the last row that was ever written into the log."""
    last = select(func.max(tree_log.c.number)).scalar_subquery()
    kept = select(tree.c.number).scalar_subquery()
    return int(connection.execute(select(func.coalesce(last, kept, 0))).scalar_one())


def replace_all(connection: Connection, label: str, number: int, pages: Mapping[int, bytes]) -> None:
    """Replace label and pages, and forget the log; ``number`` is that of its last row."""
    connection.execute(delete(tree_log))
    connection.execute(delete(tree_pages))
    if pages:
        connection.execute(insert(tree_pages), [{"page": page, "sums": sums} for page, sums in pages.items()])
    connection.execute(upserting(connection.dialect, tree), {"one": 1, "label": label, "number": number})
