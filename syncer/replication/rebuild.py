"""Rebuilding a lost database: when it begins, what is asked of the peers and told to them, and when it is over.

    fence names another database, or our own one is an old copy
      ─▶ begin anew: new id, new generation ─▶ raise the fence ─▶ hearing: ask every member, page by page
      ─▶ all have told (or a person has said who is absent) ─▶ scanning ─▶ all reads answered ─▶ done

While it hears, nothing of the store is read, stamped or written, and nothing is published. Every question carries all
that its answer needs, so that both may be lost or come twice; what was learned stays, whatever happens.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from syncer.bus.codec import LATEST_TIME_MS, LEGAL_NAME
from syncer.bus.messages import Control, Heartbeat, ListingAsked, ListingEntry, ListingTold
from syncer.conflict.projection import DIGEST_BYTES
from syncer.conflict.rebuilding import Answer, Hearing, learn, untold
from syncer.errors import PayloadInvalid, ValueRefused
from syncer.model import Counter, Digest, MetaPath, Millis, Region, Stamp, Version, generation_of
from syncer.paths import checked, classify
from syncer.replication import lacking
from syncer.replication.context import Context
from syncer.replication.fence import Fence
from syncer.replication.peers import PEERS_KEPT
from syncer.replication.talk import Member, Phase, Rebuild, Talk
from syncer.replication.unit import Unit
from syncer.state.contract import Poison, Transaction

PAGE_ENTRIES: Final = 500
PAGE_BYTES: Final = 128 * 1024
ASK_AGAIN_MS: Final = 5_000
"""A question without an answer is asked again after so long."""
FORMER_KEPT: Final = 16
BAD_ENTRIES: Final = 50
"""Entries of one page that are put aside; a page with more of them is refused as a whole."""
LISTING: Final = "listing"
"""Origin, in the quarantine, of what a peer has listed."""
POSITION_CHARACTERS: Final = 500
OWED_BOUND: Final = 64
"""Regions that are answered at a time; others ask again."""
_FINISHED: Final = frozenset({Answer.TOLD, Answer.REBUILDING})
REBUILDING: Final = "rebuilding"
"""What a heartbeat says as long as its region hears its peers."""
STARTING: Final = "starting"
"""What a heartbeat says as long as its daemon waits to hear what its peers have of its database."""


def of(context: Context) -> Rebuild | None:
    """What the database says of its rebuild."""
    return Rebuild.decode(context.identity.rebuild) if context.identity.rebuild else None


def phase_of(context: Context) -> Phase:
    """How far this database has got; one that takes nobody's place is done."""
    found = of(context)
    return Phase.DONE if found is None else found.phase


# -- when it begins


def begin_quiet(context: Context) -> None:
    """Publish nothing before the peers have said what they have of this database: an old copy would use numbers again.

    A database on a server is no file that somebody brings back: its daemons take over from one another at once.
    """
    regions = {*context.expected, *context.peers.regions} - {context.identity.region}
    if context.quiet_ms and not context.observing:
        context.talk.unheard.update(region for region in regions if not context.peers.is_gone(region))


def keep_quiet(context: Context, now: Millis) -> None:
    """A peer that does not speak is not waited for for longer than ``quiet_ms``."""
    talk = context.talk
    if talk.quiet_since_ms is None:
        talk.quiet_since_ms = now
    elif not 0 <= now - talk.quiet_since_ms < context.quiet_ms:  # a clock that is set back must not make it longer
        talk.unheard.clear()


def note_own(context: Context, tx: Transaction, sequence: int, who: str) -> None:
    """Somebody has an event of this very database; one with a number that was never given out tells of an old copy."""
    talk = context.talk
    given = talk.published if talk.unheard else tx.identity().last_sequence
    if sequence > given:
        context.talk.lost = f"an old copy: {who} has event {sequence} of it, this copy has published {given}"


