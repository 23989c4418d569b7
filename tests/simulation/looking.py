"""Operators: what they were shown of a path, and what they ask for by that, at once or much later.

What an operator saw is taken from the history at the moment of the look. Whatever is written after that he has not
seen, whenever his decision is performed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from syncer.conflict.register import Hold, Register
from syncer.conflict.shown import arguments
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Stamp
from syncer.state.contract.conflicts import ConflictRow
from tests.simulation.history import Content, History

if TYPE_CHECKING:
    from tests.simulation.world import Site


@dataclass(frozen=True, slots=True)
class Look:
    """What an operator was shown, and may ask for.

    Args:
        path: Where.
        choices: Operations that he may ask for, each with its arguments.
        stored: Digest of what the store was known to hold.
        lost: Digest of the loser, of a conflict.
        stamp: Of what was held.
        past: Everything that whoever wrote what he was shown had seen, that included.
        known: Stamp of what was known.
        hold: What was held.
    """

    path: MetaPath
    choices: tuple[tuple[str, dict[str, str]], ...]
    stored: Digest | None
    lost: Digest | None = None
    stamp: Stamp | None = None
    past: frozenset[Content] = field(default=frozenset(), repr=False)
    known: Stamp | None = None
    hold: Hold | None = None

    def only(self, kind: str) -> Look:
        """The same look, of somebody who asks for nothing else."""
        chosen = tuple(choice for choice in self.choices if choice[0] == kind)
        return replace(self, choices=chosen)

    def still_so(self, register: Register | None) -> bool:
        """Whether the path is as it was shown: what is known, what stands there, and what is held, if anything was."""
        known = register.known.stamp if register is not None and register.known is not None else None
        stored = register.stored_digest if register is not None else None
        hold = register.hold if register is not None else None
        return (known, stored) == (self.known, self.stored) and (self.hold is None or _same(self.hold, hold))


def looks_at(site: Site, history: History) -> Iterator[Look]:
    """Everything that an operator of a region can look at now, and decide about."""
    tables = site.disk.tables
    for register in tables.registers.values():
        if register.hold is not None:
            yield at_hold(site, history, register, register.hold)
    for row in site.disk.conflicts():
        if row.restored_at_ms is None and (row.value is not None or row.loser_digest is None):
            yield at_conflict(site, history, row)
    yield from (at_event(site, event) for event in tables.future.values())


def at_hold(site: Site, history: History, register: Register, hold: Hold) -> Look:
    """A look at what is held."""
    told = {"path": str(register.path), **arguments(register.shows, hold)}
    refusing = "undo" if hold.local else "reject"
    return Look(
        register.path,
        (("confirm", told), (refusing, told)),
        register.stored_digest,
        stamp=hold.stamp,
        past=_past(site, history, register),
        known=_known(register),
        hold=hold,
    )


def at_conflict(site: Site, history: History, row: ConflictRow) -> Look:
    """A look at a conflict, and at what stands in the place of its loser."""
    register = site.disk.tables.registers.get(row.path) or Register(path=row.path)
    told = {"conflict": str(row.id), "loser": str(row.loser), **arguments(register.shows)}
    past = _past(site, history, register)
    loser = history.named.get((row.path, row.loser))
    if loser is not None:
        past |= _seen_of(site, loser)
    return Look(
        row.path,
        (("restore", told),),
        register.stored_digest,
        lost=row.loser_digest,
        past=past,
        known=_known(register),
    )


def at_event(site: Site, event: MetadataChangeEvent) -> Look:
    """A look at an event from the future."""
    register = site.disk.tables.registers.get(event.path) or Register(path=event.path)
    told = {"path": str(event.path), "stamp": str(event.stamp), **arguments(register.shows)}
    return Look(event.path, (("release", told),), register.stored_digest, stamp=event.stamp, known=_known(register))


def _known(register: Register) -> Stamp | None:
    return register.known.stamp if register.known is not None else None


def _same(shown: Hold, hold: Hold | None) -> bool:
    if hold is None:
        return False
    return (shown.stamp, shown.reason, shown.since_ms) == (hold.stamp, hold.reason, hold.since_ms)


def decide(site: Site, look: Look, rng: Random) -> tuple[int, str]:
    """Ask for one of the choices; the number of the operation, and what it is."""
    kind, told = look.choices[0] if rng.random() < 0.6 else look.choices[-1]
    return site.disk.ask(kind, **told), kind


def _past(site: Site, history: History, register: Register) -> frozenset[Content]:
    """What is seen by who is shown what is known of a path, and what its store is known to hold."""
    known, stored = register.known, register.stored
    stamps = [known.stamp] if known is not None else []
    stamps += [stored.stamp] if stored is not None else []
    seen = [found for stamp in stamps if (found := history.named.get((register.path, stamp))) is not None]
    seen += history.merged(register.path, known) if known is not None else []
    return frozenset().union(*(_seen_of(site, content) for content in seen))


def _seen_of(site: Site, content: Content) -> frozenset[Content]:
    """Of what comes from elsewhere it knows what its author had seen, and nothing that was learned there since."""
    return content.reach() if content.region == site.region else content.past
