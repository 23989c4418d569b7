"""Anti-entropy: two regions whose roots differ walk down their digest trees, and only differing paths travel.

    heartbeat   root ≠ root, and it stays so
    one ─▶ the other   groups      sums of its 256 groups
    one ◀─ the other   buckets     sums of the buckets of differing groups
    one ─▶ the other   listing     what it knows alive in differing buckets: path, digest, stamp
    one ◀─ the other   remainder   what the other knows alive there beside that

Whoever reads an entry that differs from what is known here sends the path's whole register as an event when the stamp
known here is the greater one (a tombstone too), and asks for it when it is the lesser one or the path is unknown. An
event's value is read from the store first, like any other. Every step carries all that its answer needs and is judged
by what is known when it arrives; so steps may be lost, come twice or in any order, and no crash leaves anything to
clear up. Folding decides as always: what a comparison brings can do no more than an event can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from syncer.bus.limits import portions
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat, TreeMessage
from syncer.bus.wire.tree_bodies import (
    BUCKETS_PER_MESSAGE,
    ENTRIES_PER_MESSAGE,
    GROUPS_PER_MESSAGE,
    LISTED_BYTES,
    SHORT_BYTES,
    Listing,
    TreeEntry,
    TreeStep,
    buckets_body,
    buckets_of,
    groups_body,
    groups_of,
    listing_body,
    listing_of,
)
from syncer.conflict.causality.order import later, prevails
from syncer.conflict.digest_tree import BUCKETS, GROUPS, DigestTree, bucket_of
from syncer.errors import PayloadInvalid
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.replication.antientropy.class_sums import CLASSES_KEPT
from syncer.replication.antientropy.exchanges import MAX_LISTED, Exchange, Listed, PendingEntries, traffic, unread
from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.antientropy.tree_state import SLICE
from syncer.replication.group.peers import PEERS_KEPT
from syncer.replication.local.dirty import ReadCause
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction

MAX_REQUESTED: Final = 50_000
"""Registers that peers have asked for and that were not yet sent; more are asked for again."""
_STRIDE: Final = 10_007
"""Prime: each comparison begins at another bucket, so that what stays different keeps nothing from its turn."""


def on_heartbeat(antientropy: AntiEntropy, tx: Transaction, beat: Heartbeat, now: Millis) -> None:
    """Compare roots, as a peer's heartbeat shows its own."""
    if antientropy.group.peers.has_left(beat.region):
        antientropy.exchanges.part(beat.region)
        return
    comparison = antientropy.exchanges.of(beat.region)
    label, comparison.blocked = _label(antientropy, beat)
    tree, root = antientropy.tree_state.tree_of(label), root_told(beat, label)
    if comparison.blocked or tree is None or root is None or not beat.tree or not antientropy.core.first_scan_done:
        return
    ours = {sender: done.reached for sender, done in tx.consumed([beat.sender, *beat.reached]).items()}
    identity = tx.identity()
    under_way = traffic(beat, ours, identity.database_id, identity.last_sequence)
    waiting = unread(beat, ours, identity.database_id, identity.last_sequence)
    comparison.reading.note(beat.reached, waiting, antientropy.exchanges.pace)
    comparison.on_heartbeat(label, int(root, 16), tree.root, now, under_way=under_way)


def _label(antientropy: AntiEntropy, beat: Heartbeat) -> tuple[str, str]:
    """The class that is compared with a region, and why sums mean nothing between the two; empty: they do."""
    own = antientropy.tree_state.label
    if beat.tree == own and beat.scope == antientropy.core.scope.fingerprint:
        return own, _blocked(antientropy, beat, own)
    shared = antientropy.group.shared_with(beat.region)
    label = own if shared is None else shared.label
    return label, _blocked(antientropy, beat, label)


def root_told(beat: Heartbeat, label: str) -> str | None:
    """The root that a heartbeat tells of a class; ``None``: it has none now."""
    return beat.root if beat.tree == label else beat.roots.get(label)


def _blocked(antientropy: AntiEntropy, beat: Heartbeat, label: str) -> str:
    if any(entry["peer"] == beat.region for entry in antientropy.group.peers.disagreements(antientropy.group.expected)):
        return "they do not agree by which rules values are compared"
    if not beat.tree:
        return ""  # it has none now
    if beat.scope != antientropy.core.scope.fingerprint and beat.tree != label:
        if (why := antientropy.group.peers.untold(beat.region)) is not None:
            return f"it carries other paths than this region, and {why}"
        if label in antientropy.tree_state.crowded:
            return f"no more than {CLASSES_KEPT} scopes beside this region's own are compared"
    elif beat.tree != label:
        return f"it sums {beat.tree}, this region {label}: their versions differ"
    root = root_told(beat, label)
    try:
        int("0" if root is None else root, 16)
    except ValueError:
        return f"its root is no number: {(root or '')[:40]!r}"
    return ""


