"""Regions that have fields for themselves, by rules that come and go: who writes there, and breaks of exclusion.

A value of such a field that is :data:`OWN` or more was written where the field is the region's own: so it can be told
where each comes from. All others are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Final

import orjson

from syncer.conflict import apply as decided_writes
from syncer.conflict.exclusion import excluding
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.own import excluding as keeping
from syncer.conflict.fields.own import localized, part_of
from syncer.conflict.projection import parse
from syncer.conflict.replica import Replica
from syncer.model import MetaPath
from syncer.replacing import replace
from tests.simulation.history import Violation
from tests.simulation.incomplete import Patches
from tests.simulation.newer_fields import LIMIT, RETENTION

if TYPE_CHECKING:
    from tests.simulation.exclusion_rules import ExclusionRules
    from tests.simulation.history import Content
    from tests.simulation.store import Node, StoreCopy
    from tests.simulation.world import Site, World

TENANT: Final = MetaPath("/admin/policies/t")
NAMESPACES: Final = (MetaPath("/admin/policies/t/n"), MetaPath("/admin/policies/t/m"))
FIELDS: Final = (LIMIT, RETENTION)
OWN: Final = 1_000_000
_EQUAL: Final = (900, 901)
"""Values that several writers give."""
_RULES: Final = (
    Exclusions(),
    Exclusions([Exclusion("/admin/policies/t/*", (LIMIT,))]),
    Exclusions([Exclusion("/admin/policies/t/*", FIELDS)]),
    Exclusions([Exclusion("/admin/policies/t/n", (RETENTION,))]),
    Exclusions([Exclusion("/admin/policies/t/n", (RETENTION,)), Exclusion("/admin/policies/**", (LIMIT,))]),
)


def drawn(rng: Random) -> Exclusions:
    """Rules of a region; often none."""
    return rng.choice((_RULES[0], *_RULES))


def ruled(site: Site, exclusions: Exclusions) -> None:
    """The next daemon of a region goes by these rules."""
    site.replica = Replica(replace(site.replica.settings, excluded=exclusions.at))


class OwnFieldWriters:
    """All outside writers of a world where regions have fields for themselves.

    Args:
        world: The world.
        rules: Judges what becomes of these fields.
    """

    def __init__(self, world: World, rules: ExclusionRules) -> None:
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
                    self.edit(site, path, self._any_document(site, path))

    def outside(self) -> None:
        """Somebody does something with a namespace."""
        rng = self._world.rng
        site, path = rng.choice(list(self._world.sites.values())), rng.choice(NAMESPACES)
        standing, choice = path in site.store.nodes, rng.random()
        if standing and choice < 0.06:
            self.delete(site, path)
            return
        if standing and choice < 0.1:
            self.delete(site, path)
        for _ in range(2 if choice > 0.9 else 1):  # the former of two is often read by nobody
            self.edit(site, path, self._any_document(site, path))

    def _any_document(self, site: Site, path: MetaPath) -> dict[str, Any]:
        rng, node = self._world.rng, site.store.nodes.get(path)
        document = orjson.loads(node.value) if node is not None else {"replication_clusters": ["east"], "tag": 0}
        if node is None or rng.random() < 0.5:
            document["tag"] = self._any_value()
        for name in FIELDS:
            if rng.random() < 0.4:
                self._set(site, path, document, name)
        return document

    def _set(self, site: Site, path: MetaPath, document: dict[str, Any], name: str) -> None:
        """Give a field another value, or none: one of the region's own where it has the field for itself."""
        rng = self._world.rng
        excluded, own = name in site.replica.settings.excluded(path), is_own(document.get(name))
        if not excluded and own and rng.random() < 0.5:
            found = self._rules.known_of(site, path).get(name)  # so that both are the same
        elif rng.random() < 0.15:
            found = None
        elif excluded or own:
            found = valued(name, OWN + self._next())
        else:
            found = valued(name, self._any_value())
        if found is None:
            document.pop(name, None)
        else:
            document[name] = found

    def _any_value(self) -> int:
        rng = self._world.rng
        return rng.choice(_EQUAL) if rng.random() < 0.2 else self._next()

    def _next(self) -> int:
        self._number += 1
        return self._number

    def edit(self, site: Site, path: MetaPath, document: dict[str, Any]) -> Content | None:
        """Somebody writes a namespace."""
        node, value = site.store.nodes.get(path), orjson.dumps(document)
        changed = node is None or orjson.loads(node.value) != document
        content = site.store.put_outside(path, value, distinct=changed)
        self._world.story.tell(site.region, "outside: puts", path, content or "in vain", value.decode())
        if content is not None:
            self._rules.written_outside(site, path, content)
        return content

    def delete(self, site: Site, path: MetaPath) -> None:
        """Somebody deletes a namespace."""
        content = self._world.delete(site.region, path)
        if content is not None:
            self._rules.written_outside(site, path, content)

    @staticmethod
    def may_be_ruled(site: Site) -> bool:
        """Whether the database knows of every value that is the region's own: without that or a rule nobody can.

        One beside a store that was put back does not, and another one will stand in its place.
        """
        identity = site.disk.tables.identity
        if site.beside and (site.beside == identity.database_id or not identity.first_scan_done):
            return False
        return all(_noted(site, path, name) for path, name in _own_places(_values(site.store.nodes)))

    @staticmethod
    def may_be_lost(site: Site) -> bool:
        """Whether no value is the region's own by its database alone."""
        return _own_by_rules(site, _values(site.store.nodes))

    @staticmethod
    def may_be_put_back(site: Site, copy: StoreCopy) -> bool:
        """Whether no value of the copy would be the region's own by its database alone, which does not go back."""
        return _own_by_rules(site, _values(copy.nodes))

    def rule(self, site: Site, exclusions: Exclusions) -> None:
        """A region is started anew with other rules; what is under way to its store comes too late."""
        for daemon in list(site.daemons):
            daemon.crash()
        for request in list(site.network):
            site.comes_too_late(request)
        ruled(site, exclusions)
        self._rules.ruled(site)
        names = {path: sorted(exclusions.at(path)) for path in NAMESPACES}
        self._world.story.tell(site.region, "excludes", None, *(f"{path}: {names[path]}" for path in NAMESPACES))

    # -- the end

    def calm(self) -> None:
        """Nobody changes any rule from now on."""

    def busy(self) -> bool:
        """Nothing but daemons is waited for."""
        return False

    def look_closer(self) -> None:
        """At rest: other rules write nothing and publish nothing, whichever way.

        Raises:
            Violation: They do.
        """
        world = self._world
        stood = {region: _values(site.store.nodes) for region, site in world.sites.items()}
        told = len(world.history.named)
        for site in world.sites.values():
            self.rule(site, drawn(world.rng))
        world.settle()
        for region, site in world.sites.items():
            if _values(site.store.nodes) != stood[region]:
                raise Violation("a rule writes", "", f"the store of {region} is another one since rules were changed")
        if len(world.history.named) != told:
            raise Violation("a rule publishes", "", "something was stamped since rules were changed at rest")
        world.referee.judge(world)


