"""Proposals of operations: shown before the daemon is asked for them, and asked for by what was shown.

A proposal says what it is about, what it would lead to, and which operations it asks for. Its stamp changes with all
that was looked up for it: who agrees to one stamp agrees to nothing else. The command line asks at the terminal in
between; over HTTP the stamp is the ETag that is shown, and the ``If-Match`` that comes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from syncer.bus.wire.fields import is_name
from syncer.conflict.shown import HOLDS
from syncer.documents.words import counted, stamped, with_times
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Millis, Region
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.operations.decisions import HeldChange, every_event, every_hold, held_at, in_order, joining, lost_in

if TYPE_CHECKING:
    from syncer.documents.regions import FirstContactPlan
    from syncer.model import MetaPath
    from syncer.state.views.region import Views

LEAVE: Final = "The third choice is to leave it: it goes on waiting, and everything else goes on without it."

_SHOWN: Final = 50
"""Characters of a name that an error shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionProposal:
    """What would be asked of the daemon.

    Args:
        target: What it is about, in a word: a path, a region, a number.
        words: What it would lead to, a sentence each; none where nobody need be asked.
        requests: What is asked for.
        seen: What else was looked up, and would be agreed to.
    """

    target: str
    words: tuple[str, ...] = ()
    requests: tuple[OperationRequest, ...]
    seen: tuple[int, ...] = ()

    @property
    def stamp(self) -> str:
        """Of all that was looked up for it; the same for whatever is decided about the same things as they are."""
        shown = [sorted(each.arguments.items()) for each in self.requests]
        return hashlib.sha256(orjson.dumps([shown, self.seen])).hexdigest()[:32]


# -- holds


def held_changes(views: Views, only: str = "") -> list[HeldChange]:
    """Every change that waits for an operator, or every one that waits for that reason.

    Raises:
        NotFound: There is none.
    """
    held = [each for each in in_order(every_hold(views), every_event(views)) if only in {"", each.reason}]
    if not held:
        what = f"with reason {only!r}" if only else "at all"
        raise NotFound(f"nothing is held {what}", hint="See 'syncer holds list'.")
    return held


def held_change(views: Views, path: MetaPath, stamp: str = "") -> HeldChange:
    """The change that waits at a path; with a stamp, only if it is that one.

    Raises:
        NotFound: Nothing waits there.
        PreconditionFailed: Another change does.
    """
    found = held_at(views, path)
    if found is None:
        raise NotFound(f"nothing is held at {path}", hint="See 'syncer holds list'.")
    check_held(path, stamp, str(found.stamp), found.reason)
    return found


def check_held(path: str, wanted: str, stamp: str, reason: str) -> None:
    """Check that a change that is held is the one that is wanted.

    Args:
        path: Where.
        wanted: Its stamp, in either form; empty: whichever is held.
        stamp: Of the change that is held.
        reason: Why it is.

    Raises:
        PreconditionFailed: Another one is held.
    """
    if wanted not in {"", stamp, stamped(stamp)}:
        raise PreconditionFailed(
            f"{path}: another change is held now ({stamped(stamp)}, {reason}) than {with_times(wanted)}", hint=HOLDS
        )


def confirming(held: Sequence[HeldChange], target: str) -> DecisionProposal:
    """Let held changes pass."""
    return DecisionProposal(
        target=target,
        words=(f"{_many(held)} would pass the guards. {LEAVE}",),
        requests=tuple(each.confirming for each in held),
    )


def rejecting(held: Sequence[HeldChange], target: str) -> DecisionProposal:
    """Refuse held changes."""
    leads_to = {
        "write": "OUR value would win EVERYWHERE: it would get a newer stamp and replace theirs in every region.",
        "publication": "The local delete would be taken back: the value fetched from a peer, and written here again.",
        "event": "The event from the future would be dropped here. A region that knows what it says would tell it "
        "again: correct that region's clock.",
    }
    waiting = {each.waits for each in held}
    words = (f"{_many(held)} would be rejected.", *(leads_to[each] for each in leads_to if each in waiting), LEAVE)
    return DecisionProposal(target=target, words=words, requests=tuple(each.refusing for each in held))