def work(antientropy: AntiEntropy, now: Millis) -> list[TreeMessage | Control]:
    """Do the next piece of work; what is to be published now, and may be lost."""
    if antientropy.core.uncompared.rules:
        return []  # what has come into the scope may have been deleted elsewhere meanwhile: it is met first
    antientropy.sum_what_is_shared()
    if antientropy.tree_state.busy:
        antientropy.tree_state.work(antientropy.core.state)
        return []
    comparisons = antientropy.exchanges
    if antientropy.tree_state.tree is None or not antientropy.group.compares:
        comparisons.drop()
        return []
    own, pace = antientropy.core.identity.region, comparisons.pace
    behind = comparisons.echo.behind(now, pace.late_ms) is not None
    for region, comparison in comparisons.peers.items():
        tree = antientropy.tree_state.tree_of(comparison.label)
        if tree is not None and comparison.due(pace, now, first=own < region, behind=behind):
            comparison.begin(pace, now)
            _say(antientropy, region, TreeStep.GROUPS, comparison.round, groups_body(tree.groups), now)
            antientropy.telemetry.tally["comparisons", "begun"] += 1
    _list_on(antientropy, now)
    messages = list(comparisons.outgoing)
    comparisons.outgoing.clear()
    return messages


def take(antientropy: AntiEntropy, unit: UnitOfWork, message: TreeMessage) -> None:
    """Take a step of a comparison that is meant for this region.

    What it says wrongly is reported, and changes nothing.
    """
    if message.target != antientropy.core.identity.region or message.region == message.target:
        return
    if antientropy.tree_state.tree is None or not antientropy.group.compares:
        return
    if message.region not in antientropy.exchanges.peers and len(antientropy.exchanges.peers) >= PEERS_KEPT:
        return  # nobody has so many regions
    comparison = antientropy.exchanges.of(message.region)
    label = antientropy.label_with(message.region)
    if message.label != label:
        comparison.blocked = f"it sums {message.label[:100]}, this region {label}"
        return
    tree = antientropy.tree_state.tree_of(label)
    if tree is None:
        return
    comparison.label = label
    try:
        _step(antientropy, unit, tree, comparison, message)
    except PayloadInvalid as exc:
        comparison.trouble = f"{message.step[:40]}: {exc.message}"
        antientropy.telemetry.tally["comparisons", "malformed"] += 1


def _step(
    antientropy: AntiEntropy, unit: UnitOfWork, tree: DigestTree, comparison: Exchange, message: TreeMessage
) -> None:
    match message.step:
        case TreeStep.GROUPS:
            theirs = groups_of(message.body)
            comparison.meet(message.round)
            _answer_groups(antientropy, tree, comparison, message, theirs, unit.now)
        case TreeStep.BUCKETS:
            groups = buckets_of(message.body)
            comparison.meet(message.round)
            comparison.attempts.unanswered, comparison.compared_at_ms = 0, unit.now
            differing = (b for group, sums in groups.items() for b in tree.differing(group, sums, 8 * SHORT_BYTES))
            _want(tree, comparison, differing, answers=False)
        case TreeStep.LISTING:
            listing = listing_of(message.body)
            comparison.meet(message.round)
            comparison.compared_at_ms = unit.now
            differing_here = _judge(antientropy, unit, comparison, message, listing)
            comparison.differing += differing_here
            wanted = _want(tree, comparison, listing.buckets, answers=True)
            wanted.listed.update(entry.path for entry in listing.entries)
            wanted.differing += differing_here
        case TreeStep.REMAINDER:
            listing = listing_of(message.body)
            comparison.meet(message.round)
            comparison.attempts.unanswered, comparison.compared_at_ms = 0, unit.now
            _judge(antientropy, unit, comparison, message, listing)
            comparison.differing += listing.differing + len(listing.entries)
        case _:
            antientropy.telemetry.tally["comparisons", "unknown-step"] += 1