def begin(context: Context, reason: str, fence: Fence | None) -> None:
    """Begin anew as another database.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    identity, before = context.identity, of(context)
    names = (*(before.former if before else ()), identity.database_id, *((fence.database_id,) if fence else ()))
    generation = max(identity.generation, fence.generation if fence else 0, context.talk.outdone) + 1
    store_id = fence.store_id if fence is not None else identity.store_id or ""
    kept = Rebuild(phase=Phase.HEARING, reason=reason, former=tuple(dict.fromkeys(names))[-FORMER_KEPT:])
    context.identity = context.state.renew(generation, store_id, kept.encode())
    context.begin_anew(Talk(tried=context.talk.tried))
    with context.state.transaction() as tx:
        context.sums.load(tx)
        if context.joining and not (fence is not None and fence.joining):
            context.identity = tx.set_identity(paused=None)  # the region takes part already
    context.paused = context.identity.paused
    context.tally["rebuilds", "begun"] += 1


# -- what is heard


def is_former(context: Context, sender: str) -> bool:
    """Whether a database spoke for this region before this one."""
    kept = of(context)
    return kept is not None and sender in kept.former


def hear(context: Context, tx: Transaction, beat: Heartbeat) -> None:
    """A peer is there; and what it has of this very database tells whether this is an old copy."""
    _compare_generations(context, beat)
    reached = beat.reached.get(context.identity.database_id)
    if reached is not None:
        note_own(context, tx, reached, beat.region)
        if context.talk.echoed and context.talk.lost is None:
            context.talk.unheard.discard(beat.region)
    context.talk.greeted |= beat.mode == STARTING
    if phase_of(context) is Phase.HEARING:
        member = context.talk.members.setdefault(beat.region, Member())
        if member.answer is Answer.REBUILDING and beat.mode != REBUILDING:
            context.talk.members[beat.region] = Member()  # it is whole again: now it can tell everything


def _compare_generations(context: Context, beat: Heartbeat) -> None:
    """Note which generation is too low: under one that was used before, a change would look as if it were known.

    A region that is new to its store has published nothing yet, and begins anew. Another one goes on under a later one.
    """
    identity, talk = context.identity, context.talk
    generation, database_id = beat.generations.get(identity.region, (0, ""))
    if database_id == identity.database_id or generation < identity.generation:
        return
    talk.outdone = max(talk.outdone, generation)
    if talk.fresh and talk.unheard and phase_of(context) is Phase.DONE and talk.lost is None:
        talk.lost = f"{beat.region} has heard generation {generation} from another database ({database_id})"


def holds_still(context: Context) -> bool:
    """Whether nothing may be written: a region that is new to its store has yet to hear whether it was there before."""
    talk = context.talk
    return talk.lost is not None or (talk.fresh and bool(talk.unheard))


def outgrow(context: Context) -> None:
    """Take another generation, if another database had this one or a later one."""
    if context.talk.outdone < context.identity.generation or phase_of(context) is Phase.HEARING or context.observing:
        return
    with context.state.transaction() as tx:
        identity = tx.set_identity(generation=context.talk.outdone + 1)
    context.renamed(identity)
    context.marking.advanced = True  # the fence is to name it, too


def greet(context: Context, now: Millis) -> None:
    """This daemon asks its peers what they have of its database."""
    if context.talk.greeting_ms is None:
        context.talk.greeting_ms = now


def hear_own(context: Context, beat: Heartbeat) -> None:
    """Our greeting has come back: what waited on the bus before it is past, and with it what peers had said before."""
    begun = context.talk.greeting_ms
    context.talk.echoed |= beat.mode == STARTING and begun is not None and beat.sent_at_ms >= begun


def take_asked(context: Context, asked: ListingAsked) -> None:
    """Another region asks what is known here; it is answered when its turn comes, unless it asks for nonsense."""
    if asked.after:
        try:
            checked(asked.after)
        except ValueRefused:
            return
    owed = context.talk.owed
    if asked.target == context.identity.region != asked.region and (len(owed) < OWED_BOUND or asked.region in owed):
        owed[asked.region] = asked


def take_told(context: Context, unit: Unit, told: ListingTold) -> None:
    """Learn a page; one that does not follow what is known already came twice, or too late."""
    identity = context.identity
    if told.target != identity.region or told.region == identity.region or told.asker != identity.database_id:
        return
    if phase_of(context) is not Phase.HEARING:
        return
    if told.region not in context.talk.members and len(context.talk.members) >= PEERS_KEPT:
        return  # nobody has so many regions
    member = context.talk.members.setdefault(told.region, Member())
    if told.after != member.after or member.answer in _FINISHED:
        return
    try:
        _check_order(told)
        versions, bad = _versions_of(told)
    except PayloadInvalid as exc:
        member.trouble = exc.message  # the page is asked for again
        return
    _learn(context, unit, versions)
    _put_aside(context, unit, told, bad)
    unit.afterwards(lambda: _note_told(member, told, len(bad)))


def _versions_of(told: ListingTold) -> tuple[list[tuple[str, Version]], list[tuple[ListingEntry, PayloadInvalid]]]:
    """What the entries say, and those that say nothing that can be understood, with the reason.

    Raises:
        PayloadInvalid: Hardly anything of the page can be understood.
    """
    versions: list[tuple[str, Version]] = []
    bad: list[tuple[ListingEntry, PayloadInvalid]] = []
    for entry in told.entries:
        try:
            versions.append(_version_of(entry))
        except PayloadInvalid as exc:
            bad.append((entry, exc))
    if len(bad) > BAD_ENTRIES:
        raise PayloadInvalid(f"{len(bad)} entries of one page cannot be understood; the first: {bad[0][1].message}")
    return versions, bad


def _put_aside(
    context: Context, unit: Unit, told: ListingTold, bad: Sequence[tuple[ListingEntry, PayloadInvalid]]
) -> None:
    """What an entry was to say is asked for as a change; until then its path is left as it is, and shown."""
    for entry, error in bad:
        path = _path_of(context, entry[0])
        detail = (
            f"{told.region} lists {entry[0][:200]!r} wrongly: {error.message}. Check that region's database ('syncer "
            "state check' there), then retry"
        )
        unit.quarantine(
            Poison(
                origin=LISTING,
                code=error.code,
                detail=detail,
                position=f"{told.region} {entry[0][:POSITION_CHARACTERS]!r}",
                path=path,
                payload=json.dumps(entry)[:PAGE_BYTES].encode(),
            )
        )
        if path is not None:
            unit.load((path,))
            unit.take(untold(unit[path], told.region, unit.now, error.message))
            context.want(path)


def _note_told(member: Member, told: ListingTold, refused: int) -> None:
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


def _check_order(told: ListingTold) -> None:
    """A listing goes on with each page, or ends; so one that is answered in circles is not followed.

    Raises:
        PayloadInvalid: It does not.
    """
    paths = [told.after, *(entry[0] for entry in told.entries)]
    if not told.entries and not told.last:
        raise PayloadInvalid("a page that is empty and not the last one")
    if any(first >= second for first, second in itertools.pairwise(paths)):
        raise PayloadInvalid("a page whose paths are out of order")


def _version_of(entry: ListingEntry) -> tuple[str, Version]:
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
    named = all(LEGAL_NAME.match(name) for name in (region, by, *seen))
    if not named or not all(0 <= time <= LATEST_TIME_MS for time in (time_ms, *seen.values())):
        raise PayloadInvalid(f"the stamp of {text[:200]!r} is none")
    return text, Version(
        stamp=Stamp(Millis(time_ms), Region(region)),
        by=Counter(by),
        seen={Counter(counter): Millis(time) for counter, time in seen.items()},
        digest=None if raw is None else Digest(raw),
    )


def _learn(context: Context, unit: Unit, told: Sequence[tuple[str, Version]]) -> None:
    ahead = unit.now + context.replica.settings.limits.max_clock_skew_ms
    versions: dict[MetaPath, Version] = {}
    for text, version in told:
        path = _path_of(context, text)
        if path is None:
            continue
        if version.stamp.updated_at_ms > ahead:
            context.want(path)  # as an event it is held until its time has come
            continue
        versions[path] = version
        counters = (version.by, *version.seen)
        used = max(generation_of(counter, context.identity.region) for counter in counters)
        context.talk.outdone = max(context.talk.outdone, used)
    unit.load(tuple(versions))
    for path, version in versions.items():
        unit.take(learn(context.replica.settings, unit[path], version))


def _path_of(context: Context, text: str) -> MetaPath | None:
    """The path that an entry names, if this region carries it."""
    try:
        path = checked(text)
    except ValueRefused:
        return None
    return path if classify(path) is not None and context.scope.contains(path) else None


# -- what is asked and told


def hearing(context: Context, kept: Rebuild, now: Millis) -> Hearing:
    """What is known of the group now."""
    talk, own = context.talk, context.identity.region
    if talk.begun_at_ms is None:
        talk.begun_at_ms = now
    expected = set(context.peers.members(context.expected)) - {own}
    for region in sorted(expected):
        talk.members.setdefault(region, Member())
    members = {
        region: member.answer
        for region, member in talk.members.items()
        if not context.expected or region in context.expected
    }
    complete = bool(context.expected) or now - talk.begun_at_ms >= context.speak_ms
    return Hearing(answers=members, without=kept.without, alone=kept.alone, complete=complete)


def work(context: Context, now: Millis) -> list[ListingAsked | ListingTold | Control]:
    """Do what is due; what is to be published now, and may be lost."""
    messages: list[ListingAsked | ListingTold | Control] = []
    kept = of(context)
    if kept is not None and kept.phase is Phase.HEARING:
        heard = hearing(context, kept, now)
        if heard.over:
            _go_on(context, replace(kept, phase=Phase.SCANNING))
        else:
            messages += _questions(context, kept, now)
    messages += _answers(context, now)
    if phase_of(context) is not Phase.HEARING:
        messages += lacking.work(context, now)
    return messages


def _go_on(context: Context, kept: Rebuild) -> None:
    """Nothing was stamped so far: if the group knows this generation or a later one, another one is taken."""
    generation = max(context.identity.generation, context.talk.outdone + 1)
    with context.state.transaction() as tx:
        identity = tx.set_identity(rebuild=kept.encode(), generation=generation)
    context.renamed(identity)  # and not before it is stored


def _questions(context: Context, kept: Rebuild, now: Millis) -> list[ListingAsked]:
    asked: list[ListingAsked] = []
    for region, member in context.talk.members.items():
        waiting = member.asked_at_ms is not None and 0 <= now - member.asked_at_ms < ASK_AGAIN_MS
        if region in kept.without or member.answer in _FINISHED or waiting:
            continue
        member.asked_at_ms = now
        asked.append(
            ListingAsked(
                region=context.identity.region,
                sender=context.identity.database_id,
                sent_at_ms=now,
                target=region,
                after=member.after,
                told=member.told,
            )
        )
    return asked


def _answers(context: Context, now: Millis) -> list[ListingTold]:
    """One page for each region that has asked."""
    if context.observing or not context.talk.owed:
        return []
    phase = phase_of(context)
    if phase is not Phase.HEARING and not context.genesis:
        return []  # it asks again; by then the first scan is over
    told: list[ListingTold] = []
    for asked in list(context.talk.owed.values()):
        page = ListingTold(
            region=context.identity.region,
            sender=context.identity.database_id,
            sent_at_ms=now,
            target=asked.region,
            asker=asked.sender,
            after=asked.after,
            rebuilding=phase is Phase.HEARING,
        )
        if context.joining:  # nothing of it is the group's yet
            told.append(replace(page, last=True, total=asked.told))
        else:
            told.append(_page(context, asked, page))
        del context.talk.owed[asked.region]
    return told


def _page(context: Context, asked: ListingAsked, page: ListingTold) -> ListingTold:
    """The next entries; also of changes that wait in the outbox still.

    Who was not told of such a change would meet its own copy of the value as one that nobody knows. If the change never
    comes, its value is asked for, and given up once nobody has it (:mod:`syncer.replication.lacking`).
    """
    after = MetaPath(asked.after) if asked.after else None
    entries: list[ListingEntry] = []
    size = 0
    while size < PAGE_BYTES and len(entries) < PAGE_ENTRIES:
        with context.state.transaction() as tx:
            found = tx.listing(PAGE_ENTRIES, after)
        for register in found:
            known = register.known
            after = register.path
            if known is None or (register.hold is not None and register.hold.local):
                continue  # a held local delete was told to nobody
            digest = None if known.digest is None else known.digest.hex()
            stamp = known.stamp
            entry: ListingEntry = (
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


# -- how it ends


def finish(context: Context, tx: Transaction) -> None:
    """The first scan is over: this database is like any other from now on."""
    kept = of(context)
    if kept is not None and kept.phase is not Phase.DONE:
        tx.set_identity(rebuild=replace(kept, phase=Phase.DONE).encode())


def excuse(context: Context, unit: Unit, tx: Transaction, without: Sequence[Region], *, alone: bool) -> str:
    """A person says who is absent; what is waited for still."""
    kept = of(context)
    if kept is None or kept.phase is not Phase.HEARING:
        return "nothing is being rebuilt: nobody is waited for"
    kept = replace(kept, without=tuple(sorted({*kept.without, *without})), alone=kept.alone or alone)
    identity = tx.set_identity(rebuild=kept.encode())
    unit.afterwards(lambda: setattr(context, "identity", identity))
    if kept.alone:
        return "nobody is waited for: what only this region holds becomes a baseline"
    return f"not waited for: {', '.join(kept.without)}"


def _trouble(member: Member) -> str:
    """What is wrong with what a member tells."""
    if member.trouble or not member.refused:
        return member.trouble
    return f"{member.refused} entries that cannot be understood: see 'syncer quarantine list'"


def report(context: Context, now: Millis) -> dict[str, object] | None:
    """How far the rebuild has got, as JSON; ``None`` when there is none."""
    kept = of(context)
    if kept is None or kept.phase is Phase.DONE:
        return None
    heard = hearing(context, kept, now)
    told = sum(answer is Answer.TOLD for answer in heard.answers.values())
    registers = sum(member.told for member in context.talk.members.values())
    trouble = {str(region): said for region, member in context.talk.members.items() if (said := _trouble(member))}
    return {
        "phase": kept.phase.value,
        "reason": kept.reason,
        "heard": told,
        "members": len(heard.answers),
        "waits_for": heard.waits_for if kept.phase is Phase.HEARING else [],
        "without": list(kept.without),
        "registers": registers,
        "trouble": trouble,
        "message": f"rebuilding: heard {told} of {len(heard.answers)} peers, {registers:,} registers",
    }
