"""A member that says anything about anybody: who it is, what it knows, what it says, and how people get over it.

It sees everything, as the worst one would: which databases there are, what they have given out, what every region
knows. It has no store and no daemon; whatever it says goes onto the bus like any message. In its own name, and in
names that nobody has, it says anything; of what others have changed it tells anything, for who tells a change need not
have made it. In the name of another member it speaks only where all have one key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Final

from syncer.bus.wire.messages import LEFT, Control, Heartbeat, Said, StatePage, StateRequest, TreeMessage
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.projection import PROJECTIONS
from syncer.errors import ValueInvalid
from syncer.model import Counter, Digest, MetadataChangeEvent, MetaPath, Millis, Region, Stamp, TieOrder
from syncer.replication.recovery.state_transfer import LISTING
from tests.simulation.history import Content
from tests.simulation.lies import ACCUSES, HUGE, LIES
from tests.simulation.store import digest_of
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.region import Daemon
    from tests.simulation.world import Site, World

INVENTED: Final = tuple(Region(f"x{number}") for number in range(1, 5))
"""Regions that nobody has."""
NAMES: Final = (Region("A"), Region("z"))
"""Names of the liar: before all others, and after them."""


class Standing(StrEnum):
    """What the honest regions have been told of the liar."""

    EXPECTED = "expected"
    """It is among the expected peers."""

    OPEN = "open"
    """No peers are configured: whoever speaks is heard."""

    STRANGER = "stranger"
    """The expected peers are named, and it is none of them."""


_STANDINGS: Final = (Standing.EXPECTED, Standing.EXPECTED, Standing.OPEN, Standing.STRANGER)


class Liar:
    """The liar of one schedule."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng: Random = world.rng
        self.region = self.rng.choice(NAMES)
        self.standing = self.rng.choice(_STANDINGS)
        self.sender = f"db-{self.region}"
        self.sequence = 0
        self.round = 0
        self.dismissed = False
        """People have taken it out of the expected peers."""
        world.story.tell(self.region, f"is a liar: {self.standing}")

    # -- what it knows

    @property
    def now(self) -> Millis:
        """Its clock, which is right."""
        return Millis(self.world.story.now)

    @property
    def label(self) -> str:
        """What everybody's digest tree sums."""
        return label_of(self.world.scope)

    def somebody(self) -> Site:
        """An honest region."""
        return self.rng.choice(list(self.world.sites.values()))

    def database(self, site: Site | None = None) -> str:
        """The database of an honest region."""
        return (site or self.somebody()).disk.tables.identity.database_id

    def databases(self) -> list[str]:
        """All databases of honest regions."""
        return [self.database(site) for site in self.world.sites.values()]

    def given_out(self) -> dict[str, int]:
        """Honest database → its last number."""
        identities = [site.disk.tables.identity for site in self.world.sites.values()]
        return {identity.database_id: identity.last_sequence for identity in identities}

    def honest_change(self, path: MetaPath | None = None) -> Content | None:
        """What an honest region has once stamped."""
        found = [
            content
            for (at, _), content in self.world.history.named.items()
            if not content.invented and content.by is not None and path in {None, at}
        ]
        return self.rng.choice(found) if found else None

    def counters(self, path: MetaPath) -> dict[Counter, Millis]:
        """The latest change of every honest counter at a path."""
        found: dict[Counter, Millis] = {}
        for (at, stamp), content in self.world.history.named.items():
            if at == path and content.by is not None and not content.invented:
                found[content.by] = max(found.get(content.by, stamp.updated_at_ms), stamp.updated_at_ms)
        return found

    def path(self) -> MetaPath:
        """A path that takes part."""
        return self.rng.choice(self.world.paths)

    # -- what it says

    def heartbeat(self) -> Heartbeat:
        """One that no honest member would say otherwise in its place; the lie is laid over it."""
        had, somebody = self.given_out(), self.somebody()
        tree = parts_of(somebody.daemon.driver).antientropy.tree_state.tree if somebody.daemons else None
        return Heartbeat(
            region=self.region,
            sender=self.sender,
            generation=1,
            sent_at_ms=self.now,
            last_sequence=self.sequence,
            consumed=had,
            reached=had,
            watermark=self.now,
            projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()},
            scope=self.world.scope.fingerprint,
            tie_order=TieOrder.SMALLER_REGION,
            mode="active",
            version="simulated",
            tree=self.label if tree is not None else "",
            root=f"{tree.root:032x}" if tree is not None else "",
            alive=tree.count if tree is not None else 0,
            unfolded=0,
        )

    def number(self) -> int:
        """Its next number."""
        self.sequence += 1
        return self.sequence

    def speak(self) -> None:
        """Say the next thing."""
        accuses = self.world.mode.accuses
        name = self.rng.choice(ACCUSES if accuses and self.rng.random() < accuses else tuple(LIES))
        messages = list(LIES[name].make(self))
        if messages:
            self.world.met[f"lie: {name}"] += 1
        if self.world.mode.masked and self.rng.random() < 0.5:
            messages = self._masked(messages)
        for message in messages:
            self.say(message, name)

    def say(self, message: Said, name: str = "") -> None:
        """Put a message onto the bus; the referee hears which versions it has made up."""
        path = message.path if isinstance(message, MetadataChangeEvent) else None
        self.world.story.tell(self.region, f"lies: {name}", path, _shown(message))
        if not self.world.bus.lie(message):
            return
        self._note_accused(message)
        if isinstance(message, MetadataChangeEvent):
            try:
                digest = digest_of(message.path, message.value) if message.value is not None else None
            except ValueInvalid:
                return
            self.world.history.told(message.path, message.stamp, message.by, message.seen, digest)
        elif isinstance(message, StatePage):
            for text, time, region, by, seen, dead_or_digest in message.entries:
                listed = Digest(bytes.fromhex(dead_or_digest)) if dead_or_digest is not None else None
                stamp = Stamp(Millis(time), Region(region))
                vector = {Counter(counter): Millis(at) for counter, at in seen.items()}
                self.world.history.told(MetaPath(text), stamp, Counter(by), vector, listed)

    def _note_accused(self, message: Said) -> None:
        """The referee hears of whose database something is said that would have it rebuilt."""
        referee, given = self.world.referee, dict.fromkeys(self.given_out(), 0)
        for event in self.world.bus.events:
            if event.sender in given:
                given[event.sender] = max(given[event.sender], event.sequence)
        if isinstance(message, MetadataChangeEvent) and message.sequence > given.get(message.sender, HUGE):
            referee.forged.add(message.sender)
        if isinstance(message, Heartbeat):
            said = {database for database, number in message.reached.items() if number > given.get(database, HUGE)}
            for region, (generation, _) in message.generations.items():
                site = self.world.sites.get(Region(region))
                if site is not None and generation >= site.disk.tables.identity.generation:
                    said.add(self.database(site))
            for database in said:
                referee.accused.setdefault(database, set()).add(message.region)

    def _masked(self, messages: Sequence[Said]) -> list[Said]:
        """The same in the name of an honest member, or of another database of it."""
        self.world.met["lie: mask"] += bool(messages)
        site = self.somebody()
        sender = self.rng.choice(
            (self.database(site), self.database(site), f"db-{site.region}-{self.rng.randint(1, 3)}")
        )
        found: list[Said] = []
        for message in messages:
            if isinstance(message, MetadataChangeEvent):
                found.append(replace(message, sender=sender))
            elif isinstance(message, Heartbeat | Control | TreeMessage | StateRequest | StatePage):
                found.append(replace(message, region=site.region, sender=sender))
        return found

    # -- who believes it, and how people get over it

    def expected_by(self, others: list[Region]) -> list[Region]:
        """The peers that an honest region expects."""
        if self.standing is Standing.OPEN:
            return []
        known = self.standing is Standing.EXPECTED and not self.dismissed
        return [*others, self.region] if known else others

    def falls_silent(self) -> bool:
        """It says nothing any more; whether it is taken out of the expected peers, for which all start anew."""
        self.world.story.tell(self.region, "falls silent")
        heard = all(self.region in site.disk.tables.peers for site in self.world.sites.values())
        self.dismissed = self.standing is Standing.EXPECTED and (not heard or self.rng.random() < 0.5)
        return self.dismissed

    def cure(self) -> bool:
        """What a person does about it, by the documented commands; whether there was anything to do."""
        acted = False
        for site in self.world.sites.values():
            tables, gone = site.disk.tables, self.world.gone
            strange = [region for region in tables.peers if region not in self.world.sites]
            for region in strange:
                told = tables.peers[region].document
                if not tables.peers[region].sender:
                    continue  # it never spoke: it was only said to be forgotten
                if not told.get("forgotten") and (told.get("mode") != LEFT or region not in gone):
                    site.disk.ask("regions-forget", region=region, force="true")
                    acted = True
            for daemon in site.daemons:
                acted |= self._admit(site, daemon)
                for database in parts_of(daemon.driver).gc.tombstones.nameless:
                    if not self._is_honest(database):
                        site.disk.ask("regions-forget", region=database, force="true")
            if any(daemon.driver.hearing for daemon in site.daemons):
                absent = sorted({self.region, *INVENTED, *strange, *gone})
                site.disk.ask("rebuild", without=",".join(absent))
            for event in list(tables.future.values()):
                site.disk.ask("decline", path=event.path, stamp=str(event.stamp))
                acted = True
            for row in list(tables.poison.values()):
                if row.poison.origin in {"bus", LISTING}:
                    site.disk.ask("quarantine-discard", id=str(row.id))
                    acted = True
        return acted

    def _admit(self, site: Site, daemon: Daemon) -> bool:
        """Take back every honest database that is refused, or said to be, under whatever name; if there was one."""
        parts, acted = parts_of(daemon.driver), False
        if site.disk.tables.membership.left_at is not None and not site.has_left:
            site.disk.ask("regions-admit", region=site.region)
            acted = True
        for region in sorted({*self.world.sites, *site.disk.tables.peers, *parts.group.hearsay.held} - {site.region}):
            held = parts.group.hearsay.held.get(region)
            said = list(held.databases) if held is not None else []
            undecided = said if held is not None and not held.decided else []
            refused = [*parts.group.peers.refused_of(region), *undecided]
            if any(self._is_honest(database) for database in refused) or (
                region in self.world.sites and parts.group.peers.has_left(region)
            ):
                site.disk.ask("regions-admit", region=region)
                acted = True
            elif said and not any(map(self._is_honest, said)):
                site.disk.ask("regions-forget", region=region, force="true")
                acted = True
        return acted

    def _is_honest(self, database: str) -> bool:
        """Whether it is the database of an honest region that takes part, or once was."""
        return any(f"{database}-".startswith(f"db-{region}-") for region in self.world.sites)


def _shown(message: Said) -> str:
    """A lie in one line."""
    if isinstance(message, MetadataChangeEvent):
        seen = dict(list(message.seen.items())[:4])
        what = "deletes" if message.value is None else "puts"
        return f"{what} {message.stamp} by {message.by}, has seen {seen}, {message.sender} {message.sequence}"
    text = repr(message)
    return text if len(text) < 600 else f"{text[:600]}…"
