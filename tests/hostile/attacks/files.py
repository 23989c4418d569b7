"""Attacks by files that are handed to commands and daemons."""

from __future__ import annotations

from typing import Final

from tests.hostile.attack import Attack, Topic, Who
from tests.hostile.cells import rows
from tests.hostile.cells.columns import cost, forged, lie, replay
from tests.hostile.handed import files_that_lie, files_used_again, files_without_end, secrets_of_others

_HANDED: Final = (
    *rows.MANIFESTS,
    rows.CONFIGURATION,
    rows.PLAN,
    rows.REPAIR,
    rows.MIGRATION,
    rows.MOVES,
    rows.BACKUPS,
    rows.SNAPSHOTS,
)
"""Files that say what is to be done, or what was."""

BY_FILES: Final[tuple[Attack, ...]] = (
    Attack(
        name="files without end",
        topic=Topic.FILES,
        what="Pipes, /dev/zero, files of 8 TiB and 100,000 brackets in the place of each file that a command reads.",
        does=files_without_end,
        who=(Who.NEIGHBOUR,),
        fills=cost(
            *_HANDED,
            rows.SECRET,
            rows.SIGNING,
            rows.OAUTH,
            rows.RIGHTS,
            rows.TEMPLATE,
            rows.CONTEXTS,
            rows.CREDENTIALS,
        ),
    ),
    Attack(
        name="files that lie",
        topic=Topic.FILES,
        what="Plans, repair plans and manifests that are sealed, and of another region, store, place, time or size.",
        does=files_that_lie,
        who=(Who.NEIGHBOUR,),
        fills=lie(*_HANDED),
    ),
    Attack(
        name="files that are used again",
        topic=Topic.LOSING,
        what="A plan from a backup and a repair plan are used once more, after people have gone on.",
        does=files_used_again,
        who=(Who.NEIGHBOUR,),
        fills=replay(rows.PLAN, rows.REPAIR),
    ),
    Attack(
        name="secrets that others may read",
        topic=Topic.SECRETS,
        what="Keys, tokens and contexts that other users of the host may read or write.",
        does=secrets_of_others,
        who=(Who.NEIGHBOUR,),
        fills=forged(rows.SIGNING, rows.RIGHTS, rows.CONTEXTS),
    ),
)
