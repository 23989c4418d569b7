"""Brokers with a version as outside writers: each reads a namespace, drops what it does not know, edits, and writes.

A region has one to three of them. One may be replaced by one of another version at any time, with one limit that no
daemon can do without: a broker that has become older stays so until every daemon of its region that counts it as newer
was answered. One that comes, drops a field and goes between two answers is not told from one that knows the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

import orjson

from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.table import BrokerVersion, Tree, parse_version
from syncer.model import MetaPath
from tests.simulation.field_rules import Did, FieldRules, LoggedWrite
from tests.simulation.newer_fields import AUTO_SCALE, AUTO_UPDATE, METRIC_KEYS, NEWER, PLAYED, known_to, leaves_of
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.history import Content
    from tests.simulation.world import Site, World

TENANT: Final = MetaPath("/admin/policies/t")
NAMESPACES: Final = (MetaPath("/admin/policies/t/n"), MetaPath("/admin/policies/t/m"))
_TTL: Final = "message_ttl_in_seconds"
"""A field that every version knows."""
_EQUAL: Final = (900, 901)
"""Values that several writers give to it."""
_MOST: Final = 3
_NEWEST: Final = PLAYED[-1]

Edit = Callable[[dict[str, Any]], object]


def parsed(version: str) -> BrokerVersion:
    """A version of the table."""
    found = parse_version(version)
    assert found is not None
    return found


@dataclass(eq=False, slots=True)
class BrokerGroup:
    """The brokers of one region.

    Args:
        versions: Version of each, by its address.
        changes: How often one was replaced, added, or taken away.
        silent_until: Until then not all of them answer.
        hangs: They do not answer at all meanwhile, not even that they cannot.

    Attributes:
        made: How many addresses were given out.
        ever_known: Newer fields that all of them have known at some time.
    """

    versions: dict[str, str]
    changes: int = 0
    silent_until: int = 0
    hangs: bool = False
    made: int = field(init=False)
    ever_known: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.made = len(self.versions)
        self._note()

    def _note(self) -> None:
        self.ever_known.update(name for name in NEWER if self.all_know(name))

    def put(self, name: str, version: str) -> None:
        """A broker of this version stands at an address from now on."""
        self.versions[name] = version
        self.changes += 1
        self._note()

    def take(self, name: str) -> None:
        """A broker goes."""
        del self.versions[name]
        self.changes += 1
        self._note()

    @classmethod
    def drawn(cls, rng: Random) -> BrokerGroup:
        """Some brokers, often all of one version."""
        first = rng.choice(PLAYED)
        others = [first if rng.random() < 0.6 else rng.choice(PLAYED) for _ in range(rng.randint(1, _MOST) - 1)]
        return cls({f"b{number}": version for number, version in enumerate([first, *others])})

    @property
    def known(self) -> Brokers:
        """What is known of them once all have told their versions."""
        return Brokers.of(self.oldest, max(map(parsed, self.versions.values())))

    @property
    def oldest(self) -> BrokerVersion:
        """Version of the oldest."""
        return min(map(parsed, self.versions.values()))

    def all_know(self, name: str) -> bool:
        """Whether every one of them knows a newer field."""
        return all(name in known_to(version) for version in self.versions.values())

    def as_told(self, told: Mapping[str, str]) -> bool:
        """Whether an answer says how they are now."""
        return told == self.versions


class BrokerWriters:
    """All outside writers of a world whose brokers have versions.

    Args:
        world: The world.
        rules: Judges what becomes of newer fields.
    """

    def __init__(self, world: World, rules: FieldRules) -> None:
        self._world = world
        self._rules = rules
        self._number = 0

    # -- what chance does

    def found(self) -> None:
        """Something stands in the stores before the first daemon starts; the tenant does everywhere, and stays."""
        world, rng = self._world, self._world.rng
        for region, site in world.sites.items():
            world.put(region, TENANT, world.value(TENANT, tag=_EQUAL[0]))
            for path in NAMESPACES:
                if rng.random() < world.mode.found:
                    self.edit(site, self._any_broker(site), path, self._any_edit(site, path))

    def outside(self) -> None:
        """Somebody does something with a namespace by one of a region's brokers."""
        rng = self._world.rng
        site = rng.choice(list(self._world.sites.values()))
        path, replaced = rng.choice(NAMESPACES), rng.random()
        name = self._replace_any(site) if replaced < 0.12 else self._any_name(site)
        broker = self._version_of(site, name)
        standing = path in site.store.nodes
        choice = rng.random()
        if standing and choice < 0.06:
            self.delete(site, path)
            return
        if standing and choice < 0.1:
            self.delete(site, path)
        for _ in range(2 if choice > 0.9 else 1):  # the former of two is often read by nobody
            self.edit(site, broker, path, self._any_edit(site, path))
            if replaced > 0.75 and self._replace(site, name, rng.choice(PLAYED)):
                self._world.met["replaced at once"] += 1
            broker = self._any_broker(site)

    def _replace_any(self, site: Site) -> str:
        """Replace a broker, if it may go; its address."""
        name = self._any_name(site)
        self._replace(site, name, self._world.rng.choice(PLAYED))
        return name

    def _replace(self, site: Site, name: str, version: str) -> bool:
        """Replace a broker, if it may go."""
        former = self._version_of(site, name)
        if former == version or (parsed(version) > parsed(former) and self._unwitnessed(site, former)):
            return False
        self.put_in(site, name, version)
        return True

    def change(self, site: Site) -> bool:
        """A broker is replaced by one of another version, added, or taken away; ``False``: it may not go yet."""
        rng, group = self._world.rng, site.brokers
        assert group is not None
        name, version, choice = self._any_name(site), rng.choice(PLAYED), rng.random()
        if choice < 0.15 and len(group.versions) < _MOST:
            group.made += 1
            self.put_in(site, f"b{group.made - 1}", version)
            return True
        if choice < 0.3 and len(group.versions) > 1 and not self._unwitnessed(site, group.versions[name]):
            group.take(name)
            self._world.story.tell(site.region, f"broker {name} goes")
            return True
        return self._replace(site, name, version)

    def put_in(self, site: Site, name: str, version: str) -> None:
        """A broker of this version stands at an address from now on."""
        group = site.brokers
        assert group is not None
        group.put(name, version)
        self._world.story.tell(site.region, f"broker {name} has version {version}")

    def silence(self, site: Site) -> None:
        """The brokers cannot be asked for a while."""
        rng, group = self._world.rng, site.brokers
        assert group is not None
        group.silent_until = self._world.story.now + rng.choice((2_000, 10_000, 30_000))
        group.hangs = rng.random() < 0.4
        self._world.story.tell(site.region, "its brokers do not tell their versions for a while")

    @staticmethod
    def _unwitnessed(site: Site, version: str) -> bool:
        """Whether a daemon still counts a broker of this version as a newer one."""
        for daemon in site.daemons:
            believed = parts_of(daemon.driver).core.replica.settings.brokers
            if believed is not None and believed.version is not None and believed.version > parsed(version):
                return True
        return False

    def _any_broker(self, site: Site) -> str:
        return self._version_of(site, self._any_name(site))

    def _any_name(self, site: Site) -> str:
        assert site.brokers is not None
        return self._world.rng.choice(list(site.brokers.versions))

    @staticmethod
    def _version_of(site: Site, name: str) -> str:
        assert site.brokers is not None
        return site.brokers.versions[name]

    def _any_edit(self, site: Site, path: MetaPath) -> Edit:
        """An edit by chance: of what everybody knows, of what not everybody knows, of both, or of nothing."""
        rng = self._world.rng
        ttl = rng.choice(_EQUAL) if rng.random() < 0.2 else self._next()
        touches = path not in site.store.nodes or rng.random() < 0.55
        bundles, choice, keys = rng.randint(1, 64), rng.random(), [f"k{rng.randint(1, 6)}"]
        limits = {"enabled": rng.random() < 0.7, "maxSegments": rng.randint(1, 9)}
        if rng.random() < 0.3:
            del limits["maxSegments"]

        def edit(document: dict[str, Any]) -> None:
            if touches:
                document[_TTL] = ttl
            if choice < 0.1:
                document["bundles"] = {"numBundles": bundles}
            elif choice < 0.25:
                document[METRIC_KEYS] = keys
            elif choice < 0.4:
                document[AUTO_SCALE] = limits
            elif choice < 0.45:
                document[AUTO_UPDATE] = False
            elif choice < 0.6:
                document.pop(METRIC_KEYS, None)
            elif choice < 0.75:
                document.pop(AUTO_SCALE, None)

        return edit

    def _next(self) -> int:
        self._number += 1
        return self._number

    # -- what a test or chance does

    def edit(self, site: Site, version: str, path: MetaPath, edit: Edit) -> Content | None:
        """A broker of this version edits a namespace, or creates it; what it does not know it does not see."""
        known, node = known_to(version), site.store.nodes.get(path)
        before = orjson.loads(node.value) if node is not None and node.value else None
        document = _known_part(before, known) if before is not None else {"replication_clusters": ["east"], _TTL: 0}
        edit(document)
        document = _known_part(document, known)
        if version == _NEWEST:
            document.setdefault(AUTO_UPDATE, True)
        value = orjson.dumps(document)
        did = _did(leaves_of(node.value if node is not None else None), leaves_of(value), known)
        if document.get(AUTO_UPDATE) is True:
            did[AUTO_UPDATE,] = Did.REMOVED  # the default stands there by name: that is as good as nothing
        if Did.DROPPED in did.values():
            self._world.met["dropped"] += 1
        content = site.store.put_outside(path, value, distinct=True)
        what = "edits" if before is not None else "creates"
        self._world.story.tell(
            site.region, f"outside: a broker {version} {what}", path, content or "in vain", value.decode()
        )
        if content is not None:
            self._log(site, path, LoggedWrite(content=content, leaves=leaves_of(value), did=did))
        return content

    def delete(self, site: Site, path: MetaPath) -> None:
        """A broker deletes a namespace."""
        content = self._world.delete(site.region, path)
        if content is not None:
            self._log(site, path, LoggedWrite(content=content, leaves={}, did={}, deletes=True))

    def _log(self, site: Site, path: MetaPath, write: LoggedWrite) -> None:
        self._rules.written_outside(site, path, write)

    # -- the end

    def calm(self) -> None:
        """The brokers stay as they are and answer from now on."""
        for site in self._world.sites.values():
            if site.brokers is not None:
                site.brokers.silent_until = 0

    def busy(self) -> bool:
        """Whether any region has yet to ask its brokers, to read all again, or to write back what they know by now."""
        return any(self._busy(site) for site in self._world.sites.values())

    @staticmethod
    def _busy(site: Site) -> bool:
        if not site.daemons or site.brokers is None:
            return True
        local = parts_of(site.daemon.driver).local
        versions, replica = local.versions, local.core.replica
        if versions.unsettled or versions.rescan or versions.waiting or versions.told.trouble:
            return True
        if not site.brokers.as_told(versions.told.versions) or replica.settings.brokers != site.brokers.known:
            return True
        return any(replica.owes(register) for register in site.disk.tables.registers.values())

    def look_closer(self) -> None:
        """At rest: a removal by who knows the field ends it everywhere, a drop by who does not ends it nowhere.

        Raises:
            Violation: It is otherwise.
        """
        world = self._world
        for site in world.sites.values():
            path = world.rng.choice(NAMESPACES)
            if world.rng.random() < 0.5:
                self._remove_at_rest(site, path)
            else:
                self._drop_at_rest(site, path)
        world.referee.judge(world)

    def _remove_at_rest(self, site: Site, path: MetaPath) -> None:
        """A field that all brokers here know is removed by one of them."""
        world, group, node = self._world, site.brokers, site.store.nodes.get(path)
        if group is None or node is None:
            return
        standing = self._rules.standing(path)
        names = sorted({leaf[0] for leaf in leaves_of(node.value)} - {AUTO_UPDATE})
        name = next((each for each in names if group.all_know(each)), None)
        if name is None:
            return

        def remove(document: dict[str, Any]) -> None:
            document.pop(name, None)

        world.met["removed at rest"] += 1
        self.edit(site, next(iter(group.versions.values())), path, remove)
        world.settle()
        expected = {leaf: value for leaf, value in standing.items() if leaf[0] != name}
        self._rules.stands_as(path, expected, f"{name} was removed at rest, by who knows it, at {site.region}")

    def _drop_at_rest(self, site: Site, path: MetaPath) -> None:
        """A broker that does not know a field edits another one."""
        world, group = self._world, site.brokers
        if group is None or path not in site.store.nodes:
            return
        standing, number = self._rules.standing(path), self._next()
        blind = [each for each in group.versions.values() if any(leaf[0] not in known_to(each) for leaf in standing)]
        if not blind:
            return

        def retain(document: dict[str, Any]) -> None:
            document[_TTL] = number

        world.met["dropped at rest"] += 1
        self.edit(site, blind[0], path, retain)
        world.settle()
        self._rules.stands_as(path, standing, f"a broker {blind[0]} of {site.region} has edited something else")


def _known_part(document: dict[str, Any], known: Tree) -> dict[str, Any]:
    """What is left of a document once who knows only this has read it."""
    found: dict[str, Any] = {}
    for name, node in document.items():
        below = known.get(name)
        if name in known:
            found[name] = _known_part(node, below) if below and isinstance(node, dict) else node
    return found


def _did(before: dict[Any, Any], after: dict[Any, Any], known: Tree) -> dict[Any, Did]:
    did = {leaf: Did.SET for leaf, value in after.items() if before.get(leaf) != value or leaf not in before}
    for leaf in before.keys() - after.keys():
        did[leaf] = Did.REMOVED if leaf[0] in known else Did.DROPPED
    return did
