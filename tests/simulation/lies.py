"""Everything that a liar says, by name: each is made of what it knows, in its own name or in one that nobody has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from syncer.bus.wire.messages import LEFT, Control, ControlAction, Said, StateEntry, StatePage, StateRequest
from syncer.bus.wire.messages import TreeMessage as Tree
from syncer.bus.wire.tree_bodies import Listing, TreeEntry, TreeStep, buckets_body, groups_body, listing_body
from syncer.conflict.digest_tree import BUCKETS, GROUPS, bucket_of
from syncer.conflict.projection import DIGEST_BYTES
from syncer.model import (
    Counter,
    Digest,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Seen,
    Stamp,
    TieOrder,
    baseline_time,
    counter_of,
)
from syncer.paths import classify

if TYPE_CHECKING:
    from tests.simulation.liar import Liar

FAR: Final = Millis(253_402_300_799_000)
"""In the year 9999."""
SKEW_MS: Final = 30_000
HUGE: Final = 2**50
_HOUR_MS: Final = 3_600_000
_MANY: Final = 600
"""Counters in a vector that is far too long."""

Makes = Callable[["Liar"], Iterator[Said]]


@dataclass(frozen=True, slots=True)
class Lie:
    """One kind of lie, in words, and what makes it."""

    words: str
    make: Makes


def invented(liar: Liar) -> Region:
    """A region that nobody has."""
    return Region(f"x{liar.rng.randint(1, 4)}")


# -- heartbeats


def _takes_part(liar: Liar) -> Iterator[Said]:
    yield liar.heartbeat()


def _refuses(liar: Liar) -> Iterator[Said]:
    site = liar.somebody()
    region = liar.rng.choice((site.region, site.region, invented(liar)))
    former = liar.rng.random() < 0.2
    yield replace(liar.heartbeat(), refused=((region, f"db-{site.region}" if former else liar.database(site)),))


def _outdoes(liar: Liar) -> Iterator[Said]:
    site = liar.somebody()
    now = site.disk.tables.identity.generation
    generation = liar.rng.choice((now, now + 1, now + 900, now + 5_000, 10**12 - 1))
    database = liar.rng.choice(("db-never", *liar.databases()))
    yield replace(liar.heartbeat(), generations={str(site.region): (generation, database)})


def _reached(liar: Liar) -> Iterator[Said]:
    given = liar.given_out()
    database = liar.database()
    more = liar.rng.choice((given[database] + 1, given[database] + 10, HUGE))
    yield replace(liar.heartbeat(), reached={**given, database: more}, mode=liar.rng.choice(("active", "starting")))


def _consumed(liar: Liar) -> Iterator[Said]:
    number = liar.rng.choice((0, 1, HUGE))
    told = dict.fromkeys((*liar.databases(), "db-never"), number)
    yield replace(liar.heartbeat(), consumed=told, reached=liar.rng.choice((told, liar.given_out())))


def _unseated(liar: Liar) -> Iterator[Said]:
    oldest = liar.rng.choice((Millis(0), Millis(1), liar.now, FAR))
    unfolded = liar.rng.choice((0, 1, None))
    yield replace(liar.heartbeat(), unseated_deletes=1, oldest_unseated_ms=oldest, unfolded=unfolded)


def _retold(liar: Liar) -> Iterator[Said]:
    begun, end = liar.rng.choice(((0, 0), (0, liar.sequence), (liar.sequence, HUGE), (5, 2), (0, HUGE)))
    last = liar.rng.choice((liar.sequence, end, HUGE))
    yield replace(liar.heartbeat(), retold=(begun, end), last_sequence=last)


def _tree(liar: Liar) -> Iterator[Said]:
    root = liar.rng.choice((f"{liar.rng.getrandbits(128):032x}", "0" * 32, "no number", "-1", "ff" * 200))
    label = liar.rng.choice((liar.label, liar.label, "another tree"))
    yield replace(liar.heartbeat(), tree=label, root=root, alive=liar.rng.choice((0, 1, HUGE)))


def _other_rules(liar: Liar) -> Iterator[Said]:
    beat = liar.heartbeat()
    kind = str(liar.rng.choice(list(ResourceKind)))
    beat = liar.rng.choice(
        (
            replace(beat, projections={**beat.projections, kind: "another/9"}),
            replace(beat, tie_order=TieOrder.NATIVE),
            replace(beat, scope="another scope"),
        )
    )
    yield replace(beat, region=liar.rng.choice((liar.region, invented(liar))))


def _mode(liar: Liar) -> Iterator[Said]:
    yield replace(liar.heartbeat(), mode=liar.rng.choice((LEFT, "rebuilding", "starting", "observe", "dancing")))


def _times(liar: Liar) -> Iterator[Said]:
    times = (Millis(1_000_000_000), Millis(liar.now - _HOUR_MS), Millis(liar.now + _HOUR_MS), FAR)
    yield replace(liar.heartbeat(), sent_at_ms=liar.rng.choice(times), watermark=liar.rng.choice((Millis(0), *times)))


def _newcomer(liar: Liar) -> Iterator[Said]:
    region = invented(liar)
    yield replace(liar.heartbeat(), region=region, sender=liar.rng.choice((f"db-{region}", liar.sender)))


def _new_database(liar: Liar) -> Iterator[Said]:
    liar.sender = f"db-{liar.region}-{liar.rng.randint(1, 9)}"
    liar.sequence = liar.rng.choice((0, liar.sequence))
    yield replace(liar.heartbeat(), generation=liar.rng.choice((1, 2, 10**12 - 1)))


# -- requests


def _control(liar: Liar, action: ControlAction, **told: object) -> Control:
    control = Control(region=liar.region, sender=liar.sender, action=action, reason="a lie", sent_at_ms=liar.now)
    if liar.rng.random() < 0.2:
        region = invented(liar)
        control = replace(control, region=region, sender=f"db-{region}")
    return replace(control, **told)  # type: ignore[arg-type] # fields of each action


def _forgets(liar: Liar) -> Iterator[Said]:
    site = liar.somebody()
    region = liar.rng.choice((site.region, site.region, invented(liar)))
    yield _control(liar, ControlAction.FORGET, paths=(region, liar.database(site)))


def _pauses(liar: Liar) -> Iterator[Said]:
    action = liar.rng.choice((ControlAction.PAUSE, ControlAction.RESUME))
    target = liar.rng.choice(("", liar.somebody().region))
    yield _control(liar, action, number=liar.rng.choice((0, 1, 2, 3, HUGE)), target=target)


def _requests(liar: Liar) -> Iterator[Said]:
    path, site = liar.path(), liar.somebody()
    stamps = liar.rng.choice(((), ((liar.now, liar.region),), ((FAR, site.region),)))
    yield _control(liar, ControlAction.REQUEST, paths=(path,), target=site.region, stamps=stamps)


def _wants_retelling(liar: Liar) -> Iterator[Said]:
    yield _control(liar, ControlAction.RETELL, number=liar.rng.choice((0, 1, HUGE)), target=liar.somebody().region)


def _lacks(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    change = liar.honest_change(path)
    named = () if change is None or change.stamp is None else ((change.stamp.updated_at_ms, change.stamp.region),)
    stamps = liar.rng.choice(((), named))
    yield _control(liar, ControlAction.LACKING, paths=(path,), stamps=stamps)


# -- comparisons and listings


def _tree_message(liar: Liar, step: TreeStep, body: bytes) -> Tree:
    liar.round += 1
    return Tree(
        region=liar.region,
        sender=liar.sender,
        sent_at_ms=liar.now,
        target=liar.somebody().region,
        label=liar.label,
        step=step.value,
        round=liar.rng.choice((liar.round, 0, HUGE)),
        body=body,
    )


def _sums(liar: Liar) -> Iterator[Said]:
    rng = liar.rng
    if rng.random() < 0.5:
        yield _tree_message(liar, TreeStep.GROUPS, groups_body([rng.getrandbits(128) for _ in range(GROUPS)]))
        return
    group = bucket_of(liar.path()) // BUCKETS
    yield _tree_message(liar, TreeStep.BUCKETS, buckets_body({group: [rng.getrandbits(64) for _ in range(BUCKETS)]}))


def _lists(liar: Liar) -> Iterator[Said]:
    paths = [path for path in liar.world.paths if liar.rng.random() < 0.7]
    entries = [TreeEntry(path, some_digest(liar, path), some_stamp(liar, path)) for path in paths]
    buckets = sorted({bucket_of(path) for path in liar.world.paths if liar.rng.random() < 0.9})
    step = liar.rng.choice((TreeStep.LISTING, TreeStep.REMAINDER))
    yield _tree_message(liar, step, listing_body(Listing(buckets=buckets, entries=entries, differing=1)))


def _asks_listing(liar: Liar) -> Iterator[Said]:
    after = liar.rng.choice(("", liar.path(), "no path", "/admin"))
    yield StateRequest(
        region=liar.region,
        sender=liar.sender,
        sent_at_ms=liar.now,
        target=liar.somebody().region,
        after=after,
        told=liar.rng.choice((0, 1, HUGE)),
    )


def _tells_listing(liar: Liar) -> Iterator[Said]:
    """Best to who has lost its database and listens."""
    sites = list(liar.world.sites.values())
    listening = [site for site in sites if any(daemon.driver.hearing for daemon in site.daemons)]
    site = liar.rng.choice(listening or sites)
    paths = sorted(path for path in liar.world.paths if liar.rng.random() < 0.7)
    entries: list[StateEntry] = []
    for path in paths:
        stamp, seen = some_stamp(liar, path), some_vector(liar, path)
        by = counter_of(stamp.region, liar.rng.choice((1, 1, 2, 10**11)))
        digest = None if liar.rng.random() < 0.3 else some_digest(liar, path).hex()
        vector = {str(counter): int(at) for counter, at in {**seen, by: stamp.updated_at_ms}.items()}
        entries.append((path, stamp.updated_at_ms, stamp.region, by, vector, digest))
    yield StatePage(
        region=liar.region,
        sender=liar.sender,
        sent_at_ms=liar.now,
        target=site.region,
        asker=liar.database(site),
        entries=tuple(entries),
        last=True,
        total=len(entries),
        rebuilding=liar.rng.random() < 0.2,
    )


# -- changes


def some_digest(liar: Liar, path: MetaPath) -> Digest:
    """One that somebody holds, or one of nothing."""
    change = liar.honest_change(path)
    if change is not None and change.digest is not None and liar.rng.random() < 0.5:
        return change.digest
    return Digest(liar.rng.getrandbits(8 * DIGEST_BYTES).to_bytes(DIGEST_BYTES))


def some_stamp(liar: Liar, path: MetaPath) -> Stamp:
    """One in anybody's name, of the past or of a time that is not yet; it may be that of another version."""
    rng = liar.rng
    change = liar.honest_change(path)
    if change is not None and change.stamp is not None and rng.random() < 0.3:
        return change.stamp
    region = rng.choice((liar.region, liar.region, liar.somebody().region, invented(liar)))
    past, soon = liar.now - rng.randint(0, 60_000), liar.now + rng.randint(0, SKEW_MS - 1)
    time = rng.choice((liar.now, past, past, soon, liar.now + _HOUR_MS, FAR, baseline_time(rng.randint(1, 3))))
    return Stamp(Millis(time), region)