def _answer_groups(
    antientropy: AntiEntropy,
    tree: DigestTree,
    comparison: Exchange,
    message: TreeMessage,
    theirs: Sequence[int],
    now: Millis,
) -> None:
    """Send the buckets of groups that differ; an empty answer when none does."""
    pace = antientropy.exchanges.pace
    if 0 <= now - comparison.answered_at_ms < pace.pause_ms // 2:
        return  # a peer that asks without pause is answered with pauses
    behind_since = antientropy.exchanges.echo.behind(now, pace.late_ms)
    if behind_since is not None and now - max(behind_since, comparison.answered_at_ms) < pace.longest_ms:
        return  # what differs waits on the bus, before the answers to this answer
    comparison.answered_at_ms = now
    first = message.round * _STRIDE % GROUPS
    order = [(first + step) % GROUPS for step in range(GROUPS)]
    ours = tree.groups
    differing = [group for group in order if ours[group] != theirs[group]]
    for start in range(0, max(len(differing), 1), GROUPS_PER_MESSAGE):
        chosen = {group: tree.buckets(group) for group in differing[start : start + GROUPS_PER_MESSAGE]}
        _say(antientropy, message.region, TreeStep.BUCKETS, message.round, buckets_body(chosen), now)


def _want(tree: DigestTree, comparison: Exchange, buckets: Iterable[int], *, answers: bool) -> PendingEntries:
    """Note what is to be listed, as much of it as one comparison may list."""
    wanted = comparison.wanted
    if wanted is None or wanted.round != comparison.round or wanted.answers is not answers:
        wanted = PendingEntries(round=comparison.round, answers=answers)
    room = MAX_LISTED - sum(map(tree.held, wanted.buckets))
    first = comparison.round * _STRIDE
    for bucket in sorted(buckets, key=lambda bucket: (bucket - first) % (GROUPS * BUCKETS)):
        if room <= 0:
            break
        if bucket not in wanted.buckets:
            wanted.buckets.add(bucket)
            room -= tree.held(bucket)
    comparison.wanted = wanted if answers or wanted.buckets else None
    return wanted


def _judge(
    antientropy: AntiEntropy, unit: UnitOfWork, comparison: Exchange, message: TreeMessage, listing: Listing
) -> int:
    """Send or ask for what differs from the entries of a listing; how many paths that are.

    Each entry is judged by itself: what is wrong with some of them is reported, and holds up none of the others.
    """
    announced, outside = frozenset(listing.buckets), 0
    contains = antientropy.contains(message.label)
    entries: dict[MetaPath, TreeEntry] = {}
    for entry in listing.entries:
        if bucket_of(entry.path) not in announced or not contains(entry.path):
            outside += 1
        else:
            entries[entry.path] = entry
    unit.load(tuple(entries))
    wanted: list[MetaPath] = []
    told: list[MetaPath] = []
    for path, entry in entries.items():
        known = unit[path].known
        if known is not None and known.digest == entry.digest:
            continue
        other = known is not None and entry.stamp == known.stamp and prevails(entry.digest, known.digest)
        if known is None or other or later(entry.stamp, known.stamp, antientropy.core.replica.settings.ties):
            wanted.append(path)
        else:
            told.append(path)
    send_known(antientropy, told)
    for portion in portions(wanted, ENTRIES_PER_MESSAGE):
        _ask(antientropy, message.region, portion, unit.now)
    antientropy.telemetry.tally["comparisons", "asked"] += len(wanted)
    antientropy.telemetry.tally["comparisons", "told"] += len(told)
    troubles = [
        text
        for count, text in (
            (listing.refused, f"{listing.refused} entries cannot be understood; the first: {listing.fault}"),
            (outside, f"{outside} paths lie outside the buckets, or the scope, that they were listed for"),
        )
        if count
    ]
    if troubles:
        comparison.trouble = f"{message.step[:40]}: {'; '.join(troubles)}"
        antientropy.telemetry.tally["comparisons", "malformed"] += 1
    return len(wanted) + len(told)


def send_known(
    antientropy: AntiEntropy, paths: Iterable[MetaPath], lacked: Mapping[MetaPath, Stamp] = MappingProxyType({})
) -> None:
    """Send what is known of these paths, once each was read; what finds no room is asked for again.

    Args:
        antientropy: How this region and its peers compare.
        paths: What to tell of.
        lacked: The version that a peer lacks the value of: if an older one is told, it is to know that this is all.
    """
    for path in paths:
        if antientropy.group.joining or len(antientropy.recovery.values.requested) >= MAX_REQUESTED:
            break
        antientropy.recovery.values.requested[path] = lacked.get(path) or antientropy.recovery.values.requested.get(
            path
        )
        antientropy.local.dirty.add((path,), ReadCause.DUE)


