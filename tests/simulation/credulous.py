"""Breaks of what is believed: a daemon that obeys whatever it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syncer.conflict import folding, rebuilding
from syncer.conflict.acts import Decision
from syncer.conflict.folding import journal
from syncer.model import Region
from syncer.replication import antientropy, generations, membership, rebuild
from syncer.replication.context import Context
from syncer.replication.evidence import Evidence

Patches = Sequence[tuple[Any, str, Any]]


def every_generation_is_believed() -> Patches:
    """A region takes the generation after whatever anybody has heard of it."""

    def believed(context: Context, generation: int, teller: Region) -> bool:
        del context, generation, teller
        return True

    return [(generations, "claim", believed)]


def who_is_said_to_be_forgotten_is_refused() -> Patches:
    """Whoever says so, and however lately it was heard."""
    return [(Evidence, "silent", lambda *_: True)]


def who_is_said_to_be_forgotten_stands_still() -> Patches:
    """The region itself, although it is there."""

    def obeying(context: Context, tx: Any, said: Any, now: Any) -> None:
        if said and context.left_at is None:
            membership._stand_still(context, tx, now, "somebody has forgotten this region's database")

    return [(membership, "_look_at_ours", obeying)]


def a_database_is_given_up_each_time() -> Patches:
    """As often as somebody has events of it that it never gave out."""

    def doubting(context: Context, reason: str) -> None:
        context.talk.lost = context.talk.lost or reason

    return [(rebuild, "_doubt", doubting)]


def the_first_of_two_values_stands() -> Patches:
    """In each region that which came first."""

    def first(settings: Any, register: Any, known: Any, version: Any, *, own: bool) -> Any:
        del settings, known, own
        return register, (journal(register.path, version, Decision.ALARM),)

    return [
        (folding, "_two_values", first),
        (rebuilding, "prevails", lambda *_: False),
        (antientropy, "prevails", lambda *_: False),
    ]
