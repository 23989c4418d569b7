"""Regions whose brokers call clusters otherwise than the group does, and breaks of how names are mapped.

All that this world keeps of a store is by the names of the group, as the region is configured to read it. What a daemon
is given has the names of its brokers, and goes through the product's own mapping; so does what it writes. The mapping
here is one of its own: every name in a document, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from syncer.conflict import apply as decided_writes
from syncer.conflict import observing
from syncer.conflict.cluster_names.telling import RegionNames
from syncer.conflict.guards import Facts, GuardRefusal, Proposal, examine
from syncer.conflict.projection import parse
from syncer.model import MetaPath, Region
from syncer.naming import cluster_names
from syncer.naming.cluster_names import ClusterNames
from syncer.naming.mapped_store import MappedStore
from syncer.paths import CLUSTERS, OWN_PREFIX, is_under
from syncer.replacing import replace
from syncer.replication import driver, uncompared
from syncer.replication.fence import Fence, raised
from syncer.replication.local import observe
from syncer.replication.local.part import OwnStore
from syncer.stores.contract import Entry, Put, Write
from tests.simulation.incomplete import Patches

if TYPE_CHECKING:
    from tests.simulation.store import SimStore

OWN: Final = "east"
"""The cluster of every region, by the name of the group."""
KNOWN: Final = ("east", "west")
"""Those that every region knows."""
CLUSTER: Final = MetaPath("/admin/clusters/north")
ISOLATION: Final = MetaPath("/admin/clusters/north/namespaceIsolationPolicies")
NAMED: Final = (("east",), ("east", "west"), ("east", "west"), ("west", "east"))
"""What values name that need no operator; most of them both, since a swap of the two is no difference."""
_ALWAYS: Final = {"pulsar-n": "north"}
"""Is never changed: with it the paths of declarations would be others."""
_TABLES: Final[tuple[Mapping[str, str], ...]] = (
    {"pulsar-e": "east", "pulsar-w": "west", **_ALWAYS},
    {"pulsar-e": "east", **_ALWAYS},
    {"west": "east", "east": "west", **_ALWAYS},
    {"pulsar-w": "west", "west": "east", **_ALWAYS},
)
"""What brokers call clusters: the name there, and the name in the group."""
_ARROW: Final = "->"


def permuted(table: Mapping[str, str]) -> dict[str, str]:
    """What a table says of all names: the end of each chain takes the place of its beginning."""
    found = dict(table)
    for beginning in sorted(table.keys() - set(table.values())):
        end = beginning
        while end in table:
            end = table[end]
        found[end] = beginning
    return found


class BrokerNames:
    """What the brokers of one region call clusters, and what its daemon was told of that.

    Args:
        region: The region.
        spoken: By the name that brokers know, the name in the group.
        told: The same as the daemon was told; what is not right yet is.
    """

    def __init__(self, region: Region, spoken: Mapping[str, str], told: Mapping[str, str]) -> None:
        self.region = region
        self.spoken = spoken
        self.tell(told)

    @classmethod
    def drawn(cls, region: Region, rng: Random) -> BrokerNames:
        """Some names; by chance the daemon was not told of all of them."""
        found = cls(region, rng.choice(_TABLES), _ALWAYS)
        found.tell(found.table(rng))
        return found

    def table(self, rng: Random) -> Mapping[str, str]:
        """Another table that the daemon may be told: the right one, or one that lacks some names."""
        less = {here: there for here, there in self.spoken.items() if here in _ALWAYS or rng.random() < 0.5}
        own = self.own_here
        valid = own in less or own not in less.values()  # the check of the configuration refuses any other
        return self.spoken if not valid or rng.random() < 0.5 else less

    def tell(self, told: Mapping[str, str]) -> None:
        """The daemon goes by this table from now on."""
        self.told = told
        self._in_group = permuted(told)
        self._here = {there: here for here, there in self._in_group.items()}
        self.product = ClusterNames(told)
        self._store = MappedStore(cast("Any", None), self.product)

    @property
    def own_here(self) -> str:
        """What the brokers call their own cluster."""
        return next(here for here, there in permuted(self.spoken).items() if there == OWN)

    @property
    def place(self) -> str:
        """How the daemon names its store: where it is, and by which names it is read."""
        return str(sorted(self.told.items()))

    def serves(self) -> frozenset[str]:
        """The region's own cluster, by the name in the group."""
        return frozenset({self._in_group.get(self.own_here, self.own_here)})

    def for_others(self) -> RegionNames:
        """Return the names by which the daemon makes itself known to other regions.

        Here all serve a cluster of one name, which they would contradict each other in; so each tells one of its own.
        """
        return RegionNames(own=(f"of-{self.region}",), table=dict(self.told))

    def known(self) -> frozenset[str]:
        """The clusters that are known here, by their names in the group."""
        here = {there: here for here, there in permuted(self.spoken).items()}
        return frozenset(self._in_group.get(name, name) for name in (here.get(each, each) for each in KNOWN))

    # -- what brokers write, and how it is read

    def written_by_brokers(self, value: bytes) -> bytes:
        """What somebody means by the names of the group, as the daemon is to read what the brokers make of it."""
        here = {there: here for here, there in permuted(self.spoken).items()}
        return renamed(renamed(value, here), self._in_group)

    def path_here(self, path: MetaPath) -> MetaPath:
        """A path as brokers have it."""
        return _at(path, self._here)

    def path_in_group(self, path: MetaPath) -> MetaPath:
        """A path of the brokers, as the daemon is to have it."""
        return _at(path, self._in_group)

    def value_here(self, value: bytes) -> bytes:
        """A value as it stands in the store."""
        return renamed(value, self._here)

    def value_in_group(self, value: bytes) -> bytes:
        """A value of the store, as the daemon is to read it."""
        return renamed(value, self._in_group)

    # -- what a daemon gets, and what it writes

    def asked(self, path: MetaPath) -> MetaPath:
        """Where a daemon looks that asks for a path."""
        return self.path_in_group(self.product.path_here(path))

    def noticed(self, path: MetaPath) -> MetaPath:
        """The path by which a daemon hears of another one."""
        return self.product.path_in_group(self.path_here(path))

    def read(self, entry: Entry | None) -> Entry | None:
        """An entry as a daemon reads it."""
        if entry is None or is_under(entry.path, OWN_PREFIX):
            return self._store._entry(entry)
        return self._store._entry(replace(entry, path=self.path_here(entry.path), value=self.value_here(entry.value)))

    def written(self, write: Write) -> Write:
        """What a daemon's write brings about."""
        found = self._store._write(write)
        path = self.path_in_group(found.path)
        if not isinstance(found, Put) or is_under(path, OWN_PREFIX):
            return replace(found, path=path)
        scaffold = tuple(map(self.path_in_group, found.scaffold))
        return replace(found, path=path, value=self.value_in_group(found.value), scaffold=scaffold)


