"""What a member of the group says of others, and in the name of others, on two real Pulsar clusters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.lab.region import LabRegion, differing
from syncer.bus.trust.signing import Keyring, sealed
from syncer.bus.wire.messages import LEFT, Control, ControlAction, Heartbeat, Said
from syncer.model import MetadataChangeEvent, MetaPath, Region, TieOrder
from syncer.paths import POLICIES, tenant_path
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.shell.on_bus import change, heartbeat
from tests.shell.region import tenant as tenant_value
from tests.support.group_keys import keyring, signing
from tests.support.region_keys import ring, tables
from tests.support.scrawling import publish_on_topic
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

INVENTED: Final = 300
MUCH: Final = 2**50
LAST_GENERATION: Final = 10**12 - 1
MARS: Final = "e" * 32
IMPOSTOR: Final = "speaks-for-another"
WAIT: Final = ("--timeout", "40")

_numbers = itertools.count(1)


@dataclass
class Lied:
    """A group of two regions, and a voice on their topic that belongs to neither.

    Args:
        pair: The pair of clusters.
        folder: Holds the regions' files.
        voice: What is said is signed with this.
    """

    pair: PulsarPair
    folder: Path
    voice: Keyring
    mark: str = field(default_factory=lambda: f"lied-{os.getpid()}-{next(_numbers)}")
    sides: Synced = field(init=False)

    def configure(self, believing: Callable[[str], Mapping[str, Mapping[str, object]]]) -> None:
        """Write the files of both regions; where they ran before, they go on with their databases.

        Args:
            believing: Makes the tables ``signing`` and ``peers`` of a region, which is named as its cluster.
        """
        topic = self.sides.topic if hasattr(self, "sides") else bus_topic(self.mark)
        rules = [{"pattern": f"{POLICIES}/{self.mark}-*", "direction": "both"}]
        made = [
            Side(
                cluster := self.pair.clusters[name],
                LabRegion.beside(
                    cluster,
                    self.folder / name,
                    name=self.named(name),
                    topic=topic,
                    heartbeat="250ms",
                    scope={"rules": rules},
                    limits={"min_deletes": 1000, "tombstone_grace": "1ms"},  # of a few tenants, any delete is many
                    signing=believing(name)["signing"],
                    peers=believing(name).get("peers", {}),
                ),
            )
            for name in BOTH
        ]
        self.sides = Synced(made[0], made[1], topic)

    def named(self, name: str) -> str:
        """A region or a tenant of this group."""
        return f"{self.mark}-{name}"

    def path(self, name: str) -> MetaPath:
        """Of that tenant."""
        return tenant_path(self.named(name))

    # -- what is said

    def say(self, *messages: Said) -> None:
        """Publish in us-east, signed."""
        topic, service_url = self.sides.topic, self.sides.east.cluster.service_url
        publish_on_topic(service_url, topic, *(sealed(each, self.voice) for each in messages))

    def beat(self, region: str, sender: str, **facts: Any) -> Heartbeat:
        """A heartbeat by the rules of this group."""
        scope = self.sides.east.region.config.compiled_scope().fingerprint
        return heartbeat(region, **{"sender": sender, "scope": scope, **facts})

    def forget(self, region: str, database: str, *, of: str, sender: str) -> Control:
        """A request to all."""
        named, now = (region, database), wall_clock_ms()
        return Control(region=Region(of), sender=sender, action=ControlAction.FORGET, paths=named, sent_at_ms=now)

    def change(self, name: str, value: bytes | None, **facts: Any) -> MetadataChangeEvent:
        """A change of a tenant of this group."""
        return change(self.path(name), value, **facts)

    # -- what can be seen of it

    def agree(self, name: str) -> None:
        """What is written in each region arrives in the other one, and both stores are equal, by their digests too."""
        began_ms = wall_clock_ms()
        for side in self.sides.sides:
            side.send("PUT", f"tenants/{self.named(f'{name}-{side.cluster.name}')}", tenant(name))
        for side in self.sides.sides:
            for of in BOTH:
                there = self.named(f"{name}-{of}")
                wait_until(lambda: side.roles(there) == [name], f"{there} is in {side.cluster.name}")  # noqa: B023
        wait_until(lambda: self.equal_since(began_ms), f"{name}: both find their digests equal")
        assert not differing((self.sides.east.region, self.sides.west.region))

    def equal_since(self, moment_ms: int) -> bool:
        """Whether each region has found its tree equal to the other's after a moment."""
        one, other = self.sides.sides
        found = [
            report(of.region).get("comparisons", {}).get(to.region.name, {}) for of, to in ((one, other), (other, one))
        ]
        return all(each.get("state") == "equal" and (each.get("equal_at_ms") or 0) >= moment_ms for each in found)

    def forget_a_delete(self, name: str) -> None:
        """A tenant is made and deleted, and in the end nobody remembers it."""
        self.sides.east.send("PUT", f"tenants/{self.named(name)}", tenant())
        wait_until(lambda: self.sides.west.roles(self.named(name)) == [], f"{name} is there")
        self.sides.east.send("DELETE", f"tenants/{self.named(name)}")
        wait_until(lambda: self.sides.west.roles(self.named(name)) is None, f"{name} is gone")
        wait_until(lambda: not any(self.remembers(side, name) for side in self.sides.sides), f"{name} is forgotten")

    def remembers(self, side: Side, name: str) -> bool:
        """Whether a region knows anything of a tenant, be it that it was deleted."""
        with side.region.views() as views:
            return views.register(self.path(name)) is not None

    def pids(self) -> list[int | None]:
        """Of the daemons."""
        return [side.region.daemon.pid() for side in self.sides.sides]

    def stop(self) -> None:
        """Both daemons end."""
        for side in self.sides.sides:
            side.region.stop()


