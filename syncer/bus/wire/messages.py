"""Messages of daemons besides changes: heartbeats, control messages, digest trees, pages of state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.model import MetadataChangeEvent, Millis, Region, TieOrder

LEFT: Final = "left"
"""Mode, in heartbeats, of a region that has left the group."""


class ControlAction(StrEnum):
    """What a control message asks for."""

    PAUSE = "pause"
    RESUME = "resume"
    REQUEST = "request"
    FORGET = "forget"
    RETELL = "retell"
    LACKING = "lacking"
    PROVE = "prove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What one daemon tells all others at intervals.

    Args:
        region: Region of the daemon.
        sender: Id of its sidecar database.
        generation: Generation of that database.
        sent_at_ms: Its clock when it sent this; the difference to the arrival is lag plus skew.
        last_sequence: The highest sequence number that the sender has given out.
        consumed: Sender → highest sequence number consumed without gaps.
        watermark: All local changes up to this time are published; before ``sent_at_ms`` as long as any is not.
        projections: Kind of resource → id of the projection in use; kinds that differ between regions are paused.
        scope: Fingerprint of the scope rules.
        tie_order: Who wins at equal times; must be the same in the whole group.
        mode: What the daemon does with changes (``sync``, ``observe``, …).
        version: Version of the program.
        reached: Sender → highest sequence number that was consumed at all, whatever is missing before it; every sender
            that the region has heard of stands here.
        tree: Label of the digest tree: what it sums, and how; empty while there is none.
        root: Its root, as hexadecimal digits.
        alive: How many living paths it sums.
        unseated_deletes: Deletes that it knows and has not applied, and events that wait for their time; counted to
            1,000.
        oldest_unseated_ms: Smallest stamp time of these.
        unfolded: Changes of its own that stand in its quarantine, since the bus never takes them (from older versions
            also what it has set aside unfolded); ``None`` from versions that do not tell.
        retold: Two of its sequence numbers: the messages beyond the first, up to the second, tell every delete that it
            knew when it had given out the first; ``None``: it has not told them lately.
        refused: Databases that are refused for ever, each after its region: whoever hears it refuses them too.
        generations: Region → the highest generation that was ever heard of it, and the database that first had it.
        brokers: Versions of the region's brokers, each once, the oldest first; empty: not known.
        able: Ids of all projections that it can work by, of kinds that had another one before; none from versions that
            do not tell.
        ready: Those of them that all members can work by, as far as it sees.
        rules: The rules of its scope as one text, as long as it knows of a region with another scope; empty: none is
            known, they are too long to be told, or the version does not tell them.
        roots: Label → root, of the trees over what it shares with regions of other scopes.
        clusters: The clusters of the region by the names of the group, as long as it, or another one that it knows of,
            maps names.
        names: Clusters that are called otherwise there: the name there → the name in the group.
        renaming: It reads its store by other names of clusters than before, and has yet to publish what differs.
        excluded: Fields that are the region's own: pattern of paths → names of fields.
        offloaded: Namespaces that name a driver of offloading there, as ``tenant/namespace``: as many as there is room
            for.
    """

    region: Region
    sender: str
    generation: int
    sent_at_ms: Millis
    last_sequence: int
    consumed: Mapping[str, int] = field(default_factory=dict)
    watermark: Millis
    projections: Mapping[str, str] = field(default_factory=dict)
    scope: str
    tie_order: TieOrder
    mode: str
    version: str
    reached: Mapping[str, int] = field(default_factory=dict)
    tree: str = ""
    root: str = ""
    alive: int = 0
    unseated_deletes: int = 0
    oldest_unseated_ms: Millis | None = None
    unfolded: int | None = None
    retold: tuple[int, int] | None = None
    refused: tuple[tuple[str, str], ...] = ()
    generations: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    brokers: tuple[str, ...] = ()
    able: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    rules: str = ""
    roots: Mapping[str, str] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    renaming: bool = False
    excluded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    offloaded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A request of one region to others.

    Args:
        region: Region that asks.
        sender: Id of its sidecar database.
        action: What it asks for.
        paths: What it is about (``REQUEST``: the paths whose registers are wanted; ``FORGET``: the region and the
            databases that are refused from now on; ``LACKING``: it was asked for these and has not what was asked for;
            ``PROVE``: the database whose last change is wanted as it was sent; else empty: everything). ``RETELL``:
            every delete that is known.
        reason: Why, for people.
        sent_at_ms: Its clock when it sent this.
        target: Region that is asked; empty for all.
        number: ``RETELL``: the first number of the asked region's database that is missing. ``PAUSE``, ``RESUME``:
            rises from one request of the sender to the next; 0 from versions that do not tell. ``PROVE``: the change
            has a higher number than this. Else 0.
        stamps: Time and region, one of each path; or none. ``REQUEST``: the version whose value is wanted. ``LACKING``:
            this version was asked for, and an older one is told in its place; without it there is nothing to tell.
    """

    region: Region
    sender: str
    action: ControlAction
    paths: tuple[str, ...] = ()
    reason: str = ""
    sent_at_ms: Millis
    target: str = ""
    number: int = 0
    stamps: tuple[tuple[Millis, Region], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeMessage:
    """One step of the comparison of two regions' digest trees.

    Args:
        region: Region that sends it.
        sender: Id of its sidecar database.
        target: Region that it is for; all others ignore it.
        label: Of the sender's tree; only equal labels are compared.
        step: Which step; one that a region does not know is ignored.
        round: Number that the region which began has given to this comparison.
        body: By :mod:`syncer.bus.wire.tree_bodies`.
    """

    region: Region
    sender: str
    sent_at_ms: Millis
    target: str
    label: str
    step: str
    round: int
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRequest:
    """A region whose database was lost asks another one for the next page of all that it knows.

    Args:
        region: Region that asks.
        sender: Id of its sidecar database.
        target: Region that is asked.
        after: Last path that it already has; empty at the beginning.
        told: How many entries it already has.
    """

    region: Region
    sender: str
    sent_at_ms: Millis
    target: str
    after: str = ""
    told: int = 0


StateEntry = tuple[str, int, str, str, dict[str, int], str | None]
"""Path, time and region of the stamp, counter, what the author had seen, digest as hexadecimal digits or dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePage:
    """A page of what a region knows, in path order, without values.

    Args:
        region: Region that tells.
        sender: Id of its sidecar database.
        target: Region that has asked; all others ignore it.
        asker: Id of the database that has asked.
        after: The page holds what follows this path.
        entries: What is known, living or dead.
        last: Nothing follows; ``total`` says how many entries all pages had.
        rebuilding: It has lost its own database: this is only what it has learned since.
    """

    region: Region
    sender: str
    sent_at_ms: Millis
    target: str
    asker: str
    after: str = ""
    entries: tuple[StateEntry, ...] = ()
    last: bool = False
    total: int = 0
    rebuilding: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """A sound message that is none of our business; ``reason`` is machine-readable (kebab-case)."""

    reason: str
    path: str


Said = MetadataChangeEvent | Heartbeat | Control | TreeMessage | StateRequest | StatePage
"""Everything that a daemon says."""

Message = Said | Ignored
"""Everything that a message of the topic can mean."""