def renamed(value: bytes, names: Mapping[str, str]) -> bytes:
    """A value with other names of clusters; as it is where it names none of these."""
    document = orjson.loads(value) if value else None
    found = _node(document, names)
    return value if found == document else orjson.dumps(found)


def _node(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, str):
        return names.get(node, node)
    if isinstance(node, list):
        return [_node(each, names) for each in node]
    if isinstance(node, dict):
        return {
            _ARROW.join(names.get(each, each) for each in key.split(_ARROW)): _node(node[key], names) for key in node
        }
    return node


def _at(path: MetaPath, names: Mapping[str, str]) -> MetaPath:
    start = f"{CLUSTERS}/"
    if not path.startswith(start):
        return path
    name, *rest = path.removeprefix(start).split("/")
    return MetaPath("/".join((CLUSTERS, names.get(name, name), *rest)))


def clustered(tag: int) -> tuple[str, ...]:
    """Clusters that a value of this tag names."""
    return NAMED[tag % len(NAMED)]


def rates(clusters: Sequence[str], tag: int) -> dict[str, object]:
    """Fields of a namespace whose keys are clusters."""
    between = [_ARROW.join((one, other)) for one in clusters for other in clusters if one != other]
    return {
        "topicDispatchRate": {name: {"dispatchThrottlingRateInMsg": tag} for name in clusters},
        "replicatorDispatchRate": {name: {"dispatchThrottlingRateInByte": tag} for name in between},
    }


# -- breaks


def values_are_read_as_they_are() -> Patches:
    """What leaves a region has the names of its brokers."""
    return [(ClusterNames, "value_in_group", lambda _, __, value: value)]


