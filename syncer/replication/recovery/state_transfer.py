"""State transfer: pages of all registers, by which a lost database is rebuilt; asked for, sent, and learned.

Every question carries all that its answer needs, so that both may be lost or come twice; what was learned stays.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from syncer.bus.wire.fields import LATEST_TIME_MS, is_id
from syncer.bus.wire.messages import StateEntry, StatePage, StateRequest
from syncer.conflict.causality.vectors import bounded
from syncer.conflict.projection import DIGEST_BYTES
from syncer.conflict.rebuilding import Answer, learn, untold
from syncer.errors import PayloadInvalid, ValueRefused
from syncer.model import Counter, Digest, MetaPath, Millis, Region, Stamp, Version, generation_of
from syncer.paths import checked, classify
from syncer.replication.group.peers import PEERS_KEPT
from syncer.replication.recovery import generations
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Member, Phase, Rebuild
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.quarantine import DeadLetter

PAGE_ENTRIES: Final = 500
PAGE_BYTES: Final = 128 * 1024
ASK_AGAIN_MS: Final = 5_000
"""A question without an answer is asked again after so long."""
BAD_ENTRIES: Final = 50
"""Entries of one page that are put into the quarantine; more of them are counted, and their paths held as well."""
LISTING: Final = "listing"
"""Origin, in the quarantine, of what a peer has listed."""
POSITION_CHARACTERS: Final = 500
OWED_BOUND: Final = 64
"""Regions that are answered at a time; others ask again."""
_FINISHED: Final = frozenset({Answer.TOLD, Answer.REBUILDING})


# -- what is asked of this region, and told to it


def take_asked(recovery: Recovery, asked: StateRequest) -> None:
    """Another region asks what is known here; it is answered when its turn comes, unless it asks for nonsense."""
    if asked.after:
        try:
            checked(asked.after)
        except ValueRefused:
            return
    owed = recovery.progress.owed
    if asked.target == recovery.core.identity.region != asked.region and (
        len(owed) < OWED_BOUND or asked.region in owed
    ):
        owed[asked.region] = asked


def take_told(recovery: Recovery, unit: UnitOfWork, told: StatePage) -> None:
    """Learn a page, while peers are heard; one that does not follow what is known already came twice, or too late."""
    identity = recovery.core.identity
    if told.target != identity.region or told.region == identity.region or told.asker != identity.database_id:
        return
    if told.region not in recovery.progress.members and len(recovery.progress.members) >= PEERS_KEPT:
        return  # nobody has so many regions
    member = recovery.progress.members.setdefault(told.region, Member())
    if told.after != member.after or member.answer in _FINISHED:
        return
    try:
        _check_order(told)
    except PayloadInvalid as exc:
        member.trouble = exc.message  # the page is asked for again
        return
    versions, bad = _versions_of(told)
    _learn(recovery, unit, versions, told.region)
    _put_aside(recovery, unit, told, bad)
    unit.afterwards(lambda: _note_told(member, told, len(bad)))


def _versions_of(told: StatePage) -> tuple[list[tuple[str, Version]], list[tuple[StateEntry, PayloadInvalid]]]:
    """What the entries say, and those that say nothing that can be understood, with the reason."""
    versions: list[tuple[str, Version]] = []
    bad: list[tuple[StateEntry, PayloadInvalid]] = []
    for entry in told.entries:
        try:
            versions.append(_version_of(entry))
        except PayloadInvalid as exc:
            bad.append((entry, exc))
    return versions, bad


def _put_aside(
    recovery: Recovery, unit: UnitOfWork, told: StatePage, bad: Sequence[tuple[StateEntry, PayloadInvalid]]
) -> None:
    """What an entry was to say is asked for as a change; until then its path is left as it is, and shown."""
    for number, (entry, error) in enumerate(bad):
        path = _path_of(recovery, entry[0])
        if number < BAD_ENTRIES:
            unit.quarantine(_poison_of(told.region, entry, path, error))
        if path is not None:
            unit.load((path,))
            unit.take(untold(unit[path], told.region, unit.now, error.message))
            recovery.values.want(path)


def _poison_of(region: Region, entry: StateEntry, path: MetaPath | None, error: PayloadInvalid) -> DeadLetter:
    detail = (
        f"{region} lists {entry[0][:200]!r} wrongly: {error.message}. Check that region's database ('syncer state "
        "check' there), then retry"
    )
    return DeadLetter(
        origin=LISTING,
        code=error.code,
        detail=detail,
        position=f"{region} {entry[0][:POSITION_CHARACTERS]!r}",
        path=path,
        payload=json.dumps(entry)[:PAGE_BYTES].encode(),
    )


def _note_told(member: Member, told: StatePage, refused: int) -> None:
    """The page is stored; one that came twice in a delivery is noted once."""
    if told.after != member.after or member.answer in _FINISHED:
        return
    member.told += len(told.entries)
    member.refused += refused
    member.asked_at_ms = None
    member.trouble = ""
    if told.entries:
        member.after = told.entries[-1][0]
    member.answer = Answer.TELLING
    if told.last and told.total == member.told:
        member.answer = Answer.REBUILDING if told.rebuilding else Answer.TOLD
    elif told.last:  # it has changed meanwhile, or something was counted wrongly: once more, from the beginning
        member.after, member.told, member.refused = "", 0, 0


def _check_order(told: StatePage) -> None:
    """A listing goes on with each page, or ends; so one that is answered in circles is not followed.

    Raises:
        PayloadInvalid: It does not.
    """
    paths = [told.after, *(entry[0] for entry in told.entries)]
    if not told.entries and not told.last:
        raise PayloadInvalid("a page that is empty and not the last one")
    if any(first >= second for first, second in itertools.pairwise(paths)):
        raise PayloadInvalid("a page whose paths are out of order")


def _version_of(entry: StateEntry) -> tuple[str, Version]:
    """What an entry says of its path.

    Raises:
        PayloadInvalid: No digest, or no time.
    """
    text, time_ms, region, by, seen, digest = entry
    try:
        raw = None if digest is None else bytes.fromhex(digest)
    except ValueError as exc:
        raise PayloadInvalid(f"the digest of {text[:200]!r} is no number") from exc
    if raw is not None and len(raw) != DIGEST_BYTES:
        raise PayloadInvalid(f"the digest of {text[:200]!r} has {len(raw)} bytes")
    named = all(map(is_id, (region, by, *seen)))
    if not named or not all(0 <= time <= LATEST_TIME_MS for time in (time_ms, *seen.values())):
        raise PayloadInvalid(f"the stamp of {text[:200]!r} is none")
    return text, Version(
        stamp=Stamp(Millis(time_ms), Region(region)),
        by=Counter(by),
        seen=bounded({Counter(counter): Millis(time) for counter, time in seen.items()}, Counter(by)),
        digest=None if raw is None else Digest(raw),
    )


def _learn(recovery: Recovery, unit: UnitOfWork, told: Sequence[tuple[str, Version]], teller: Region) -> None:
    ahead = unit.now + recovery.core.replica.settings.limits.max_clock_skew_ms
    versions: dict[MetaPath, Version] = {}
    for text, version in told:
        path = _path_of(recovery, text)
        if path is None:
            continue
        if version.stamp.updated_at_ms > ahead:
            recovery.values.want(path)  # as an event it is held until its time has come
            continue
        versions[path] = version
        counters = (version.by, *version.seen)
        used = max(generation_of(counter, recovery.core.identity.region) for counter in counters)
        if used > recovery.progress.outdone and generations.claim(recovery, used, teller):
            recovery.progress.outdone = used
    unit.load(tuple(versions))
    for path, version in versions.items():
        unit.take(learn(recovery.core.replica.settings, unit[path], version))


def _path_of(recovery: Recovery, text: str) -> MetaPath | None:
    """The path that an entry names, if this region carries it."""
    try:
        path = checked(text)
    except ValueRefused:
        return None
    return path if classify(path) is not None and recovery.core.scope.contains(path) else None


# -- what this region asks and tells


def questions(recovery: Recovery, kept: Rebuild, now: Millis) -> list[StateRequest]:
    """The next page of each member that has not told everything, unless it was asked for just now."""
    asked: list[StateRequest] = []
    for region, member in recovery.progress.members.items():
        waiting = member.asked_at_ms is not None and 0 <= now - member.asked_at_ms < ASK_AGAIN_MS
        if region in kept.without or member.answer in _FINISHED or waiting:
            continue
        member.asked_at_ms = now
        asked.append(
            StateRequest(
                region=recovery.core.identity.region,
                sender=recovery.core.identity.database_id,
                sent_at_ms=now,
                target=region,
                after=member.after,
                told=member.told,
            )
        )
    return asked


def answers(recovery: Recovery, now: Millis, phase: Phase) -> list[StatePage]:
    """One page for each region that has asked."""
    if recovery.core.observing or not recovery.progress.owed:
        return []
    if phase is not Phase.HEARING and not recovery.core.first_scan_done:
        return []  # it asks again; by then the first scan is over
    if recovery.core.uncompared.rules:
        return []  # likewise: what has come into the scope is met first
    told: list[StatePage] = []
    for asked in list(recovery.progress.owed.values()):
        page = StatePage(
            region=recovery.core.identity.region,
            sender=recovery.core.identity.database_id,
            sent_at_ms=now,
            target=asked.region,
            asker=asked.sender,
            after=asked.after,
            rebuilding=phase is Phase.HEARING,
        )
        if recovery.group.joining:  # nothing of it is the group's yet
            told.append(replace(page, last=True, total=asked.told))
        else:
            told.append(_page(recovery, asked, page))
        del recovery.progress.owed[asked.region]
    return told


def _page(recovery: Recovery, asked: StateRequest, page: StatePage) -> StatePage:
    """The next entries; also of changes that wait in the outbox still.

    Who was not told of such a change would meet its own copy of the value as one that nobody knows. If the change never
    comes, its value is asked for, and given up once nobody has it (:mod:`syncer.replication.recovery.missing_values`).
    """
    after = MetaPath(asked.after) if asked.after else None
    entries: list[StateEntry] = []
    size = 0
    while size < PAGE_BYTES and len(entries) < PAGE_ENTRIES:
        with recovery.core.state.transaction() as tx:
            found = tx.page(PAGE_ENTRIES, after)
        for register in found:
            known = register.known
            after = register.path
            if not recovery.core.scope.contains(register.path):
                continue  # it may have been deleted elsewhere since it left the scope
            if known is None or (register.hold is not None and register.hold.local):
                continue  # a held local delete was told to nobody
            digest = None if known.digest is None else known.digest.hex()
            stamp = known.stamp
            entry: StateEntry = (
                register.path,
                stamp.updated_at_ms,
                str(stamp.region),
                str(known.by),
                {str(by): int(time) for by, time in known.seen.items()},
                digest,
            )
            entries.append(entry)
            size += len(orjson.dumps(entry))
            if size >= PAGE_BYTES or len(entries) >= PAGE_ENTRIES:
                break
        else:
            if len(found) < PAGE_ENTRIES:
                return replace(page, entries=tuple(entries), last=True, total=asked.told + len(entries))
    return replace(page, entries=tuple(entries))