def _ask(antientropy: AntiEntropy, region: Region, paths: Sequence[MetaPath], now: Millis) -> None:
    """Ask a peer for what it knows of these paths."""
    antientropy.exchanges.send(
        Control(
            region=antientropy.core.identity.region,
            sender=antientropy.core.identity.database_id,
            action=ControlAction.REQUEST,
            paths=tuple(paths),
            reason="a comparison",
            sent_at_ms=now,
            target=region,
        )
    )


def _say(antientropy: AntiEntropy, region: Region, step: TreeStep, number: int, body: bytes, now: Millis) -> None:
    antientropy.exchanges.send(
        TreeMessage(
            region=antientropy.core.identity.region,
            sender=antientropy.core.identity.database_id,
            sent_at_ms=now,
            target=region,
            label=antientropy.exchanges.of(region).label,
            step=step.value,
            round=number,
            body=body,
        )
    )


# -- listings


def _list_on(antientropy: AntiEntropy, now: Millis) -> None:
    """Look through the next slice of paths for those in wanted buckets; at the end, say what was found."""
    comparisons = antientropy.exchanges
    if comparisons.listing is None:
        for region, comparison in comparisons.peers.items():
            if comparison.wanted is not None:
                comparisons.listing = Listed(region, comparison.label, comparison.wanted)
                comparison.wanted = None
                break
    listing = comparisons.listing
    if listing is None:
        return
    tree = antientropy.tree_state.tree_of(listing.label)
    if tree is None or antientropy.exchanges.of(listing.target).label != listing.label:
        comparisons.listing = None  # the two compare something else by now
        return
    if any(map(tree.held, listing.wanted.buckets)) and not _gather(antientropy, listing):
        return
    comparisons.listing = None
    _say_listing(antientropy, listing, now)


def _gather(antientropy: AntiEntropy, listing: Listed) -> bool:
    """Go through the next slice of paths; whether that was the last one."""
    wanted, contains = listing.wanted, antientropy.contains(listing.label)
    after = None if listing.after is None else MetaPath(listing.after)
    with antientropy.core.state.transaction() as tx:
        living = tx.living(SLICE, after)
        found = [path for path, _ in living if bucket_of(path) in wanted.buckets and path not in wanted.listed]
        registers = tx.registers(found)
    for path, register in registers.items():
        known = register.known
        if known is not None and known.digest is not None and contains(path):
            entry = TreeEntry(path, known.digest, known.stamp)
            listing.entries.setdefault(bucket_of(path), []).append(entry)
    if len(living) < SLICE:
        return True
    listing.after = living[-1][0]
    return False


def _say_listing(antientropy: AntiEntropy, listing: Listed, now: Millis) -> None:
    """Send what was gathered, in messages of whole buckets where they fit."""
    wanted = listing.wanted
    step = TreeStep.REMAINDER if wanted.answers else TreeStep.LISTING
    buckets = sorted(wanted.buckets)
    differing = wanted.differing
    for chosen, entries in _portions(buckets, listing.entries):
        body = listing_body(Listing(buckets=chosen, entries=entries, differing=differing))
        _say(antientropy, listing.target, step, wanted.round, body, now)
        differing = 0  # told once
    if wanted.answers:
        comparison = antientropy.exchanges.of(listing.target)
        if comparison.round == wanted.round:
            comparison.differing += sum(map(len, listing.entries.values()))


def _portions(
    buckets: Sequence[int], entries: Mapping[int, Sequence[TreeEntry]]
) -> Iterable[tuple[list[int], list[TreeEntry]]]:
    chosen: list[int] = []
    gathered: list[TreeEntry] = []
    gathered_bytes = 0
    for bucket in buckets:
        found = entries.get(bucket, ())
        size = sum(len(entry.path.encode()) for entry in found)
        full = len(chosen) >= BUCKETS_PER_MESSAGE or len(gathered) + len(found) > ENTRIES_PER_MESSAGE
        if chosen and (full or gathered_bytes + size > LISTED_BYTES):
            yield chosen, gathered
            chosen, gathered, gathered_bytes = [], [], 0
        first, *others = _by_room(found)
        for portion in others:
            yield [bucket], portion
        chosen.append(bucket)
        gathered += first
        gathered_bytes += sum(len(entry.path.encode()) for entry in first)
    yield chosen, gathered


def _by_room(entries: Sequence[TreeEntry]) -> list[list[TreeEntry]]:
    """Entries of one bucket, as many together as go into a message; one list at least."""
    by_path = {entry.path: entry for entry in entries}
    return [[by_path[path] for path in portion] for portion in portions(list(by_path), ENTRIES_PER_MESSAGE)] or [[]]