def some_vector(liar: Liar, path: MetaPath) -> Seen:
    """What an author is said to have seen."""
    honest = liar.counters(path)
    times = (liar.now, liar.now + SKEW_MS - 1_000, liar.now + _HOUR_MS, FAR)
    return liar.rng.choice((dict[Counter, Millis](), honest, dict.fromkeys(honest, Millis(liar.rng.choice(times)))))


def change(liar: Liar, path: MetaPath, stamp: Stamp, seen: Seen, *, by: Counter | None = None) -> MetadataChangeEvent:
    """A change as its author would tell it, of a value that nobody has written, or a delete."""
    resource = classify(path)
    assert resource is not None
    by = by or counter_of(stamp.region, 1)
    dead = liar.rng.random() < 0.25
    return MetadataChangeEvent(
        type=EventType.DELETED if dead else EventType.MODIFIED,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=None if dead else liar.world.value(path, tag=liar.rng.choice((None, None, 900))),
        stamp=stamp,
        by=by,
        seen={**seen, by: stamp.updated_at_ms},
        sender=liar.sender,
        sequence=liar.number(),
    )


def _own(liar: Liar, time: int) -> Stamp:
    return Stamp(Millis(time), liar.region)


def _changes(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    yield change(liar, path, _own(liar, liar.now), liar.rng.choice((liar.counters(path), {})))


def _seen_far_ahead(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    far = liar.rng.choice((FAR, Millis(liar.now + _HOUR_MS)))
    yield change(liar, path, _own(liar, liar.now), {**dict.fromkeys(liar.counters(path), far), **_of_all(liar, far)})


def _of_all(liar: Liar, time: Millis) -> dict[Counter, Millis]:
    identities = [site.disk.tables.identity for site in liar.world.sites.values()]
    return {counter_of(each.region, each.generation): time for each in identities}


def _seen_soon(liar: Liar) -> Iterator[Said]:
    soon = Millis(liar.now + liar.rng.choice((0, 5_000, SKEW_MS - 1_000)))
    yield change(liar, liar.path(), _own(liar, liar.now), _of_all(liar, soon))


def _seen_everything(liar: Liar) -> Iterator[Said]:
    names = {Counter(f"n{number}~1"): liar.now for number in range(_MANY)}
    yield change(liar, liar.path(), _own(liar, liar.now), names)


def _ahead(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    ahead = liar.rng.choice((SKEW_MS - 1_000, SKEW_MS + 5_000, _HOUR_MS, FAR - liar.now))
    yield change(liar, path, _own(liar, liar.now + ahead), liar.counters(path))


def _ratchet(liar: Liar) -> Iterator[Said]:
    path, time = liar.path(), liar.now
    seen: Seen = liar.counters(path)
    for _ in range(liar.rng.choice((3, 10, 30))):
        time = Millis(time + SKEW_MS - 1_000)
        step = change(liar, path, _own(liar, time), seen)
        seen = step.seen
        yield step


def _in_a_name(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    site = liar.rng.choice([liar.somebody(), None])
    region = site.region if site is not None else invented(liar)
    generation = site.disk.tables.identity.generation if site is not None else 1
    time = liar.rng.choice((liar.now, liar.now - 5_000, liar.now + SKEW_MS - 1_000, baseline_time(generation)))
    yield change(liar, path, Stamp(Millis(time), region), some_vector(liar, path), by=counter_of(region, generation))


def _twin(liar: Liar) -> Iterator[Said]:
    true = liar.honest_change()
    if true is not None and true.stamp is not None:
        yield change(liar, true.path, true.stamp, some_vector(liar, true.path), by=true.by)


def _told_again(liar: Liar) -> Iterator[Said]:
    """A true change, with another vector."""
    events = liar.world.bus.events
    if events:
        true = liar.rng.choice(events)
        seen = {**some_vector(liar, true.path), true.by: true.stamp.updated_at_ms}
        yield replace(true, seen=seen, sender=liar.sender, sequence=liar.number())


def _numbers(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    number = liar.rng.choice((1, max(liar.sequence, 1), liar.sequence + 1_000, HUGE))
    yield replace(change(liar, path, _own(liar, liar.now), liar.counters(path)), sequence=number)


def _nameless(liar: Liar) -> Iterator[Said]:
    """A change of a database that never says whose it is."""
    path, region = liar.path(), liar.rng.choice((liar.region, invented(liar)))
    said = change(liar, path, Stamp(liar.now, region), liar.counters(path))
    yield replace(said, sender=f"db-nameless-{liar.rng.randint(1, 3)}")


def _garbage(liar: Liar) -> Iterator[Said]:
    path = liar.path()
    said = change(liar, path, _own(liar, liar.now), liar.counters(path))
    yield replace(said, type=EventType.MODIFIED, value=liar.rng.choice((b"no document", b"", b"[1]", b'{"a":1e999}')))


LIES: Final[dict[str, Lie]] = {
    "takes part": Lie("it says what an honest member would: that it has consumed and seated all", _takes_part),
    "refused": Lie("it refuses the database of a region, or that under the name of another region", _refuses),
    "generations": Lie("it has heard a generation of a region that it never had, up to the greatest", _outdoes),
    "reached": Lie("it has consumed numbers that a database has never given out", _reached),
    "consumed": Lie("it has consumed nothing, or more than there is, of databases that are none, too", _consumed),
    "unseated": Lie("it has deletes to seat, of any time, or messages that it could not fold", _unseated),
    "retold": Lie("it has told its deletes again, under numbers that it never gave out", _retold),
    "tree": Lie("its tree sums something else, or its root is that of no tree", _tree),
    "rules": Lie("it, or a region that nobody has, works by other rules", _other_rules),
    "mode": Lie("it leaves, listens, starts, or does what nobody knows", _mode),
    "times": Lie("its clock shows any time, its watermark too", _times),
    "newcomer": Lie("a region that nobody has takes part", _newcomer),
    "database": Lie("it has another database", _new_database),
    "forget": Lie("it has forgotten a region, or its database under another region's name", _forgets),
    "pause": Lie("it asks all to pause, or to resume", _pauses),
    "request": Lie("it asks for registers, of versions that are none", _requests),
    "retell": Lie("it asks for all deletes", _wants_retelling),
    "lacking": Lie("it was asked for a value and has it not, which nobody has asked for", _lacks),
    "sums": Lie("it compares sums of nothing", _sums),
    "listing": Lie("it lists what it has made up, in a comparison", _lists),
    "asks": Lie("it has lost its database, and asks what is known", _asks_listing),
    "tells": Lie("it tells who has lost a database what it has made up", _tells_listing),
    "change": Lie("it changes something, having seen all or nothing", _changes),
    "far vector": Lie("it has seen what others write in an hour, or in the year 9999", _seen_far_ahead),
    "near vector": Lie("it has seen what others have just written, or write in some seconds", _seen_soon),
    "long vector": Lie("it has seen what hundreds of regions have written that nobody has", _seen_everything),
    "ahead": Lie("it stamps a change seconds, hours or years ahead", _ahead),
    "ratchet": Lie("it stamps change upon change, each almost as far ahead of the last as is allowed", _ratchet),
    "name": Lie("it tells a change of an honest region that was never made, or of one that nobody has", _in_a_name),
    "twin": Lie("it tells a true stamp with another value", _twin),
    "again": Lie("it tells a true change again, with another vector", _told_again),
    "numbers": Lie("it uses a number again, or leaves most of them out", _numbers),
    "nameless": Lie("a database that never says whose it is tells a change", _nameless),
    "garbage": Lie("it tells a value that nobody can read", _garbage),
}
"""By name, what a liar says."""

ACCUSES: Final = ("reached", "reached", "generations")
"""By which of them a database is said to be an old copy, or to have counted as another one did."""
MASK: Final = "it says any of this in the name of an honest member"