def report(region: LabRegion) -> Mapping[str, Any]:
    """What the daemon last said of itself."""
    return region.status().document or {}


def codes(side: Side) -> set[str]:
    """What the daemon says that a person should look at."""
    return {each["code"] for each in report(side.region).get("conditions", ())}


def decides(side: Side) -> bool:
    """Whether its daemon has said, of the database that it has now, that no rebuild goes on."""
    return report(side.region)["database_id"] == database(side) and "rebuilding" not in codes(side)


def database(side: Side) -> str:
    """Id of the region's database."""
    found: str = side.region.status().identity.database_id
    return found


@pytest.fixture
def lied(pulsar_pair: PulsarPair, tmp_path: Path) -> Iterator[Lied]:
    """A group with a key, and a member that has it; both daemons are running."""
    lied = Lied(pulsar_pair, tmp_path, keyring("ours"))
    lied.configure(lambda _: {"signing": signing(tmp_path, "ours")})
    with lied.sides.over_its_topic():
        lied.sides.start()
        yield lied
        lied.stop()


@pytest.mark.slow  # the short form has tests/shell/test_hearsay.py
def test_what_a_member_says_of_others_stops_nobody(lied: Lied, tmp_path: Path) -> None:
    """First of these two regions and their databases, then of rules and regions that nobody has; then it has a key."""
    says_of_living_regions(lied)
    says_what_nobody_has(lied)
    known = {lied.named(name): [name] for name in (*BOTH, "north")}
    others = {name: lied.named(other) for name, other in zip(BOTH, reversed(BOTH), strict=True)}

    def keys(name: str) -> dict[str, Any]:
        made = tables(tmp_path, name, known, required=True)
        return {**made, "peers": {**made["peers"], "expected": [others[name]]}}

    lied.stop()
    lied.configure(keys)
    lied.voice = ring("north", required=True)
    lied.sides.start()
    speaks_as_others(lied)


