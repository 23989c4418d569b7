"""How a delete is accounted for: it carries no token, so its fate is told by what was written, and said, after it.

A region's store takes writes one after the other; its daemon reads it now and then. A delete is

    the winner       the path is gone everywhere
    replaced         the next value in that store was put there by somebody who found the path gone;
                     or a change on the bus has seen its event, and its author had found the path gone
    in conflict      its event stands in a conflict record
    one with         another region's delete that neither author could know of: two equal values at once are one, and
                     the fate of either is that of both
    unread           what it deleted had come and gone between two reads: nobody was told of either

and otherwise lost. The same holds for each delete on the bus, whoever's write it was: several deletes between two reads
are one there.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from syncer.model import MetadataChangeEvent, MetaPath
from tests.faults.case import Case, saw
from tests.faults.record import Answer, Write


class Fate(StrEnum):
    """What became of a delete; the words are those of the report."""

    WINNER = "winner"
    REPLACED = "replaced by who saw it"
    IN_CONFLICT = "in a conflict record"
    ONE_WITH = "one with a delete elsewhere"
    UNREAD = "came and went unread"


def fate_of(case: Case, delete: Write) -> Fate | None:
    """What became of a delete that its store has acknowledged; ``None``: it was undone by nobody who knew of it."""
    path = delete.path
    if set(case.final[path].values()) == {None}:
        return Fate.WINNER
    if _put_next(case, delete) is not None:
        return Fate.REPLACED
    base = _base(case, delete)
    if base is None:
        return Fate.UNREAD
    found = None
    for event in _ones(case, delete, base):
        if _recorded(case, event):
            fate = Fate.IN_CONFLICT
        elif _replaced_knowingly(case, event):
            fate = Fate.REPLACED
        else:
            continue
        if event.stamp.region == delete.region:
            return fate
        found = Fate.ONE_WITH
    return found


def undone(case: Case, path: MetaPath) -> Iterator[MetadataChangeEvent]:
    """Deletes on the bus that are not the winner, and were undone by nobody who knew of them."""
    if set(case.final[path].values()) == {None}:
        return
    deletes = [event for event in case.changes.get(path, {}).values() if event.value is None]
    known = {event.stamp for event in deletes if _recorded(case, event) or _replaced_knowingly(case, event)}
    for event in deletes:
        ones = (each for each in deletes if not saw(each.seen, event) and not saw(event.seen, each))
        if event.stamp not in known and not any(each.stamp in known for each in ones):
            yield event


def _recorded(case: Case, delete: MetadataChangeEvent) -> bool:
    return any(row.was_delete and row.loser == delete.stamp for row in case.kept[delete.path])


def _put_next(case: Case, delete: Write) -> Write | None:
    """The next value in that store, if an outside writer put it there who had found the path gone.

    Not if the store is known to have held something in between: then a daemon had written, and that writer had found
    what somebody else's delete left.
    """
    here = [each for each in case.writes[delete.path] if each.region == delete.region]
    puts = [
        each
        for each in here
        if each.token not in {None, delete.over}
        and each.over is None
        and each.sent_at_ms >= delete.sent_at_ms
        and case.took_place(each)
    ]
    first = min(puts, key=lambda each: each.sent_at_ms, default=None)
    if first is not None and any(each.answered_at_ms <= first.sent_at_ms for each in _over_others(here, delete)):
        return None
    return first


def _over_others(here: list[Write], delete: Write) -> Iterator[Write]:
    """Writes that replaced a value in that store, and certainly after the delete: it held that value again."""
    return (
        each
        for each in here
        if each.answer is Answer.ACKNOWLEDGED
        and each.over is not None
        and each.over_known
        and each.sent_at_ms > delete.answered_at_ms  # within one millisecond it may be the delete itself
    )


def _base(case: Case, delete: Write) -> MetadataChangeEvent | None:
    """What the path held before, as its region's daemon knew it; ``None``: nothing, all came and went unread."""
    step: Write | None = delete
    while step is not None and step.over is not None:
        if (event := case.change_of.get((step.path, step.over))) is not None:
            return event
        step = case.put_of.get((step.path, step.over))
    return None


def _ones(case: Case, delete: Write, base: MetadataChangeEvent) -> Iterator[MetadataChangeEvent]:
    """Deletes on the bus that this one may be: its own, and those that it is one with.

    Its own author had seen what it removed. Who finds gone what is known to be gone has nothing to tell: then it is one
    with another region's. Not with one that its author had seen, which is older; nor with one whose author had seen
    what stood in this very store after it, which is younger.
    """
    path = delete.path
    here = [each for each in case.writes[path] if each.region == delete.region]
    after = [case.change_of.get((path, each.over)) for each in _over_others(here, delete) if each.over is not None]
    for event in case.changes.get(path, {}).values():
        older = saw(base.seen, event) or (event.stamp.region == delete.region and not saw(event.seen, base))
        younger = any(value is not None and saw(event.seen, value) for value in after)
        if event.value is None and not older and not younger:
            yield event


def _replaced_knowingly(case: Case, delete: MetadataChangeEvent) -> bool:
    """Whether somebody put a value where this delete had been applied, and what was told of that value says so."""
    gone_at = _struck_at(case, delete)
    for put in case.writes[delete.path]:
        if put.token is not None and put.over is None and put.read_at_ms >= gone_at and case.took_place(put):
            told = _told_of(case, put)
            if told is not None and saw(told.seen, delete):
                return True
    return False


def _struck_at(case: Case, event: MetadataChangeEvent) -> int:
    """Before this nobody can have found the path gone because of a delete: when its author's delete was sent at first.

    Its author had seen what that delete removed, as far as the region's daemon ever knew it.
    """
    here = [each for each in case.possible(event.path) if each.token is None and each.region == event.stamp.region]
    own = [each for each in here if (base := _base(case, each)) is None or saw(event.seen, base)]
    return min(each.sent_at_ms for each in own or here) if here else event.stamp.updated_at_ms


def _told_of(case: Case, put: Write) -> MetadataChangeEvent | None:
    """The change on the bus that carries a put: its own, or that of what replaced it there before it was read."""
    path, steps = put.path, [put]
    for step in steps:
        if step.token is None:
            continue
        if (event := case.change_of.get((path, step.token))) is not None:
            return event
        steps += [
            each
            for each in case.writes[path]
            if each.over == step.token and each.region == step.region and each not in steps and case.took_place(each)
        ]
    return None