def _many(held: Sequence[HeldChange]) -> str:
    if len(held) > 1:
        return f"{len(held)} held changes"
    (each,) = held
    stored = "nothing" if each.shown.digest is None else stamped(each.shown.stored)
    return f"{each.path} ({stamped(each.stamp)}, {each.reason}; last known in the store here: {stored})"


# -- conflicts and quarantine


def restoring(views: Views, number: int, over: str = "") -> DecisionProposal:
    """Make the loser of a conflict the newest; with a stamp, only over that change.

    Raises:
        NotFound: There is no such conflict.
        PreconditionFailed: Another change is the newest.
    """
    lost = lost_in(views, number)
    row, known = lost.row, str(lost.shown.known) if lost.shown.known is not None else None
    check_newest(row.path, number, over, known)
    words = words_of_restoring(row.path, str(row.loser), known, deleted=row.loser_digest is None)
    return DecisionProposal(target=row.path, words=(words,), requests=(lost.restoring,))


def check_newest(path: str, number: int, wanted: str, known: str | None) -> None:
    """Check that the newest change of a path is the one that is to be replaced.

    Args:
        path: Where.
        number: Of the conflict.
        wanted: Stamp of the change, in either form; empty: whichever is the newest.
        known: Stamp of the newest one.

    Raises:
        PreconditionFailed: Another one is the newest.
    """
    if wanted not in {"", str(known), stamped(known)}:
        raise PreconditionFailed(
            f"{path}: the newest change is {stamped(known)} now, and not {with_times(wanted)}",
            hint=f"Look at it again with 'syncer conflicts show {number}'.",
        )


def words_of_restoring(path: str, loser: str, known: str | None, *, deleted: bool) -> str:
    """The words of making a loser the newest, by the stamps of both."""
    what = "the delete" if deleted else "the value"
    return (
        f"{what} of {stamped(loser)} would become the newest, and replace {path} in every region:"
        f" {stamped(known)} is the newest now."
    )


def forgetting_conflict(views: Views, number: int) -> DecisionProposal:
    """Forget what lost in one conflict.

    Raises:
        NotFound: There is no such conflict.
    """
    row = lost_in(views, number).row
    return DecisionProposal(
        target=row.path,
        words=(words_of_discarding(str(row.loser)),),
        requests=(OperationRequest(OperationKind.CONFLICTS_DISCARD, {"conflict": str(number)}),),
    )


def words_of_discarding(loser: str) -> str:
    """The words of forgetting what lost, by its stamp."""
    return f"The value of {stamped(loser)}, which lost, would be forgotten here."


def forgetting_conflicts_of(views: Views, region: str) -> DecisionProposal:
    """Forget all that a region has lost.

    Raises:
        NotFound: It has lost nothing.
    """
    count, last = views.lost_by(Region(region))
    if not count:
        raise NotFound(f"no value of {region} has lost", hint="See 'syncer conflicts list --all'.")
    return DecisionProposal(
        target=region,
        words=(f"{counted(count, 'value')} of {region} that lost, up to conflict {last}, would be forgotten here.",),
        requests=(OperationRequest(OperationKind.CONFLICTS_DISCARD, {"by": region, "until": str(last)}),),
    )


def retrying(views: Views, number: int) -> DecisionProposal:
    """Handle an entry of the quarantine again.

    Raises:
        NotFound: There is no such entry.
    """
    return _of_entry(views, number, OperationKind.QUARANTINE_RETRY, ())


def throwing_away(views: Views, number: int) -> DecisionProposal:
    """Throw an entry of the quarantine away.

    Raises:
        NotFound: There is no such entry.
    """
    return _of_entry(views, number, OperationKind.QUARANTINE_DISCARD, (words_of_throwing_away(number),))


def words_of_throwing_away(number: int) -> str:
    """The words of throwing an entry away."""
    return f"Entry {number} would be thrown away, and what it said be lost here."


def _of_entry(views: Views, number: int, kind: OperationKind, words: tuple[str, ...]) -> DecisionProposal:
    if views.dead_letter(number) is None:
        raise NotFound(f"nothing is quarantined as {number}", hint="See 'syncer quarantine list'.")
    return DecisionProposal(target=str(number), words=words, requests=(OperationRequest(kind, {"id": str(number)}),))


# -- the region and its group


