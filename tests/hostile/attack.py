"""What an attack is, who makes it, and what it aims at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.hostile.cells.columns import Cells

if TYPE_CHECKING:
    from tests.hostile.scene import Scene


class Who(StrEnum):
    """Who attacks, and what the group has against them."""

    ANYBODY = "stranger, no key"
    STRANGER = "stranger"
    MEMBER = "member"
    NAMED = "member, keys per region"
    TENANT = "tenant"
    OPERATOR = "operator, by mistake"
    NEIGHBOUR = "neighbour on the host"


class Topic(StrEnum):
    """What an attack aims at."""

    ENDING = "to end a daemon"
    HEARSAY = "to harm a region by what is said of it"
    BLOCKING = "to hold everything up"
    TENANT = "to end anti-entropy by what a tenant may make"
    VECTORS = "to win by what was never seen"
    CLOCKS = "to win by a clock"
    ROOM = "to fill memory and disk"
    SHOWING = "to deceive who looks"
    ASKING = "to have a region do what nobody wants"
    NAMES = "to speak in the name of another"
    LOSING = "to lose a write"
    SECRETS = "to learn secrets"
    FILES = "to break a command or the HTTP surface"


SPEAKERS = (Who.ANYBODY, Who.STRANGER, Who.MEMBER)
"""Whoever can publish on the topic, in a group without a key and in one with it, and whoever has the key."""
BELIEVED = (Who.ANYBODY, Who.MEMBER)
"""Whoever is taken for the one whom he names."""
EVERYBODY = (*SPEAKERS, Who.NAMED)
"""And a member of a group in which each region has a key of its own: it can speak for itself alone."""

Act = Callable[["Scene"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack.

    Args:
        name: Unique, in words that a line begins with.
        topic: What it aims at.
        what: What is done, for people, in one sentence.
        does: Does it.
        who: Who does it.
        sees: What an operator can see of it, or of its refusal, where its author is believed: waits for that.
        cure: Commands, without the first word ``syncer``, that the operator of ``east`` gives before all is well;
            ``{name}`` stands for the name that the attacker uses.
        remains: What it achieves all the same, for the threat model; empty: nothing but a line in the status.
        renews: A region may begin with a new database, once, or the attack starts a daemon anew.
        apart: It is played in a group of its own: it leaves more behind than one that stays may have.
        fills: The cells of the table of entries that it fills.
    """

    name: str
    topic: Topic
    what: str
    does: Act
    who: tuple[Who, ...] = SPEAKERS
    sees: Act | None = None
    cure: tuple[str, ...] = ()
    remains: str = ""
    renews: bool = False
    apart: bool = False
    fills: Cells = frozenset()
