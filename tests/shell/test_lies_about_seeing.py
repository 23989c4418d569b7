"""A member that lies about times and about what it has seen: no path runs ahead, nothing is overwritten in silence.

The same as a stranger who lacks the key, as one who has it, and in a group that has none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import Keyring
from syncer.bus.wire.codec import encode
from syncer.conflict.causality.vectors import MAX_COUNTERS
from syncer.model import Counter, MetadataChangeEvent, Millis, Seen
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import until
from tests.shell.on_bus import Bystander, change, changes_on
from tests.shell.region import TENANT, Site, active, equal, tenant

EVIL: Final = "e" * 32
YEAR_9999_MS: Final = 253_000_000_000_000


def lie(name: str, number: int, time_ms: int, seen: Seen | None = None) -> Outgoing:
    """A change of the hostile region, as if it had seen all this."""
    sound = change(TENANT, tenant(name), region="evil", sender=EVIL, sequence=number, time_ms=time_ms)
    return encode(replace(sound, seen={**(seen or {}), **sound.seen}))


async def everywhere(value: bytes, *sites: Site) -> None:
    """Wait until all hold it."""
    await until(lambda: all(site.get(TENANT) == value for site in sites), "it is everywhere")


def last_of(bus_file: Path, region: str) -> MetadataChangeEvent:
    """The latest change of a region that stands on the bus."""
    return next(event for event in reversed(changes_on(bus_file)) if event.stamp.region == region)


async def test_a_path_is_not_carried_ahead_of_all_clocks(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await equal(east, west)
        began = wall_clock_ms()
        chain = [lie(f"ahead {number}", number, began + 29_000 * number) for number in range(1, 201)]
        await hostile.say(*map(mouth.sign, chain))
        if peer != "stranger":
            waiting = 200 - 1
            for site in regions:
                await until(
                    lambda site=site: site.status().counts.future_events >= waiting - 1,  # type: ignore[misc]
                    "all but those within the skew wait",
                )
        west.writer.put(TENANT, tenant("still ours"))
        await until(lambda: last_of(bus_file, "west").value == tenant("still ours"), "it is told")
        stamped = last_of(bus_file, "west").stamp.updated_at_ms
        assert stamped <= wall_clock_ms() + 30_000 + 10


async def test_a_forged_vector_overwrites_nothing_in_silence(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await everywhere(tenant("honest"), east, west)
        by = last_of(bus_file, "west").by
        await hostile.say(mouth.sign(lie("forged", 1, wall_clock_ms() + 1_000, {by: Millis(YEAR_9999_MS)})))
        if peer == "stranger":
            await until(lambda: east.codes() == ["signature-invalid"], "it is refused")
            return
        await until(lambda: all(s.status().counts.future_events == 1 for s in regions), "it is held")
        for site in regions:
            answer = await site.decide("release", TENANT)
            assert answer.code == ""
        await everywhere(tenant("forged"), east, west)
        await until(lambda: all(s.status().counts.conflicts == 1 for s in regions), "the loser is kept")
        west.writer.put(TENANT, tenant("still ours"))
        await everywhere(tenant("still ours"), east, west)
        assert max(last_of(bus_file, "west").seen.values()) < YEAR_9999_MS, "nobody inherits it"


async def test_a_claim_about_our_own_changes_that_we_never_made_is_seen_through(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    """It is within the skew, so west alone can tell: what it loses by it, it keeps."""
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await everywhere(tenant("honest"), east, west)
        by, at = last_of(bus_file, "west").by, wall_clock_ms() + 20_000
        await hostile.say(mouth.sign(lie("forged", 1, at, {by: Millis(at - 1)})))
        if peer == "stranger":
            await until(lambda: east.codes() == ["signature-invalid"], "it is refused")
            return
        await everywhere(tenant("forged"), east, west)
        await until(lambda: west.status().counts.conflicts == 1, "west keeps what it has lost")


async def test_a_vector_of_megabytes_leaves_the_path_editable(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await everywhere(tenant("honest"), east, west)
        honest = last_of(bus_file, "west")
        at = wall_clock_ms() + 1_000
        crowd = {Counter(f"region-{number:06}~1"): Millis(at) for number in range(150_000)}
        crowd[honest.by] = honest.stamp.updated_at_ms
        message = mouth.sign(lie("crowd", 1, at, crowd))
        assert sum(map(len, message.properties.values())) > 4_000_000
        await hostile.say(message)
        if peer == "stranger":
            await until(lambda: east.codes() == ["signature-invalid"], "it is refused")
        else:
            await everywhere(tenant("crowd"), east, west)
        west.writer.put(TENANT, tenant("still ours"))
        await everywhere(tenant("still ours"), east, west)
        assert len(last_of(bus_file, "west").seen) <= MAX_COUNTERS
