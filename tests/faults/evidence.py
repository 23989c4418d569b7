"""Gathers the evidence when nothing moves any more: stores, topics and sidecar databases, read as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pulsar

from deploy.lab.client import patient_client
from deploy.lab.pulsar import PulsarCluster
from deploy.lab.region import LabRegion
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.wire.codec import decode
from syncer.model import MetadataChangeEvent, Stamp
from tests.faults.case import Evidence, Kept
from tests.faults.record import load, token_of
from tests.faults.scene import TOPIC, Scene

SETTLED_S: Final = 900.0
"""How long regions may take to be equal after the last write: all that waits has to be told and written."""
READ_S: Final = 60.0


def settle(scene: Scene) -> float:
    """Wait until nothing moves: writers rest, nothing waits anywhere, all daemons see each other's trees as equal.

    Nobody decides anything: a delete that was held while no broker could be asked about topics goes on by itself.

    Returns:
        Seconds that it took.

    Raises:
        WaitFailed: It did not come to rest in time.
    """
    scene.still()

    return scene.until(lambda: not restless(scene), "all regions are at rest, and say that they are equal", SETTLED_S)


def restless(scene: Scene) -> list[str]:
    """What is still under way, in words."""
    found = []
    for name, region in scene.regions.items():
        found += [f"{name}: {each}" for each in unfinished(region)]
        states = {peer: each["state"] for peer, each in scene.report(name).get("comparisons", {}).items()}
        found += [f"{name}: {peer} is {states.get(peer)}" for peer in scene.others(name) if states.get(peer) != "equal"]
    return found


def unfinished(region: LabRegion) -> list[str]:
    """What a region has left undone, in words."""
    status = region.status()
    left = {
        "changes wait for the bus": status.outbox.depth,
        "writes are due": status.counts.due,
        "paths are held": status.counts.holds,
        "publications are held": status.counts.held_publications,
        "events wait for their time": status.counts.future_events,
        "paths are parked": status.counts.parked,
        "things are in quarantine": status.counts.quarantine,
    }
    return [f"{number} {what}" for what, number in left.items() if number]


def gather(scene: Scene) -> Evidence:
    """Read everything."""
    return Evidence(
        writes=load(scene.record.file),
        stores={name: region.entries() for name, region in scene.regions.items()},
        events=distinct(event for cluster in scene.clusters.values() for event in changes(cluster)),
        conflicts=[row for name, disk in scene.disks.items() for row in conflicts(name, disk.directory / "state.db")],
        held={name: frozenset(region.holds()) for name, region in scene.regions.items()},
        unfinished={name: unfinished(region) for name, region in scene.regions.items()},
    )


def distinct(events: Iterable[MetadataChangeEvent]) -> list[MetadataChangeEvent]:
    """Each message once, in whichever clusters' topics it stands."""
    found: dict[tuple[object, ...], MetadataChangeEvent] = {}
    for event in events:
        found.setdefault((event.sender, event.sequence, event.path, event.stamp, event.value), event)
    return list(found.values())


def changes(cluster: PulsarCluster) -> Iterator[MetadataChangeEvent]:
    """Every change that a cluster keeps of the bus topic, acknowledged or not, in its order."""
    client = patient_client(cluster.service_url)
    try:
        reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
        while reader.has_message_available():
            each = reader.read_next(timeout_millis=int(READ_S * 1000))
            message = decode(each.data(), each.properties(), max_bytes=MAX_MESSAGE_BYTES)
            if isinstance(message, MetadataChangeEvent):
                yield message
    finally:
        client.close()


def conflicts(region: str, file: Path) -> Iterator[Kept]:
    """All conflicts that a region keeps, read from the file of its sidecar database: one query, and nobody's views."""
    query = (
        "select path, loser_time, loser_region, loser_digest, value, winner_time, winner_region, reason from conflicts"
    )
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
        for path, loser_time, loser_region, digest, value, winner_time, winner_region, reason in base.execute(query):
            yield Kept(
                region=region,
                path=path,
                loser=Stamp(loser_time, loser_region),
                winner=Stamp(winner_time, winner_region),
                reason=reason,
                token=token_of(path, value) if value is not None else None,
                was_delete=digest is None,
            )
