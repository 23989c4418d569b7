"""What an attack has at hand: the group, a voice on the bus, a tenant's pen, and what everybody on the topic knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat, Said
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, Seen
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import until
from tests.hostile.attack import Who
from tests.hostile.attacker import Attacker
from tests.hostile.checks import Standing
from tests.hostile.group import Group, Member
from tests.shell.on_bus import change, heartbeat
from tests.shell.region import path_of, tenant

REFUSED: Final = ("refused.signature-invalid", "refused.speaks-for-another")
OWN: Final = "north"
"""The region whose key an attacker has, where each has one."""


@dataclass(slots=True, kw_only=True)
class Scene:
    """One attack by one attacker.

    Args:
        group: Whom it is made on.
        who: Who makes it.
        attacker: His voice.
        number: Of the attack in this group: names are made of it, so that no attack meets another one's.
        victim: An honest path that stands in every store.
        before: How the regions stood before.
    """

    group: Group
    who: Who
    attacker: Attacker
    number: int
    victim: MetaPath
    before: Mapping[str, Standing]

    @property
    def east(self) -> Member:
        """Whose operator gives the commands, and in whose store the tenant writes."""
        return self.group.members["east"]

    @property
    def west(self) -> Member:
        """Another honest region."""
        return self.group.members["west"]

    @property
    def believed(self) -> bool:
        """Whether the group takes what is said for a message of the one who is named there."""
        return self.who not in {Who.STRANGER, Who.NAMED}

    @property
    def name(self) -> str:
        """A region that nobody has; where regions have keys, the attacker's own."""
        return OWN if self.who is Who.NAMED else f"evil{self.number}"

    @property
    def sender(self) -> str:
        """Its database."""
        return f"{self.number:032x}"

    @property
    def now(self) -> Millis:
        """The clock of everybody."""
        return wall_clock_ms()

    def path(self, mark: object = "") -> MetaPath:
        """A tenant that nobody has."""
        return path_of(f"evil-{self.number}-{mark}")

    def database(self, region: str) -> str:
        """Id of a region's database: every message of it shows it."""
        return self.group.members[region].identity.database_id

    def seen_of(self, path: MetaPath) -> Seen:
        """The version vector of a path: its last change shows it."""
        register = self.west.ask(lambda views: views.register(path))
        assert register is not None
        assert register.known is not None
        return dict(register.known.seen)

    # -- what is said

    async def say(self, *messages: Said | Outgoing) -> None:
        """Publish, while honest people write on."""
        await self.say_all(messages)

    async def say_all(self, messages: Iterable[Said | Outgoing]) -> None:
        """Publish, while honest people write on."""
        await self.attacker.say(messages)
        self.group.write_everywhere()

    def change(self, mark: object = "", value: bytes | None = b"", **facts: Any) -> MetadataChangeEvent:
        """A change of the attacker's region."""
        facts = {"region": self.name, "sender": self.sender, **facts}
        path = facts.pop("path", None) or self.path(mark)
        return change(path, tenant("evil") if value == b"" else value, **facts)

    def spoilt(self, **properties: str) -> Outgoing:
        """A change with some properties replaced."""
        sound = encode(self.change("spoilt"))
        return Outgoing(sound.payload, {**sound.properties, **{f"syncer.{n}": text for n, text in properties.items()}})

    def beat(self, **facts: Any) -> Heartbeat:
        """A heartbeat of the attacker's region, or of the one that it names."""
        return heartbeat(facts.pop("region", self.name), **{"sender": self.sender, **facts})

    def as_west(self, **facts: Any) -> Heartbeat:
        """A heartbeat in the name of west, by its own database."""
        return self.beat(region="west", **{"sender": self.database("west"), **facts})

    def control(self, action: ControlAction, *paths: str, **facts: Any) -> Control:
        """A request of the attacker's region."""
        facts = {"region": Region(self.name), "sender": self.sender, "sent_at_ms": self.now, **facts}
        return Control(action=action, paths=paths, **facts)

    def edit_victim(self) -> None:
        """Somebody honest goes on to work with the path that was attacked."""
        self.group.write(self.west, self.victim, tenant("edited"))

    # -- what can be seen of it

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Poll until the condition holds."""
        await until(condition, what, needs=self.group)

    async def set_aside(self, code: str = "") -> None:
        """East keeps a message of this attack aside, by this code; by whatever code when none is given."""

        def kept() -> bool:
            return any(code in {"", row.code} for row in self.east.poisoned(self.before["east"].last_poison))

        await self.until(kept, f"a message is set aside as {code}" if code else "a message is set aside")

    async def refused(self) -> None:
        """Nobody has believed anything of what was said, but what a member says of itself."""

        def all_refuse() -> bool:
            for member in self.group:
                now, then = member.report()["tally"], self.before[member.name].tally
                if sum(now.get(name, 0) - then.get(name, 0) for name in REFUSED) < self.attacker.foreign:
                    return False
            return True

        await self.until(all_refuse, f"{self.attacker.foreign} messages are refused everywhere")

    async def begun_anew(self, region: str) -> None:
        """A region rebuilds its database, because of what it was told of it."""
        member, former = self.group.members[region], self.before[region].database
        await self.until(lambda: member.identity.database_id != former, f"{region} begins anew")

    async def told(self, code: str) -> None:
        """East's status shows a condition."""
        await self.until(lambda: code in self.east.conditions(), f"the status shows {code}")