def pausing(*, everywhere: bool) -> DecisionProposal:
    """Stop writing and publishing."""
    words = ("Every region would stop writing and publishing until it is resumed.",) if everywhere else ()
    return _switch(OperationKind.PAUSE, words, everywhere=everywhere)


def resuming(*, everywhere: bool) -> DecisionProposal:
    """Go on writing and publishing."""
    return _switch(OperationKind.RESUME, (), everywhere=everywhere)


def _switch(kind: OperationKind, words: tuple[str, ...], *, everywhere: bool) -> DecisionProposal:
    request = OperationRequest(kind, {"everywhere": str(everywhere).lower()})
    return DecisionProposal(target="everywhere" if everywhere else "this region", words=words, requests=(request,))


def taking_part(region: str, plan: FirstContactPlan) -> DecisionProposal:
    """Let a new region take part, or let all pass that first contact holds."""
    giving_way = plan.replaced + plan.deleted
    words = (
        f"{region} would take part: write {counted(plan.created, 'value')} and send {plan.sent};"
        f" {giving_way} would be held."
        if plan.waits
        else f"{counted(giving_way, 'value')} of {region} would give way to the group's."
    )
    until = Millis(plan.until_ms) if plan.until_ms is not None else None
    seen = (plan.created, plan.replaced, plan.deleted)
    return DecisionProposal(target=region, words=(words,), requests=(joining(until),), seen=seen)


def leaving(region: str, *, force: bool) -> DecisionProposal:
    """Take this region out of the group."""
    words = (
        f"{region} would stand still, and the group forget deletes without it. That cannot be taken back: it could "
        "only come back as a new member, with a new sidecar database under another region id."
    )
    request = OperationRequest(OperationKind.REGIONS_LEAVE, {"force": str(force).lower()})
    return DecisionProposal(target=region, words=(words,), requests=(request,))


def _checked_name(region: str) -> str:
    """Return what names a region or a database.

    Raises:
        PreconditionFailed: No region and no database can have this name: every member would refuse the request.
    """
    if not is_name(region):
        raise PreconditionFailed(
            f"{region[:_SHOWN]!a} can be the name of no region and of no database",
            hint="See 'syncer regions list', or GET /api/v1/regions, for the names that there are.",
        )
    return region


def forgetting_region(region: str, *, force: bool) -> DecisionProposal:
    """Wait no longer for a region.

    Raises:
        PreconditionFailed: No region and no database can have this name.
    """
    _checked_name(region)
    words = (
        f"Nobody would wait for {region} any more, and its database would be refused for ever: what only it holds "
        "would be lost to the group. It could come back as a new member, with a new sidecar database under another "
        "region id."
    )
    request = OperationRequest(OperationKind.REGIONS_FORGET, {"region": region, "force": str(force).lower()})
    return DecisionProposal(target=region, words=(words,), requests=(request,))


def admitting(region: str) -> DecisionProposal:
    """Take a region for one of the group, whoever refuses it.

    Raises:
        PreconditionFailed: No region and no database can have this name.
    """
    _checked_name(region)
    words = (
        f"{region} would be waited for again, and what it sends be taken. Deletes that were forgotten while it was "
        "refused might come back with it."
    )
    request = OperationRequest(OperationKind.REGIONS_ADMIT, {"region": region})
    return DecisionProposal(target=region, words=(words,), requests=(request,))


def rebuilding(without: Sequence[str], *, alone: bool) -> DecisionProposal:
    """Say whom the rebuild of a lost database need not wait for.

    Raises:
        PreconditionFailed: A name cannot be that of a region.
    """
    if any("," in name or not is_name(name) for name in without):
        raise PreconditionFailed(
            "a region id has no comma and no control sign, and is not empty", hint="Give --without once for each."
        )
    names = ", ".join(without) if not alone else "any peer"
    lost = f"only {names} {'know' if len(without) > 1 and not alone else 'knows'}" if not alone else "peers alone know"
    words = (
        f"What {lost} would not be waited for: a value here that differs from it would not be "
        "recognised as older, and a delete that only they know might be undone. No value would be lost."
    )
    request = OperationRequest(OperationKind.REBUILD, {"without": ",".join(without), "alone": str(alone).lower()})
    return DecisionProposal(target=names, words=(words,), requests=(request,))