def _values(nodes: Mapping[MetaPath, Node]) -> dict[MetaPath, bytes]:
    return {path: nodes[path].value for path in NAMESPACES if path in nodes}


def _own_by_rules(site: Site, values: dict[MetaPath, bytes]) -> bool:
    return all(name in site.replica.settings.excluded(path) for path, name in _own_places(values))


def _own_places(values: dict[MetaPath, bytes]) -> list[tuple[MetaPath, str]]:
    """Where a value is a region's own."""
    fields = {path: own_fields(value) for path, value in values.items()}
    return [(path, name) for path, found in fields.items() for name, value in found.items() if is_own(value)]


def _noted(site: Site, path: MetaPath, name: str) -> bool:
    register = site.disk.tables.registers.get(path)
    if register is None or not register.stored_alive or register.kept is None:
        return False
    return name in register.kept.excluded


def valued(name: str, number: int) -> Any:
    """A value of a field."""
    return number if name == LIMIT else {"retentionTimeInMinutes": number, "retentionSizeInMB": number}


def is_own(value: Any) -> bool:
    """Whether a value was written where the field is the region's own."""
    return (value["retentionSizeInMB"] if isinstance(value, dict) else value or 0) >= OWN


def own_fields(value: bytes | None) -> dict[str, Any]:
    """What a value has of the fields that regions may have for themselves."""
    return part_of(orjson.loads(value), FIELDS) if value else {}


# -- breaks


def own_values_leave() -> Patches:
    """A region goes by what stands in its store."""
    return [(excluding, "_laid", lambda entry, *_: entry)]


def own_values_are_overwritten() -> Patches:
    """A store takes every field of a value that comes in, where it has that path already."""

    def taking(document: Any, present: Any, names: Any) -> Any:
        return localized(document, None, names) if present is None else document

    return [(decided_writes, "localized", taking)]


def what_is_made_here_has_all_fields() -> Patches:
    """A daemon that makes a path makes it with the group's values."""
    here = excluding.here
    return [(excluding, "here", lambda settings, register: here(settings, register) if register.stored_alive else ())]


def the_groups_values_are_not_kept() -> Patches:
    """What leaves lacks the fields that the region has for itself."""
    return [(excluding, "excluding", lambda kept, names, _, untold=(): keeping(kept, names, {}, untold))]


def values_that_come_in_are_not_kept() -> Patches:
    """A value that another region gives to such a field is taken for no change."""
    return [(decided_writes, "part_of", lambda *_: {})]


def a_rule_that_goes_shares_at_once() -> Patches:
    """What stands in the store counts from then on, whatever the group has."""
    return [(excluding, "_digest", lambda *_: b"")]


def a_rule_that_comes_takes_what_stands() -> Patches:
    """What stands in the store is taken for the group's value, whoever has written it since."""

    def taking(settings: Any, register: Any, entry: Any, names: Any) -> Any:
        return part_of(parse(entry.value), names)

    return [(excluding, "_coming", taking)]


_MODES: Final = ("excluded",)
BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("own values leave", _MODES, own_values_leave),
    ("own values are overwritten", _MODES, own_values_are_overwritten),
    ("what is made here has all fields", _MODES, what_is_made_here_has_all_fields),
    ("the group's values are not kept", _MODES, the_groups_values_are_not_kept),
    ("values that come in are not kept", _MODES, values_that_come_in_are_not_kept),
    ("a rule that goes shares at once", _MODES, a_rule_that_goes_shares_at_once),
    ("a rule that comes takes what stands", _MODES, a_rule_that_comes_takes_what_stands),
)
"""Each break, the modes that find it, and what it patches."""
