"""Attacks on the routes of the HTTP surface by programs on the host."""

from __future__ import annotations

from typing import Final

from tests.hostile.attack import Attack, Topic, Who
from tests.hostile.cells.columns import cost, forged, lie, replay
from tests.hostile.cells.routes import CHANGING, GUARDED, OPEN
from tests.hostile.surface import ask_again, ask_all_at_once, ask_for_nonsense, ask_without_right

BY_ROUTES: Final[tuple[Attack, ...]] = (
    Attack(
        name="every route without a right to it",
        topic=Topic.FILES,
        what="Each route asked with nothing, a wrong secret, half a token, another scheme, and by who may only read.",
        does=ask_without_right,
        who=(Who.NEIGHBOUR,),
        remains="A browser shows a client certificate by itself: where api.tls.client_ca is set, a page that its owner "
        "looks at can send a plan of moves, a migration or a sync.",
        fills=forged(*GUARDED),
    ),
    Attack(
        name="every route asked for nonsense",
        topic=Topic.FILES,
        what="Each route asked, with all rights, by odd paths, queries, bodies, types and looks that never were.",
        does=ask_for_nonsense,
        who=(Who.NEIGHBOUR,),
        fills=lie(*GUARDED, *OPEN),
    ),
    Attack(
        name="every change asked for again",
        topic=Topic.FILES,
        what="Each change asked for twice with one key, then once more with that key and another wish.",
        does=ask_again,
        who=(Who.NEIGHBOUR,),
        apart=True,
        fills=replay(*CHANGING),
    ),
    Attack(
        name="every route at once",
        topic=Topic.FILES,
        what="Each route that shows asked five times by twelve at a time, each that changes with a body of a terabyte.",
        does=ask_all_at_once,
        who=(Who.NEIGHBOUR,),
        remains="A plan that a good token sends within the bound of bytes takes up to 300 bytes of memory for each "
        "byte of empty lists (move-runs, migrations).",
        fills=cost(*GUARDED, *OPEN),
    ),
)