def says_of_living_regions(lied: Lied) -> None:
    """Refused, forgotten, gone, of the last generation, an old copy: said of both by who has the group's key."""
    east, west = lied.sides.sides
    lied.agree("before")
    pids, of_east, of_west = lied.pids(), database(east), database(west)
    here, there, liar = east.region.name, west.region.name, {"of": "mars", "sender": MARS}
    claims = ((here, of_east), (there, of_west), ("venus", of_west))
    generations = dict.fromkeys((here, there), (LAST_GENERATION, "x"))
    lied.say(
        lied.beat("mars", MARS),
        lied.beat("mars", MARS, refused=claims, generations=generations),
        *(lied.forget(*claim, **liar) for claim in claims),
        lied.beat("venus", of_west, last_sequence=10**9),
        lied.beat(there, of_west, mode=LEFT),
    )
    shown = {"forget-held", "said-to-be-forgotten", "hearsay-void", "generation-claimed", "database-of-another-region"}
    for side in lied.sides.sides:
        wait_until(lambda: shown <= codes(side), f"{side.cluster.name} shows it")  # noqa: B023
    lied.agree("meanwhile")
    assert (database(east), database(west)) == (of_east, of_west)
    lied.say(lied.beat("mars", MARS, reached={of_east: MUCH}))
    wait_until(lambda: "database-doubted" in codes(east), "it is shown")
    lied.agree("doubted")
    assert database(east) == of_east, "one word begins nothing"
    lied.say(lied.change("doubted-us-east", tenant_value("doubted"), region=here, sender=of_east, sequence=MUCH))
    wait_until(lambda: database(east) != of_east, "us-east begins anew")
    east.region.command("state", "rebuild", "--without", "mars", "--yes", *WAIT)
    wait_until(lambda: decides(east), "us-east is rebuilt")
    for side in lied.sides.sides:
        side.region.command("regions", "forget", "mars", "--force", "--yes", *WAIT)
    lied.agree("anew")
    lied.forget_a_delete("doomed")
    began_anew = database(east)
    lied.say(lied.beat(there, of_west, reached={began_anew: MUCH}))
    wait_until(lambda: "database-doubted" in codes(east), "and does so once")
    assert database(east) == began_anew
    assert lied.pids() == pids, "no daemon was started again"


def says_what_nobody_has(lied: Lied) -> None:
    """Other rules, a database without a region, a crowd: by who has the group's key."""
    pids = lied.pids()
    lied.say(
        lied.beat("pluto", "a" * 32, projections={"tenant": "tenant/99", "namespace": "namespace/99"}),
        lied.beat("saturn", "b" * 32, tie_order=TieOrder.NATIVE),
        lied.change("stray", tenant_value("stray"), region="nobody", sender="c" * 32),
        *(lied.beat(f"invented-{number}", f"{number:032x}") for number in range(INVENTED)),
    )
    for side in lied.sides.sides:
        wait_until(lambda: len(report(side.region)["peers"]) > INVENTED, "the crowd is heard")  # noqa: B023
        newcomers = {each["region"] for each in report(side.region)["newcomers"]}
        assert newcomers == {"pluto", "saturn"}, "what would stop changes is held"
    lied.agree("crowded")
    assert lied.pids() == pids, "no daemon was started again"


def speaks_as_others(lied: Lied) -> None:
    """Each now has to prove who it is, and the crowd is not expected: what it held up goes on."""
    east, west = lied.sides.sides
    lied.agree("keyed")
    here, there, of_east, of_west = east.region.name, west.region.name, database(east), database(west)
    lied.say(
        lied.change("keyed-us-west", tenant_value("evil"), region=there, sender=of_west, sequence=10_000),
        lied.change("keyed-us-west", None, region=there, sender=of_west, sequence=10_001),
        lied.change("keyed-us-west", tenant_value("evil"), region=here, sender=of_east, sequence=10_000),
        lied.beat(there, of_west, mode=LEFT),
        lied.beat(there, of_west, reached={of_east: MUCH}),
    )
    for side in lied.sides.sides:
        wait_until(lambda: refused(side) == 5, f"{side.cluster.name} refuses all of it")  # noqa: B023
        assert IMPOSTOR in codes(side)
    lied.agree("after")
    assert [side.roles(lied.named("keyed-us-west")) for side in lied.sides.sides] == [["keyed"], ["keyed"]]
    assert (database(east), database(west)) == (of_east, of_west)
    lied.forget_a_delete("doomed-too")


def refused(side: Side) -> int:
    """Messages in the name of another region than that of the key."""
    return int(report(side.region)["tally"].get(f"refused.{IMPOSTOR}", 0))