def values_are_written_as_they_are() -> Patches:
    """What comes in has the names of the group."""
    return [(ClusterNames, "value_here", lambda _, __, value: value)]


def keys_are_not_mapped() -> Patches:
    """Only arrays of names are mapped."""
    return [(cluster_names, "KEYED", {})]


def paths_are_not_mapped() -> Patches:
    """A cluster is declared by the name of the group."""
    return [(cluster_names, "_renamed", lambda path, _: path)]


def two_names_become_one() -> Patches:
    """Who is left without a name keeps its own, although it was given away."""
    return [(cluster_names, "closed", dict)]


def digests_are_over_the_names_of_the_store() -> Patches:
    """Values travel by the names of the group, and are compared by those of the store."""
    of, noting = _noting()
    value_in_group, event_of = ClusterNames.value_in_group, observing.event_of

    def mapped(settings: Any, register: Any, value: bytes | None, *rest: Any) -> Any:
        names = of.get(settings.region)
        if names is not None and value is not None:
            value = value_in_group(names, register.path, value)
        return event_of(settings, register, value, *rest)

    return [*noting, *values_are_read_as_they_are(), (observing, "event_of", mapped)]


def guards_judge_the_names_of_the_store() -> Patches:
    """A policy is looked at as it will stand in the store."""
    of, noting = _noting()

    def blind(proposal: Proposal) -> GuardRefusal | None:
        names, path = of.get(proposal.settings.region), proposal.register.path
        if names is not None:
            present, proposed = (
                None if each is None else parse(names.value_here(path, orjson.dumps(each)))
                for each in (proposal.present, proposal.proposed)
            )
            proposal = replace(proposal, present=present, proposed=proposed)
        return examine(proposal)

    return [*noting, (decided_writes, "examine", blind)]


def another_table_is_not_noticed() -> Patches:
    """What stands at the revision that was read before is not read again."""
    return [(uncompared, "moved", lambda *_: False)]


def a_table_that_comes_back_is_not_noticed() -> Patches:
    """The fence names the former table until all was read by another one."""

    def keeping(entry: Entry | None, *rest: Any, at: str, **more: Any) -> Any:
        found = raised(entry, *rest, at=at, **more)
        return found if entry is None else replace(found, at=Fence.decode(entry.value).at)

    return [(driver, "raised", keeping)]


def _noting() -> tuple[dict[Region, ClusterNames], Patches]:
    """The names by which each region's store was read last."""
    from tests.simulation.store import SimStore

    found: dict[Region, ClusterNames] = {}
    entry = SimStore.entry

    def noting(store: SimStore, path: MetaPath) -> Entry | None:
        if store.names is not None:
            found[store.region] = store.names.product
        return entry(store, path)

    return found, [(SimStore, "entry", noting)]


def a_short_dispute_ends_unseen() -> Patches:
    """The end of a dispute releases its holds only where one tick saw the dispute, and a later one its end."""
    facts_of = observe.facts_of

    def before_the_tick(local: OwnStore, *words: Any) -> dict[MetaPath, Facts]:
        seen, grew = local.clusters.doubted, local.clusters.grew
        found = facts_of(local, *words)
        local.clusters.doubted, local.clusters.grew = seen, grew
        return found

    return [(observe, "facts_of", before_the_tick)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("values leave by the names of the store", ("mappings",), values_are_read_as_they_are),
    ("values are written by the names of the group", ("mappings",), values_are_written_as_they_are),
    ("names in keys are not mapped", ("mappings",), keys_are_not_mapped),
    ("names in paths are not mapped", ("mappings",), paths_are_not_mapped),
    ("two names become one", ("mappings",), two_names_become_one),
    ("digests are over the names of the store", ("mappings",), digests_are_over_the_names_of_the_store),
    ("guards judge the names of the store", ("mappings",), guards_judge_the_names_of_the_store),
    ("another table of names is not noticed", ("mappings",), another_table_is_not_noticed),
    ("a short dispute about names ends unseen", ("disputes",), a_short_dispute_ends_unseen),
    ("a table of names that comes back is not noticed", ("mappings",), a_table_that_comes_back_is_not_noticed),
)
"""Each break, the modes that find it, and what it patches."""
