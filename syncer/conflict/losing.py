"""Losing: a store holds nothing any more at a path, and nobody has decided that.

So brokers delete the policies of a topic with the topic, in their cluster alone, and by themselves where nobody uses
it. Nothing is published and no conflict is kept by that: the group's value lives on, and is due here until the store
takes it again.
"""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import Act, Decision, FillConflict, Journal, Outcome
from syncer.conflict.changeover import NEWEST, ProjectionsInUse
from syncer.conflict.completing import completes
from syncer.conflict.folding import overtaken
from syncer.conflict.register import HoldReason, Register
from syncer.paths import kind_at
from syncer.replacing import replace
from syncer.stores.contract import Entry

LOST: Final = "nothing stands here any more, and nobody has removed it: what the group has is due again"


def lost(register: Register, last: Entry | None, projections: ProjectionsInUse = NEWEST) -> Outcome:
    """Take an absence that nobody has decided: of the store nothing is known any more.

    The value that stood there is kept, where it is the one that this region knows it by: no other may have it.

    Args:
        register: The path's register; where a write is open, what became of that is found out first.
        last: What stood there last, as far as is known.
        projections: Those in use.
    """
    stands, known, path = register.stored, register.known, register.path
    if stands is None or stands.digest is None or register.intent is not None:
        return Outcome(register)
    acts: tuple[Act, ...] = ()
    if last is not None and last.revision == stands.revision:
        value = projections.shown(kind_at(path), completes(register, last.value))
        acts = (FillConflict(path=path, digest=stands.digest, value=value),)
        if known is not None and known.digest == stands.digest and known.value is None:
            known = replace(known, value=value)
    hold = register.hold
    if hold is not None and hold.reason is HoldReason.FIRST_CONTACT:
        hold = None  # what was found here first is found no more
    left = replace(register.without_wish(), known=known, stored=None, kept=None, hold=hold)
    note = Journal(path=path, decision=Decision.IGNORED, stamp=stands.stamp, digest=stands.digest, detail=LOST)
    return Outcome(left, (*acts, note, *overtaken(register, left)))
