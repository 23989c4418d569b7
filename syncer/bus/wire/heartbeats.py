"""Bounds of what a heartbeat tells, and the refusal of one that is over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from syncer.bus.wire.fields import check_numbers, checked_region, checked_time, is_name, shown
from syncer.bus.wire.messages import Heartbeat
from syncer.errors import PayloadInvalid
from syncer.model import FIRST_REAL_TIME_MS
from syncer.replacing import replace

REFUSED_TOLD: Final = 512
"""Databases that one heartbeat may name as refused."""
REFUSED_CHARACTERS: Final = 200
REFUSED_TOLD_CHARACTERS: Final = 32 * 1024
"""Of the names of these, where there is no room for all names."""
TOLD_ENTRIES: Final = 4096
"""Databases or rules that one heartbeat may list; there are about as many as regions."""
TOLD_CHARACTERS: Final = 128 * 1024
"""Of all names that one heartbeat lists: about 1,000 regions with their databases."""

RULES_CHARACTERS: Final = 64 * 1024
"""Of the rules of a scope; what of them is believed has a bound of its own."""


def told_characters(beat: Heartbeat) -> int:
    """How many characters all names have that a heartbeat lists."""
    refused = (text for pair in beat.refused for text in pair)
    rules = (*beat.projections, *beat.projections.values(), *beat.able, *beat.ready)
    lists = (rules, beat.consumed, beat.reached, beat.generations, refused, beat.roots, _own_names(beat))
    return sum(len(text) for texts in lists for text in texts)


def within_bounds(beat: Heartbeat, first: Callable[[str], bool]) -> Heartbeat:
    """What of a heartbeat others can take: whoever speaks on the topic decides how long the names are that it tells.

    The longest names of regions and databases are left out, those that come first last. Who is not told of is waited
    for, as if nothing was consumed of it: that keeps deletes, and ends nothing.

    Args:
        beat: The heartbeat.
        first: Whether this is the name of a region, or a database, that counts before others.
    """
    if told_characters(beat) <= TOLD_CHARACTERS:
        return beat
    refused = sorted(beat.refused, key=lambda pair: sum(map(len, pair)))
    totals = accumulate(sum(map(len, pair)) for pair in refused)
    kept = [pair for pair, total in zip(refused, totals, strict=True) if total <= REFUSED_TOLD_CHARACTERS]
    bare = replace(beat, consumed={}, reached={}, generations={}, refused=tuple(sorted(kept)))
    lists = (beat.consumed, beat.reached, beat.generations)
    names = sorted({name for texts in lists for name in texts}, key=lambda name: (not first(name), len(name), name))
    totals = accumulate(len(name) * sum(name in texts for texts in lists) for name in names)
    room = TOLD_CHARACTERS - told_characters(bare)
    told = {name for name, total in zip(names, totals, strict=True) if total <= room}
    return replace(
        bare,
        consumed={name: number for name, number in beat.consumed.items() if name in told},
        reached={name: number for name, number in beat.reached.items() if name in told},
        generations={name: found for name, found in beat.generations.items() if name in told},
    )


def _own_names(beat: Heartbeat) -> Iterator[str]:
    """Yield the names of a heartbeat: of clusters, of fields that are the region's own, of namespaces that offload."""
    yield from (*beat.clusters, *beat.names, *beat.names.values(), *beat.excluded, *beat.offloaded)
    for fields in beat.excluded.values():
        yield from fields


def check_heartbeat(beat: Heartbeat) -> None:
    """Refuse what no daemon says; all of it would be kept, for each region that is named.

    Raises:
        PayloadInvalid: The message says which field and why.
    """
    listed = (beat.projections, beat.able, beat.ready, beat.consumed, beat.reached, beat.generations, beat.brokers)
    of_names = (beat.clusters, beat.names, beat.offloaded, beat.excluded, *beat.excluded.values())
    if max(len(beat.roots), *map(len, listed), *map(len, of_names)) > TOLD_ENTRIES:
        raise PayloadInvalid(f"malformed heartbeat of region {beat.region!r}: it lists too much")
    if told_characters(beat) > TOLD_CHARACTERS or len(beat.rules) > RULES_CHARACTERS:
        raise PayloadInvalid(f"malformed heartbeat of region {beat.region!r}: it lists too much")
    rules = (beat.scope, beat.mode, beat.version, beat.tree, beat.root, *beat.projections, *beat.projections.values())
    rules = (*rules, *beat.brokers, *beat.able, *beat.ready, *beat.roots, *beat.roots.values())
    first = (database for _, database in beat.generations.values())
    names = (*rules, *beat.consumed, *beat.reached, *beat.generations, *first, *_own_names(beat))
    if not all(is_name(name) for name in names if name):
        raise PayloadInvalid(
            f"malformed heartbeat of region {beat.region!r}: a name is none, or has too many characters"
        )
    numbers: dict[str, int | None] = {
        "last_sequence": beat.last_sequence,
        "alive": beat.alive,
        "unseated_deletes": beat.unseated_deletes,
        "unfolded": beat.unfolded,
    }
    check_numbers("heartbeat", beat.region, numbers)
    check_numbers("heartbeat", beat.region, beat.consumed)
    check_numbers("heartbeat", beat.region, beat.reached)
    if beat.retold is not None:
        check_numbers("heartbeat", beat.region, dict(zip(("retold", "retold until"), beat.retold, strict=True)))
    for generation, _ in ((beat.generation, beat.sender), *beat.generations.values()):
        if not 0 < generation < FIRST_REAL_TIME_MS:
            raise PayloadInvalid(
                f"malformed heartbeat of region {beat.region!r}: generation: {shown(generation)} is none"
            )
    if len(beat.refused) > REFUSED_TOLD:
        raise PayloadInvalid(f"malformed heartbeat of region {beat.region!r}: {len(beat.refused)} refused databases")
    for region, database in beat.refused:
        checked_region(region, "a refused region")
        if len(database) > REFUSED_CHARACTERS or not is_name(database):
            raise PayloadInvalid(f"malformed heartbeat of region {beat.region!r}: a refused database is none")
    checked_time(beat.watermark, f"the watermark of region {beat.region!r}", earliest=0)
    if beat.oldest_unseated_ms is not None:
        checked_time(beat.oldest_unseated_ms, f"the oldest unseated time of region {beat.region!r}", earliest=0)
