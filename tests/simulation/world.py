"""The world: regions with their stores, clocks, disks and daemons, one bus, outside writers, and chance.

Everything follows from one seed. A schedule is a number of actions with faults; then the faults end, everything is
delivered and drained, and the referee judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Final

import orjson

from syncer.conflict.changeover import NEWEST, ProjectionsInUse
from syncer.conflict.classes.pairs import class_of
from syncer.conflict.deletes.collected import CollectedTopics
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.guards import IN_DISPUTE, Topics
from syncer.conflict.projection import FORMERS, PROJECTIONS
from syncer.conflict.replica import Replica
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.errors import RevisionMismatch, StateUnavailable
from syncer.model import MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.paths import classify, fence_path
from syncer.replication.antientropy.class_sums import SumsLabel
from syncer.replication.fence import Fence, order_of
from syncer.replication.membership.leave import LEFT_REASON
from syncer.state.contract.membership import JOINING
from syncer.stores.contract import BatchRefused
from tests.simulation import collecting, own_credentials, pictures
from tests.simulation.broker_writes import BrokerGroup, BrokerWriters
from tests.simulation.bus import Publishing, SimBus
from tests.simulation.classes import travels_rightly
from tests.simulation.cluster_names import CLUSTER, ISOLATION, OWN, BrokerNames, clustered, rates
from tests.simulation.collecting import Collectors
from tests.simulation.disk import Crash, Disk, Tables, Trouble
from tests.simulation.excluding import NAMESPACES as EXCLUDING
from tests.simulation.excluding import OwnFieldWriters, drawn, ruled
from tests.simulation.exclusion_rules import ExclusionRules
from tests.simulation.faults import MODES, PARK_GRACE_MS, Mode
from tests.simulation.field_rules import FieldRules
from tests.simulation.history import Content, History, Violation
from tests.simulation.liar import Liar
from tests.simulation.looking import Look, at_hold, decide, looks_at
from tests.simulation.misread import misread, programs_of_before, write_one
from tests.simulation.name_disputes import NameDisputes
from tests.simulation.offloading import CarryRules, is_set_to, set_to
from tests.simulation.offloading import drawn as drawn_to_carry
from tests.simulation.pictures import Picture
from tests.simulation.referee import Referee
from tests.simulation.region import PUT_BACK, TICK_MS, Daemon, Purpose, Request
from tests.simulation.store import SimStore, StoreCopy, StoreKind
from tests.simulation.story import Story
from tests.simulation.topic_daemon import TopicDaemon
from tests.simulation.topic_store import POLICIES, TopicStore
from tests.simulation.topics import SCOPE as SCOPE_WITH_POLICIES
from tests.simulation.topics import TopicWorld
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.shrinking import Tape

BEGINNING_MS: Final = 1_700_000_000_000
SCOPE: Final = Scope()

TENANT: Final = MetaPath("/admin/policies/t")
NAMESPACE: Final = MetaPath("/admin/policies/t/n")
TOPIC: Final = MetaPath("/admin/partitioned-topics/t/n/persistent/p")
KEEPER: Final = MetaPath("/admin/resourcegroups/keeper")
LONE: Final = MetaPath("/admin/resourcegroups/r")
SCOPE_WITH_CLUSTERS: Final = Scope((Rule("/admin/clusters/**", Direction.BOTH), *DEFAULT_RULES))
SCOPES: Final = (
    SCOPE,
    SCOPE,
    *(
        Scope((Rule(path, direction), *DEFAULT_RULES))
        for path in (LONE, MetaPath("/admin/resourcegroups/s"))
        for direction in (Direction.PUBLISH, Direction.APPLY, Direction.IGNORE)
    ),
)
"""Of these a region draws its own where scopes differ."""
CLASSES: Final = (
    SCOPE,
    *(
        Scope((*(Rule(path, direction) for path in ignored), *DEFAULT_RULES))
        for direction in (Direction.IGNORE, Direction.IGNORE, Direction.APPLY)
        for ignored in (
            (LONE,),
            (MetaPath("/admin/resourcegroups/s"),),
            (LONE, MetaPath("/admin/resourcegroups/s")),
        )
    ),
)
"""And of these, where they differ in what is carried."""
WHOLE_OR_NOT: Final = (
    SCOPE,
    SCOPE,
    *(
        Scope((*(Rule(path, Direction.IGNORE) for path in ignored), *DEFAULT_RULES))
        for ignored in ((LONE,), (LONE, MetaPath("/admin/resourcegroups/s")))
    ),
)
"""And of these, where a path is carried both ways or not at all."""
TREES: Final = (
    SCOPE,
    *(
        Scope((*(Rule(path, direction) for path in paths), *DEFAULT_RULES))
        for direction in (Direction.APPLY, Direction.APPLY, Direction.PUBLISH, Direction.IGNORE)
        for paths in (
            ("/admin/policies/t",),
            ("/admin/policies/t", "/admin/policies/t/**", "/admin/partitioned-topics/t/**"),
            ("/admin/policies/t/**",),
            ("/admin/policies/t/n",),
            ("/admin/partitioned-topics/t/**",),
            ("/admin/policies/*",),
        )
    ),
)
"""And of these, where tenants, namespaces and topics have directions of their own."""
PATHS: Final = (
    LONE,
    MetaPath("/admin/resourcegroups/s"),
    TENANT,
    NAMESPACE,
    TOPIC,
    MetaPath("/admin/policies/t/m"),
    MetaPath("/admin/policies/u"),
)

NAMED_PATHS: Final = (TENANT, NAMESPACE, CLUSTER, MetaPath("/admin/policies/t/m"), ISOLATION)
"""Those where the brokers of regions have names of their own."""

_OTHER_NAMES: Final = 0.5
"""How often another region than the first one has some."""
_NAMES: Final = "abcdef"
_FEWEST: Final = 2
"""Regions that stay."""
Part = tuple[int, str]
"""A piece of a schedule: the number of the action, and what of it."""
_WIDELY_MS: Final = 10_000
_ROUNDS: Final = 60
_NEWER_PROGRAM: Final = 0.3
"""How often a daemon that is started anew is of the newer program."""
_ALL_UPGRADED: Final = 0.8
"""How often all regions have the newer program at the end."""
_FIRST: Final = {kind: formers[-1] for kind, formers in FORMERS.items()}
FORMERLY: Final = ProjectionsInUse({**PROJECTIONS, **_FIRST}, able=frozenset(each.id for each in _FIRST.values()))
"""How the first program projects."""
_ALL_CARRY: Final = 0.7
"""How often all regions are set to carry at the end."""
_COMPARING_ROUNDS: Final = 400
_QUIET_ROUNDS: Final = 4
_MOVES_PER_ROUND: Final = 4000


@dataclass(eq=False, repr=False)
class Site:
    """One region: its store, its database, its clock, and the daemons that run there."""

    region: Region
    replica: Replica
    disk: Disk
    story: Story
    met: Counter[str]
    skew_ms: int = 0
    store: SimStore = field(init=False)
    daemons: list[Daemon] = field(default_factory=list)
    network: list[Request] = field(default_factory=list)
    copies: list[Tables] = field(default_factory=list)
    backups: list[StoreCopy] = field(default_factory=list)
    pairs: list[tuple[Tables, StoreCopy]] = field(default_factory=list)
    """The database and the store as they were at one moment."""
    outdated: str = ""
    """The database whose store was put back: it may stamp nothing any more."""
    beside: str = ""
    """The database beside which a store was put back, whether it had read that store whole before or not."""
    scope: Scope | None = None
    """Its own; ``None``: that of the world."""
    cut_off_until: int = 0
    """Until then nothing passes between the region and the bus."""
    writer: Daemon | None = None
    """Who raised the fence last."""
    topics: dict[MetaPath, Topics] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)
    """What its operators have looked at, and think about."""
    brokers: BrokerGroup | None = None
    """Its brokers, where they have versions."""
    collectors: Collectors | None = None
    """Its brokers, where they may collect topics."""
    came_in: dict[MetaPath, Content] = field(default_factory=dict)
    """What stood at paths that came into its scope, when they last did."""
    lacks: dict[MetaPath, Content] = field(default_factory=dict)
    """Deletes of paths that came into its scope then, which were made before."""
    leaving: dict[MetaPath, Stamp] = field(default_factory=dict)
    """What was due at paths that its scope leaves out, which no daemon has begun with yet."""
    let_go: dict[MetaPath, Stamp] = field(default_factory=dict)
    """What was due at paths when they left its scope, and was not told to it again since."""
    claims: str = ""
    """The name that it has for its own cluster, where that is not one of its own; a mistake of its operator."""
    older: bool = False
    """It runs the program before this one."""
    began_older: bool = False
    deletes: list[int] = field(default_factory=list)
    """When daemons of the present database, or of an earlier state of it, let deletes pass."""

    def clock(self) -> Millis:
        """The region's clock, wrong by its skew."""
        return Millis(self.story.now + self.skew_ms)

    @property
    def daemon(self) -> Daemon:
        """The daemon that was started last."""
        return self.daemons[-1]

    @property
    def has_left(self) -> bool:
        """Whether it has left the group, as a person has asked it to."""
        tables = self.disk.tables
        return tables.membership.left_at is not None and tables.identity.paused == LEFT_REASON

    def projects_as(self, projections: ProjectionsInUse) -> bool:
        """Whether its database has the digests of these."""
        return self.disk.tables.identity.projections == projections.kept_as

    def land(self, request: Request) -> None:
        """A transaction reaches the store."""
        self.network.remove(request)
        try:
            request.answers = self.store.apply(request.writes, request.meaning)
        except BatchRefused as refusal:
            request.refusal = refusal
        else:
            if request.purpose is Purpose.RAISE:
                self.writer = request.author
            elif self.writer is not request.author:
                raise Violation("two writers", "", f"a former writer of {self.region} still writes")
        if request.forsaken:
            self.met["late landing"] += request.answers is not None
            what = "refuses" if request.refusal is not None else "takes"
            self.story.tell(self.region, f"the store {what} a late transaction")

    def comes_too_late(self, request: Request) -> None:
        """A transaction was sent to a store that is no more: whoever put it back has started it anew."""
        self.network.remove(request)
        request.refusal = BatchRefused(0, RevisionMismatch(PUT_BACK))


class World:
    """A whole simulated group.

    Args:
        mode: What may go wrong.
        seed: Of everything that chance decides.
        kinds: Stores of the regions, in order; by default chance decides how many and of what kind.
        disks: Makes a region's database.
        coded: Messages travel as the bytes of the topic.
        tape: Draws instead of the seed, and leaves parts out.
    """

    def __init__(
        self,
        mode: Mode,
        seed: int = 0,
        kinds: tuple[StoreKind, ...] | None = None,
        disks: Callable[[Region], Disk] = Disk,
        *,
        coded: bool = False,
        tape: Tape | None = None,
    ) -> None:
        self.mode = mode
        self._disks = disks
        self._part: Callable[[Part], bool] = (lambda _: True) if tape is None else tape.part
        self.rng = Random(seed) if tape is None else tape
        self.story = Story(started_at_ms=BEGINNING_MS, now=BEGINNING_MS)
        self.history = History()
        self.of_before: set[Region] = set()
        """Regions whose programs do not ask what brokers can read."""
        self.sites: dict[Region, Site] = {}
        self.gone: dict[Region, Site] = {}
        self.referee = Referee(self.history, self.story, self.sites, self.gone)
        self.scope = SCOPE_WITH_CLUSTERS if mode.names else SCOPE_WITH_POLICIES if mode.system_topics else SCOPE
        self.topics = TopicWorld(self) if mode.system_topics else None
        """What is more where topic policies are in topics."""
        self.forsaken: list[Publishing] = []
        self.pictures: list[Picture] = []
        """Of any region, at any moment of the past."""
        self.writers: BrokerWriters | OwnFieldWriters | None = None
        """The outside writers, where brokers have versions, or regions have fields for themselves."""
        if mode.versions:
            fields = self.referee.fields = FieldRules(self.history, self.referee.lost, self.referee.met)
            self.writers = BrokerWriters(self, fields)
        elif mode.excludes:
            rules = self.referee.fields = ExclusionRules(self.history, self.referee.lost)
            self.writers = OwnFieldWriters(self, rules)
        self.carrying = CarryRules(self.sites) if mode.carries else None
        """Judges the part of policies of offloading that is carried."""
        if self.carrying is not None:
            self.referee.fields = self.carrying
        if mode.claims:
            self.referee.disputes = NameDisputes()
        self.met = self.referee.met
        """What this schedule has met, by the names of :mod:`tests.simulation.coverage`."""
        if kinds is None:
            kinds = tuple(self.rng.choice(mode.kinds) for _ in range(self.rng.choice(mode.regions)))
        for name, kind in zip("abc", kinds, strict=False):
            site = self._site(Region(name), kind)
            self.sites[site.region] = site
        if mode.compares:
            self.referee.kept_anywhere(self.sites.values())
        self.bus = SimBus(tuple(self.sites), mode.reorder, vanishes=self._vanishes, met=self.met, coded=coded)
        self.met["names"] += any(site.store.names is not None for site in self.sites.values())
        self.met["scopes"] += len({site.scope for site in self.sites.values()}) > 1
        skews = [site.skew_ms for site in self.sites.values()]
        self.met["skew"] += max(skews) - min(skews) > _WIDELY_MS
        if mode.classes and not mode.rescope:
            self.bus.judges = partial(travels_rightly, sites=self.sites)
        self.referee.published = lambda: self.bus.events
        self.referee.on_bus = lambda path, stamp: (path, stamp) in self.bus.stamps
        self.mislays = mode.mislay
        self.starves = mode.starved
        self.dark_until: dict[Region, int] = {}
        self._tag = 0
        self.liar = Liar(self) if mode.lies else None
        if self.liar is not None:
            self.history.latest = lambda: self.story.now + mode.skew_ms + mode.limits.max_clock_skew_ms
            self.referee.liar = self.liar

    def _site(self, region: Region, kind: StoreKind) -> Site:
        clusters = frozenset({"east"} if self.mode.guarded else ())
        brokers = Brokers() if self.mode.versions else None
        settings = Settings(
            region=region,
            limits=self.mode.limits,
            clusters=clusters,
            brokers=brokers,
            collected_topics=CollectedTopics.HOLD if self.mode.collects else None,
        )
        if self.mode.misread and self.rng.random() < 0.5:
            self.of_before.add(region)
        replica = Replica(settings)
        site = Site(region, replica, self._disks(region), self.story, self.met)
        site.disk.alone = lambda: len(site.daemons) <= 1
        if self.mode.picture:
            site.disk.born = lambda: site.clock() // 1000
        skew = self.mode.skew_ms
        site.skew_ms = self.rng.randint(-skew, skew) if skew else 0

        def overwritten(path: MetaPath, old: Content, new: Content) -> None:
            self.referee.overwritten(site, path, old, new)

        make = TopicStore if self.topics is not None else SimStore
        site.store = make(region, kind, self.history, site.clock, overwritten, self.referee.unprotected)
        if self.topics is not None and isinstance(site.store, TopicStore):
            site.store.forges = partial(self.topics.forged, site)
        site.store.wrote = lambda *what: self.referee.wrote(site, *what)
        site.store.put_outside(KEEPER, b'{"keep":1}')
        if self.mode.versions:
            site.brokers = BrokerGroup.drawn(self.rng)
        if self.mode.names and (not self.sites or self.rng.random() < _OTHER_NAMES):
            site.store.names = BrokerNames.drawn(region, self.rng)
            self._serves_by_name(site)
        if self.mode.excludes:
            self._excludes(site)
        if self.mode.carries:
            set_to(site, drawn_to_carry(self.rng))
            site.store.carries = lambda: is_set_to(site)
        if self.mode.collects:
            site.collectors = Collectors.drawn(self.rng)
        if self.mode.scopes:
            site.scope = self.rng.choice(self._scopes)
        if self.mode.older and self.rng.random() < self.mode.older:
            site.older = site.began_older = True
            site.replica = Replica(replace(site.replica.settings, projections=FORMERLY))
        return site

    @property
    def _scopes(self) -> tuple[Scope, ...]:
        """The scopes of which a region draws its own."""
        if self.mode.opting:
            return WHOLE_OR_NOT
        return TREES if self.mode.trees else CLASSES if self.mode.classes else SCOPES

    def _excludes(self, site: Site) -> None:
        """A region has some fields for itself, by chance."""
        rules = self.referee.fields
        assert isinstance(rules, ExclusionRules)
        ruled(site, drawn(self.rng))
        rules.ruled(site)
        self.met["excludes"] += any(map(site.replica.settings.excluded, EXCLUDING))

    @staticmethod
    def _serves_by_name(site: Site) -> None:
        """The guards of the next daemon know its clusters as the configuration does."""
        names = site.store.names
        assert names is not None
        own = frozenset(map(names.product.in_group, {names.own_here}))
        site.replica = Replica(replace(site.replica.settings, clusters=own))

    def _vanishes(self, region: Region) -> bool:
        if self.dark_until.get(region, 0) > self.story.now:
            return True
        return bool(self.mode.vanish) and self.rng.random() < self.mode.vanish

    def expected_by(self, region: Region) -> list[Region]:
        """The peers that a region's daemon is told to expect; none: whoever speaks."""
        others = [other for other in self.sites if other != region]
        return others if self.liar is None else self.liar.expected_by(others)

    @property
    def everywhere(self) -> tuple[Site, ...]:
        """All regions that there ever were."""
        return (*self.sites.values(), *self.gone.values())

    # -- what a test or chance can do

    def start(self, region: str) -> Daemon:
        """Start a daemon."""
        site = self.sites[Region(region)]
        if site.older:
            site.disk.set_facts(projections=FORMERLY.kept_as)
            if self.rng.random() < _NEWER_PROGRAM:
                self._upgrade(site)
        try:
            daemon = Daemon(self, site) if self.topics is None else TopicDaemon(self, site)
        except (Crash, StateUnavailable):
            self.story.tell(region, "a daemon ends before it has begun")
            return self.start(region)
        site.daemons.append(daemon)
        self.story.tell(region, "a daemon starts")
        return daemon

    def _upgrade(self, site: Site) -> None:
        """The next daemon of a region is of the newer program."""
        site.older = False
        site.replica = Replica(replace(site.replica.settings, projections=NEWEST))
        self.met["newer program"] += 1
        self.story.tell(site.region, "its program is newer from now on")

    def value(
        self,
        path: MetaPath,
        tag: int | None = None,
        local: int = 4,
        clusters: tuple[str, ...] | None = None,
        partitions: int = 4,
    ) -> bytes:
        """A value of the path's kind; equal tags are equal projections, ``local`` is what each cluster keeps."""
        if tag is None:
            self._tag += 1
            tag = self._tag
        if clusters is None:
            clusters = clustered(tag) if self.mode.names else ("east",)
        resource = classify(path)
        match resource.kind if resource else None:
            case ResourceKind.TENANT:
                document: dict[str, object] = {"adminRoles": [f"role-{tag}"], "allowedClusters": [*clusters]}
            case ResourceKind.NAMESPACE:
                document = {"replication_clusters": [*clusters], "tag": tag, "bundles": {"numBundles": local}}
                if self.mode.names:
                    document |= rates(clusters, tag)
            case ResourceKind.CLUSTER:
                document = {"serviceUrl": f"http://{local}", "peerClusterNames": [*clusters, f"peer-{tag}"]}
            case ResourceKind.PARTITIONED_TOPIC:
                document = {"partitions": partitions, "properties": {"tag": str(tag)}}
            case ResourceKind.ISOLATION_POLICY:
                document = {"some": {"namespaces": [f"t/n-{tag}"]}}
            case _:
                document = {"tag": tag}
        return orjson.dumps(document)

    def put(self, region: str, path: MetaPath, value: bytes) -> Content | None:
        """Somebody writes into a region's store."""
        names = self.sites[Region(region)].store.names
        if names is not None:
            value = names.written_by_brokers(value)
        if self.writers is None:
            value = own_credentials.with_own(region, path, value, always=self.carrying is not None)
        if self.carrying is not None:
            value = self.carrying.numbered(path, value)
        content = self.sites[Region(region)].store.put_outside(path, value)
        if self.carrying is not None:
            self.carrying.written_outside(self.sites[Region(region)], path)
        self.story.tell(
            region,
            "outside: puts" if content is not None else "outside: cannot put",
            path,
            content if content is not None else "",
        )
        return content

    def delete(self, region: str, path: MetaPath) -> Content | None:
        """Somebody deletes from a region's store."""
        content = self.sites[Region(region)].store.delete_outside(path)
        if self.carrying is not None:
            self.carrying.written_outside(self.sites[Region(region)], path)
        if content is not None and self.mode.collects:
            collecting.parent_goes(self.history, self.sites[Region(region)], path)
        what = "outside: deletes" if content is not None else "outside: cannot delete"
        self.story.tell(region, what, path, content if content is not None else "")
        return content

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self.story.now += milliseconds

    def cut_off(self, region: Region) -> bool:
        """Whether nothing passes between a region and the bus now."""
        site = self.sites.get(region)
        return site is not None and site.cut_off_until > self.story.now

    # -- a schedule made by chance

    def run(self) -> None:
        """One whole schedule.

        Raises:
            Violation: A rule was broken.
        """
        with programs_of_before(self.of_before):
            self._run()

    def _run(self) -> None:
        self._begin()
        for number in range(self.rng.randint(*self.mode.actions)):
            if self._part((number, "action")):
                self.story.step += 1
                self.advance(self.rng.choice((1, 5, 50, 400, 2500)))
                self._act(number)
        self._part((-1, "end"))
        self.finish()

    def _begin(self) -> None:
        rng = self.rng
        if self.writers is not None:
            self.writers.found()
        if self.topics is not None:
            self.topics.found()
        for region, site in self.sites.items():
            for path in self.paths if self.writers is None else ():
                if rng.random() < self.mode.found:
                    self.put(region, path, self.value(path, tag=rng.choice((None, 900, 901))))
            if self.mode.restore:
                site.backups.append(site.store.copy())  # of before there was a fence
            if rng.random() >= self.mode.late:
                self.start(region)
                self.drain(site)
            else:
                self.met["late"] += 1

    @property
    def paths(self) -> tuple[MetaPath, ...]:
        """The paths that outside writers use."""
        if self.topics is not None:
            return (*POLICIES, LONE)[: self.mode.paths]
        return (NAMED_PATHS if self.mode.names else PATHS)[: self.mode.paths]

    def _act(self, number: int) -> None:
        rng, mode, part = self.rng, self.mode, self._part
        if rng.random() < mode.outside and part((number, "outside")):
            self._outside()
        if self.liar is not None and rng.random() < mode.lies and part((number, "lie")):
            self.liar.speak()
        part((number, "site"))
        site = rng.choice(list(self.sites.values()))
        if part((number, "fault")):
            self._fault(site)
        part((number, "moves"))
        if mode.part:
            self._dismiss_left()
            if site.region not in self.sites:
                return
        if not site.daemons:
            if rng.random() < 0.3:
                self.start(site.region)
            return
        for move in range(rng.randint(1, 6)):
            if part((number, f"move {move}")) and not self._move(site):
                return

    def _move(self, site: Site) -> bool:
        """One move of chance at one region; ``False`` when there is none."""
        rng = self.rng
        if self.topics is not None and self.topics.move(site):
            return True
        if site.network and rng.random() < 0.5:
            request = rng.choice(site.network)
            if request.forsaken and rng.random() < 0.3:
                site.network.remove(request)
            elif not request.forsaken or rng.random() < 0.5:
                site.land(request)
            return True
        if self.bus.under_way and rng.random() < 0.5:
            publishing = rng.choice(self.bus.under_way)
            if not self.cut_off(publishing.region):
                self._land_message(publishing)
                return True
        if not site.daemons:
            return False
        daemon = rng.choice(site.daemons)
        moves = daemon.moves()
        if not moves:
            return False
        rng.choice(moves)()
        return True

    def _land_message(self, publishing: Publishing) -> None:
        if publishing in self.forsaken and self.rng.random() < 0.3:
            self.bus.drop(publishing)
            return
        self.bus.land(publishing)

    def _outside(self) -> None:
        rng = self.rng
        if self.writers is not None:
            self.writers.outside()
            return
        region = rng.choice(list(self.sites))
        store = self.sites[region].store
        path = rng.choice(self.paths)
        node = store.nodes.get(path)
        if self.mode.guarded and node is not None and rng.random() < self.mode.guarded:
            self._guarded(region, path)
            return
        choice = rng.random()
        if node is None:
            self.put(region, path, self.value(path, tag=900 if choice < 0.1 else None))
        elif choice < 0.45 or (choice < 0.78 and misread(path, node.value)):
            self.put(region, path, self.value(path))
        elif choice < 0.55:
            self.put(region, path, self.value(path, tag=rng.choice((900, 901))))
        elif choice < 0.62:
            self._touch(region, path, node.value)
        elif choice < 0.72:
            deleted, made = self.delete(region, path), self.put(region, path, self.value(path))
            self.met["recreated"] += deleted is not None and made is not None
        elif choice < 0.78:
            self.put(region, path, self.value(path))
            self.put(region, path, node.value)
        else:
            self.delete(region, path)

    def _guarded(self, region: Region, path: MetaPath) -> None:
        """Somebody makes a change that has to wait for a person elsewhere, or one of a quarrel."""
        rng = self.rng
        if self.mode.misread and rng.random() < self.mode.misread / self.mode.guarded:
            write_one(self, Region(region), path)
        elif rng.random() < self.mode.garbage / self.mode.guarded:
            self.story.tell(region, "outside: garbles", path)
            self.met["garbage"] += self.sites[region].store.garble(path)
        elif rng.random() < 0.4:
            self.put(region, path, self.value(path, tag=rng.choice((900, 901))))
        elif rng.random() < 0.2:
            self.delete(region, path)
        else:
            clusters = rng.choice((("east",), ("west",), ("east", "north"), ("east", "west"), ()))
            self.met["guarded"] += 1
            self.put(region, path, self.value(path, clusters=clusters, partitions=rng.choice((1, 2, 4, 8))))

    def _touch(self, region: Region, path: MetaPath, value: bytes) -> None:
        """Only local fields, or only bytes, change."""
        document = orjson.loads(value)
        if "bundles" in document:
            document["bundles"] = {"numBundles": self.rng.randint(1, 64)}
        self.put(region, path, orjson.dumps(document, option=orjson.OPT_INDENT_2))

    def _fault(self, site: Site) -> None:
        rng, mode = self.rng, self.mode
        daemon = rng.choice(site.daemons) if site.daemons else None
        chances = (
            (mode.crash, "crash"),
            (mode.cut, "cut"),
            (mode.gap, "gap"),
            (mode.lose, "lose"),
            (mode.duplicate, "duplicate"),
            (mode.second, "second"),
            (mode.jump, "jump"),
            (mode.pause, "pause"),
            (mode.dark, "dark"),
            (mode.partition, "partition"),
            (mode.compaction, "compaction"),
            (mode.sleep, "asleep"),
            (mode.decide, "look"),
            (mode.decide, "decide"),
            (mode.picture, "picture"),
            (mode.picture, "repair"),
            (mode.away, "away"),
            (mode.wipe, "wipe"),
            (mode.wipe, "copy"),
            (mode.restore, "back up"),
            (mode.restore, "restore"),
            (mode.both, "both back up"),
            (mode.both, "both"),
            (mode.part, "part"),
            (mode.join, "join"),
            (mode.versions, "versions"),
            (mode.untold, "silence"),
            (mode.rescope, "rescope"),
            (mode.rest, "rest"),
            (mode.rename, "rename"),
            (mode.rule, "rule"),
            (mode.withheld, "withheld"),
            (mode.compacts, "compacts"),
            (mode.goes, "goes"),
            (mode.collects, "collects"),
            (mode.turns, "turns"),
            (mode.carries, "carries"),
            (mode.claims, "claims"),
            (mode.young, "young"),
        )
        for chance, name in chances:
            if chance and rng.random() < chance and self._strike(name, site, daemon):
                self.met[name] += 1

    def _strike(self, name: str, site: Site, daemon: Daemon | None) -> bool:  # noqa: C901, PLR0912 - one case per fault
        rng = self.rng
        match name:
            case "crash" if daemon is not None:
                daemon.crash()
            case "cut":
                site.disk.trouble = rng.choice((Trouble.UNAVAILABLE, Trouble.CRASH_BEFORE, Trouble.CRASH_AFTER))
            case "gap" if daemon is not None and daemon.watch is not None and daemon.watch.whole:
                daemon.watch.tear()
            case "lose" if daemon is not None and daemon.alive:
                if daemon.request is not None:
                    daemon.lose_answer()
                elif daemon.publishing is not None:
                    daemon.lose_acknowledgement()
                elif daemon.readings:
                    daemon.give_up()
                else:
                    return False
            case "duplicate" if self.bus.log:
                self.bus.duplicate(site.region, rng.randrange(len(self.bus.log)))
            case "second" if len(site.daemons) == 1:
                self.start(site.region)
            case "jump":
                site.skew_ms = rng.randint(-self.mode.skew_ms, self.mode.skew_ms)
                self.story.tell(site.region, "its clock jumps to", None, site.skew_ms)
            case "wipe" if self._others_are_whole(site):
                self.wipe(site, rng.choice([None, *site.copies]))
            case "copy":
                site.copies.append(site.disk.backup())
            case "back up":
                site.backups.append(site.store.copy())
            case "both back up" if site.daemons:
                self.drain(site)  # what waits to be read would be taken for a change of later
                site.pairs.append((site.disk.backup(), site.store.copy()))
            case "both" if site.pairs and not self.referee.lost - {site.region}:  # two old copies prove nothing
                self.bring_back(site, *rng.choice(site.pairs))
            case "restore" if site.backups and self._others_are_whole(site):
                return self.put_back(site, rng.choice(site.backups[-3:]))
            case "pause":
                site.disk.ask(rng.choice(("pause", "resume", "resume")), everywhere=rng.choice(("true", "false")))
            case "dark":
                self.dark_until[site.region] = self.story.now + rng.choice((2_000, 20_000, 200_000))
                self.story.tell(site.region, "gets nothing of the bus for a while")
            case "away":
                self._go_away(site)
            case "part" if len(self.sites) > _FEWEST:
                self._leave(site)
            case "join" if len(self.sites) + len(self.gone) < len(_NAMES):
                self._join()
            case "versions" if isinstance(self.writers, BrokerWriters):
                return self.writers.change(site)
            case "silence" if isinstance(self.writers, BrokerWriters):
                self.writers.silence(site)
            case "rule" if isinstance(self.writers, OwnFieldWriters) and self.writers.may_be_ruled(site):
                self.writers.rule(site, drawn(rng))
            case "carries":
                self.carries(site, not is_set_to(site))
            case "rescope":
                self.rescope(site, rng.choice(self._scopes))
            case "rest":
                self.rescope(site, rng.choice(WHOLE_OR_NOT[2:]))
                self.rest_without(rng.choice(self.paths))
                self.rescope(site, SCOPE)
            case "young" if self._others_are_whole(site):
                self.pictures.append(pictures.take(site, site.scope or self.scope))
                self.rest_without(rng.choice(self.paths))
                self.wipe(site, None)
            case "rename" if site.store.names is not None:
                self.rename(site, site.store.names.table(rng))
            case "claims":
                self.claim(site, rng.choice(("", "", OWN, *(f"of-{other}" for other in self.sites))))
            case "partition":
                site.cut_off_until = self.story.now + rng.choice((2_000, 20_000, 60_000))
                self.story.tell(site.region, "is cut off from the bus for a while")
            case "compaction":
                return site.store.compact()
            case "withheld" if self.topics is not None:
                return self.topics.withhold(site)
            case "compacts" if self.topics is not None:
                return self.topics.compact(site)
            case "goes" if self.topics is not None:
                return self.topics.delete_topic(site)
            case "collects":
                return collecting.collect(self, site)
            case "turns":
                return collecting.turn(self, site)
            case "asleep" if len(site.daemons) == 1 and daemon is not None and daemon.raised:
                self.story.tell(site.region, "a daemon falls asleep")
                daemon.sleeps_until = self.story.now + rng.choice((500, 5_000, 30_000))
                self.start(site.region)
            case "look":
                return self._look(site)
            case "decide":
                return self._decide(site)
            case "picture":
                self.pictures.append(pictures.take(site, site.scope or self.scope, held=self.mode.tells_held))
            case "repair" if self.pictures:
                self.tell_again(site, rng.choice(self.pictures))
            case _:
                return False
        return True

    def rescope(self, site: Site, scope: Scope) -> None:
        """A region is started anew with another scope; what is under way to its store comes too late.

        What has come in counts as met at first from then on, so less is promised of it. A database that takes the place
        of a lost one takes all that it finds for what may be older than the group's: what gives way is kept.
        """
        for daemon in list(site.daemons):
            daemon.crash()
        for request in list(site.network):
            site.comes_too_late(request)
        site.scope = scope
        former = SumsLabel.of(site.disk.tables.tree.label).scope if site.disk.tables.identity.rebuild is None else None
        site.came_in = {
            path: node.content
            for path, node in site.store.nodes.items()
            if node.content is not None and former is not None and scope.contains(path) and not former.contains(path)
        }
        site.lacks = {
            path: content
            for path, content in site.store.absent.items()
            if content.outside and path not in site.store.nodes and former is not None
            if scope.contains(path) and not former.contains(path)
        }
        site.leaving = {
            path: register.known.stamp
            for path, register in site.disk.tables.registers.items()
            if register.known is not None and register.due and not scope.contains(path)
        }
        self.referee.rescopes(site)
        self.story.tell(site.region, "gets another scope", None, scope.fingerprint)

    def carries(self, site: Site, carries: bool) -> None:
        """A region is set otherwise, and started anew; what is under way to its store comes too late."""
        for daemon in list(site.daemons):
            daemon.crash()
        for request in list(site.network):
            site.comes_too_late(request)
        set_to(site, carries)
        self.story.tell(site.region, "is set to carry" if carries else "is set to carry nothing")

    def rest_without(self, path: MetaPath) -> None:
        """Somebody deletes a path, for the group and in each region that does not carry it.

        Nothing else happens for a while, and nothing fails: what is under way arrives, and deletes are forgotten.
        """
        carriers = [each for each in self.sites.values() if (each.scope or self.scope).contains(path)]
        for site in (*carriers[:1], *(each for each in self.sites.values() if each not in carriers)):
            if path in site.store.nodes:
                self.delete(site.region, path)
        self.story.tell("-", "nothing else happens for a while")
        for _ in range(2 * _QUIET_ROUNDS):
            for site in self.sites.values():
                if not any(daemon.alive for daemon in site.daemons):
                    self.start(site.region)
                self.drain(site)
            self.advance(_WIDELY_MS // 2)

    def rename(self, site: Site, told: Mapping[str, str]) -> set[MetaPath]:
        """A region is started anew with another table of names; what is under way to its store comes too late.

        Returns:
            The paths whose values mean something else by it.
        """
        for daemon in list(site.daemons):
            daemon.crash()
        for request in list(site.network):
            site.comes_too_late(request)
        changed = site.store.read_by(told)
        self._serves_by_name(site)
        self.story.tell(site.region, "is told other names", None, *sorted(told.items()))
        return changed

    def claim(self, site: Site, name: str) -> None:
        """A region is started anew with another name for its own cluster; none: one that no other region has."""
        for daemon in list(site.daemons):
            daemon.crash()
        site.claims = name
        self.story.tell(site.region, "has for its own cluster the name", None, name or "that nobody else has")

    def _rename_at_rest(self) -> None:
        """At rest, another table publishes what it gives another meaning, and nothing else; no path comes or goes."""
        stood = [set(site.store.nodes) for site in self.sites.values()]
        named, changed = set(self.history.named), set[MetaPath]()
        for site in self.sites.values():
            if site.store.names is not None:
                changed |= self.rename(site, site.store.names.table(self.rng))
        self.settle()
        if [set(site.store.nodes) for site in self.sites.values()] != stood:
            raise Violation("a table makes or deletes", "", "paths have come or gone since names were changed at rest")
        for path, stamp in self.history.named.keys() - named:
            if path not in changed:
                raise Violation("a table publishes", path, f"{stamp} was given to what has no other meaning")
        self.referee.judge(self)

    def tell_again(self, site: Site, picture: Picture) -> None:
        """A person has a region tell a snapshot, however old it is and whatever it deletes."""
        number = site.disk.bring_in(picture.repair(site.region, site.scope or self.scope), picture.tellings())
        self.story.tell(site.region, f"is to tell the picture of {picture.region} of {picture.taken_at_ms}")
        site.disk.ask("snapshot-sync", repair=str(number), force_old="true", allow_deletes="true")

    def _look(self, site: Site) -> bool:
        """An operator looks at something that waits, or was lost, and thinks about it."""
        looks = list(looks_at(site, self.history))
        if not looks:
            return False
        look = self.rng.choice(looks)
        self.story.tell(site.region, "operator looks at", look.path, look.stamp or "a conflict")
        site.looks.append(look)
        return True

    def _decide(self, site: Site) -> bool:
        """An operator decides about what he was shown at some time before."""
        if not site.looks:
            return False
        self.decide(site, site.looks.pop(self.rng.randrange(len(site.looks))))
        return True

    def decide(self, site: Site, look: Look) -> None:
        """An operator asks for something, by what he was shown."""
        number, kind = decide(site, look, self.rng)
        self.story.tell(site.region, f"operator asks: {kind}", look.path, look.stamp or "a conflict")
        self.referee.asked(site, number, look)

    def _go_away(self, site: Site) -> None:
        """A region is away for long: the bus keeps nothing for it."""
        self.story.tell(site.region, "goes away")
        for daemon in list(site.daemons):
            daemon.crash()
        self.bus.expire(site.region)
        self.dark_until[site.region] = self.story.now + self.rng.choice((60_000, 3_600_000))
        if self.rng.random() < 0.3:
            self.advance(30 * 86_400_000)

    def _leave(self, site: Site) -> None:
        """A region leaves the group in order, as soon as it may; or it is lost for good, and forgotten."""
        if self.rng.random() < 0.5:
            site.disk.ask("regions-leave")
            return
        self.loses_for_good(site.region)

    def loses_for_good(self, region: str) -> None:
        """A region is lost for good, and forgotten."""
        site = self.sites[Region(region)]
        self.story.tell(region, "is lost for good")
        self.referee.loses(site)
        self._dismiss(site)
        other = self.rng.choice(list(self.sites.values()))
        other.disk.ask("regions-forget", region=region, force="true")

    def _dismiss_left(self) -> None:
        """Regions that have left, and have said so, are switched off."""
        for site in list(self.sites.values()):
            if site.has_left and site.daemons and site.daemon.raised:
                site.daemon.beat_heart()
                self.story.tell(site.region, "has left")
                self._dismiss(site)

    def _dismiss(self, site: Site) -> None:
        for daemon in list(site.daemons):
            daemon.crash()
        site.network.clear()
        self.gone[site.region] = self.sites.pop(site.region)
        del self.bus.waiting[site.region]
        self._configure()

    def _join(self) -> None:
        """A new region joins, on an empty store, or on what the store of one that is gone still holds."""
        region = Region(_NAMES[len(self.sites) + len(self.gone)])
        site = self.sites[region] = self._site(region, self.rng.choice(self.mode.kinds))
        former = self.rng.choice([None, *self.gone.values()])
        for path, node in sorted(former.store.nodes.items()) if former is not None else ():
            if path in self.paths:
                site.store.put_outside(path, node.value)
        site.disk.set_facts(paused=self.rng.choice((JOINING, None)))
        if self.mode.picture:
            site.disk.set_facts(generation=site.disk.born())
        self.bus.waiting[region] = []
        self.referee.kept_anywhere(self.everywhere)
        self.story.tell(region, "joins", None, f"on the store of {former.region}" if former is not None else "")
        self._configure()

    def _configure(self) -> None:
        """Every daemon is told anew who belongs to the group."""
        for site in self.sites.values():
            for daemon in list(site.daemons):
                daemon.crash()

    def wipe(self, site: Site, copy: Tables | None) -> None:
        """A region loses its database; at its place stands a new one, or an old copy.

        To bring a copy back takes longer than a message needs: what the region had published has arrived by then.
        """
        for daemon in list(site.daemons):
            daemon.crash()
        if copy is not None:
            for publishing in list(self.bus.under_way):
                while not publishing.done:
                    self.bus.land(publishing)
            for other in self.sites.values():
                if other is not site and other.daemons:
                    self.drain(other)
        site.disk.lose(copy)
        site.deletes.clear()  # nobody is left who knows of them
        site.came_in, site.lacks, site.leaving, site.let_go = {}, {}, {}, {}  # nor of what was not carried
        if copy is None and self.mode.picture:
            site.disk.set_facts(generation=site.disk.born())
        self.referee.loses(site)
        self.story.tell(site.region, "loses its database", None, "an old copy comes back" if copy else "")

    def bring_back(self, site: Site, copy: Tables, store: StoreCopy) -> None:
        """A region's database and its store come back as of one moment: nothing in the store shows it."""
        for request in list(site.network):
            site.comes_too_late(request)
        if self.rng.random() < 0.5:
            self.drain(site)  # its own messages do not come again
        self.wipe(site, copy)
        site.store.put_back(store)
        self.story.tell(site.region, "its store comes back with it")

    def put_back(self, site: Site, copy: StoreCopy) -> bool:
        """A region's store is put back from a backup; ``False``: nothing that is marked has happened since.

        What was not marked yet is promised to nobody. A request comes too late that was under way, or that a daemon
        sends before it is connected anew; it would be met by revisions that are given out again.
        """
        entry = copy.nodes.get(fence_path(site.region))
        if entry is None and self.topics is not None:
            return False  # whose fence it is that messages of topics have, nobody can tell here
        identity = site.disk.tables.identity
        if entry is not None and identity.store_id is not None:
            fence = Fence.decode(entry.value)
            receipt = identity.landed is None or max(map(order_of, fence.landed), default=(0, 0)) >= order_of(
                identity.landed
            )
            if fence.database_id == identity.database_id and receipt and fence.mark >= identity.marked:
                return False
        if isinstance(self.writers, OwnFieldWriters) and not self.writers.may_be_put_back(site, copy):
            return False
        for request in list(site.network):
            site.comes_too_late(request)
        for daemon in site.daemons:
            daemon.cut = True
            daemon.lose_answers()
        site.store.put_back(copy)
        site.beside = identity.database_id
        site.outdated = site.beside if identity.first_scan_done else ""
        self.referee.loses(site)
        if isinstance(self.referee.fields, ExclusionRules):
            self.referee.fields.put_back(site)
        self.story.tell(site.region, "its store is put back from a backup")
        return True

    def refused(self, site: Site) -> None:
        """A daemon has refused a store that is older than its database: a person moves the database away.

        Its generation is the time of its birth, as always: where the store has no fence either, or is put back to when
        it had none, only that tells of what was before, and the peers, if they speak.
        """
        self.wipe(site, None)
        self.advance(1_000)
        site.disk.set_facts(generation=site.clock() // 1000)

    def _others_are_whole(self, site: Site) -> bool:
        """Whether whoever lost its database before has it again: where all lose theirs at once, little can be promised.

        Rarely it happens all the same.
        """
        if self.rng.random() < self.mode.together:
            return True
        if isinstance(self.writers, OwnFieldWriters) and not self.writers.may_be_lost(site):
            return False
        others = [other for other in self.sites.values() if other is not site and other.region in self.referee.lost]
        return all(other.disk.tables.identity.first_scan_done and other.daemons for other in others)

    # -- the end

    def finish(self) -> None:
        """End the faults, deliver and drain everything, and judge.

        Raises:
            Violation: A rule was broken.
        """
        self.story.tell("-", "no more faults")
        self.mislays = 0.0  # at the end everything is delivered, questions and answers, too
        self.starves = 0.0
        for site in self.sites.values():
            site.disk.trouble = Trouble.NONE
            site.disk.ask("resume")
            site.cut_off_until = 0
            if site.claims:
                self.claim(site, "")
            for daemon in site.daemons:
                daemon.sleeps_until, daemon.tick_ms = 0, TICK_MS
            for path, node in list(site.store.nodes.items()):
                if misread(path, node.value):
                    self.put(site.region, path, self.value(path))
        self.dark_until.clear()
        if self.writers is not None:
            self.writers.calm()
        if self.topics is not None:
            self.topics.calm()
        if self.mode.older and self.rng.random() < _ALL_UPGRADED:
            self._upgrade_all()
        if self.mode.carries and self.rng.random() < _ALL_CARRY:
            self._carry_all()
        if self.liar is not None and self.liar.falls_silent():
            self._configure()
        self.settle()
        if self.topics is not None and self.topics.stranding.deliver():
            self.settle()
        self.met["went over"] += any(at.began_older and at.projects_as(NEWEST) for at in self.sites.values())
        self._judge()

    def _judge(self) -> None:
        """Judge what is at rest, and how it rests when all starts anew.

        Raises:
            Violation: A rule was broken.
        """
        self.referee.judge(self)
        if self.writers is not None:
            self.writers.look_closer()
        if self.mode.names:
            self._rename_at_rest()
        if self.topics is not None:
            self.topics.judge()
        if self.rng.random() < 0.3:
            self._look_again()

    def _carry_all(self) -> None:
        for site in self.sites.values():
            if not is_set_to(site):
                self.carries(site, carries=True)

    def _upgrade_all(self) -> None:
        for site in self.sites.values():
            if site.older:
                for daemon in list(site.daemons):
                    daemon.crash()
                self._upgrade(site)

    def _look_again(self) -> None:
        """Start everything anew: nothing may be stamped, nothing may be due."""
        self.story.tell("-", "everything starts anew")
        before = len(self.history.named)
        for site in self.sites.values():
            for daemon in list(site.daemons):
                daemon.crash()
        self.settle()
        if len(self.history.named) != before:
            raise Violation("restless", "", "a restart at rest stamped something")
        self.referee.judge(self)

    def settle(self, *, operated: bool = True) -> None:
        """Until nothing moves any more, and time has passed what waits for it.

        Args:
            operated: A person deals with what is held.

        Raises:
            Violation: It never comes to rest.
        """
        quiet = 0
        for _ in range(_COMPARING_ROUNDS if self.mode.compares else _ROUNDS):
            self.story.step += 1
            before = self._progress()
            for site in self.sites.values():
                if not any(daemon.alive for daemon in site.daemons):
                    self.start(site.region)
                self.drain(site)
            while self.bus.under_way:
                self.bus.land(self.bus.under_way[0])
            self.advance(PARK_GRACE_MS // 2)
            if self.mode.part:
                self._dismiss_left()
            acted = operated and self._operator()
            acted |= self.writers is not None and self.writers.busy()
            acted |= self.topics is not None and self.topics.busy
            drivers = [daemon.driver for site in self.sites.values() for daemon in site.daemons]
            in_use = [parts_of(driver).core.replica.settings.projections for driver in drivers]
            acted |= any(each.former for each in in_use) or len({each.kept_as for each in in_use}) > 1  # one rests
            acted |= any(driver.hearing or (self.liar is not None and driver.starting) for driver in drivers)
            quiet = 0 if acted or self._progress() != before or not self._agreed() else quiet + 1
            if quiet > _QUIET_ROUNDS and self._forgotten():
                return
        if quiet > _QUIET_ROUNDS:
            return  # what is kept all the same, the referee names
        waiting = [
            register.path
            for site in self.sites.values()
            for register in site.disk.tables.registers.values()
            if register.due
        ]
        raise Violation("restless", waiting[0] if waiting else "", "the group does not come to rest")

    def _agreed(self) -> bool:
        """Whether regions that compare their trees have equal ones."""
        if not self.mode.compares:
            return True
        if not all(site.daemons for site in self.sites.values()):
            return False
        return all(self._equal(one, other) for one, other in combinations(self.sites.values(), 2))

    def _equal(self, one: Site, other: Site) -> bool:
        """Whether two regions sum the same over what both carry."""
        label = class_of(one.scope or self.scope, other.scope or self.scope).label
        sums = [parts_of(site.daemon.driver).antientropy.tree_state.tree_of(label) for site in (one, other)]
        return None not in sums and len({tree.root for tree in sums if tree is not None}) == 1

    def _forgotten(self) -> bool:
        """Whether regions that forget deletes have forgotten all.

        An epoch moves nothing that counts as progress until it drops, and one that was begun earlier, over deletes that
        are outdone by now, goes before it: quiet alone does not tell that what may be forgotten is.
        """
        sites = self.sites.values()
        if not self.mode.forgets or len(sites) == 1:
            return True
        return not any(one.forgettable for at in sites for one in at.disk.tables.registers.values())

    def _progress(self) -> tuple[int, ...]:
        """What changes as long as something real happens."""
        numbers: list[int] = [len(self.bus.events), *(self.topics.written() if self.topics is not None else ())]
        for site in self.sites.values():
            tables = site.disk.tables
            registers = tables.registers.values()
            numbers += (len(tables.stamped), len(tables.outbox), len(tables.journal), len(tables.future))
            numbers += (sum(one.due for one in registers), sum(one.intent is not None for one in registers))
            numbers.append(tables.identity.first_scan_done)
            numbers.append(sum(one.forgettable for one in registers) if self.mode.forgets else 0)
            numbers.append(hash(tables.identity.rebuild) if tables.identity.rebuild else 0)
        return tuple(numbers)

    def drain(self, site: Site) -> None:
        """Let one region do all that it can do now."""
        for _ in range(_MOVES_PER_ROUND):
            busy = False
            while site.network:
                site.land(site.network[0])
                busy = True
            if self.topics is not None and self.topics.arrive_all(site):
                busy = True
            for publishing in list(self.bus.under_way):
                while not publishing.done:
                    self.bus.land(publishing)
                busy = True
            for daemon in list(site.daemons):
                busy = self._work(daemon) or busy
            if not busy:
                return
        raise Violation("restless", "", f"{site.region} does not come to rest")

    @staticmethod
    def _work(daemon: Daemon) -> bool:
        """Let a daemon do each thing that is due, the idle one last; whether there was any."""
        moves = daemon.moves()
        idle = {daemon.beat} | ({daemon.scan_on} if daemon.scan is not None and daemon.scan.finished else set())
        due = [move for move in moves if move not in idle]
        for move in due:
            if daemon.alive and (move is due[0] or move in daemon.moves()):
                move()
        if due or not moves or moves[0] == daemon.beat:
            return bool(due)
        daemon.scan_on()
        return daemon.scan is None

    def _operator(self) -> bool:
        """A person lets held changes pass, or takes them back; disputes about names end by themselves here."""
        acted = self.liar is not None and self.liar.cure()
        active = [site.daemon.driver for site in self.sites.values() if site.daemons]
        if active and all(driver.hearing for driver in active):
            self.story.tell(next(iter(self.sites)), "operator: all databases were lost")
            next(iter(self.sites.values())).disk.ask("rebuild", alone="true")
            acted = True
        for site in self.sites.values():
            if site.disk.tables.identity.paused is not None:
                acted = True
                site.disk.ask("regions-join" if site.disk.tables.identity.paused == JOINING else "resume")
            for register in site.disk.tables.registers.values():
                if register.hold is not None and not register.hold.detail.startswith(IN_DISPUTE):
                    acted = True
                    self.decide(site, at_hold(site, self.history, register, register.hold))
        return acted


def play(mode: str, seed: int, disks: Callable[[Region], Disk] = Disk, *, coded: bool = False) -> World:
    """Play one seed of a mode.

    Raises:
        Violation: A rule was broken; its notes tell the story.
    """
    world = World(MODES[mode], seed, disks=disks, coded=coded)
    try:
        world.run()
        for site in world.everywhere:
            site.disk.compare()
            world.met["torn"] += site.disk.torn
    except Exception as error:
        path = getattr(error, "path", "")
        error.add_note(f"mode {mode}, seed {seed}; the last that happened about it:\n{world.story.about(path)}")
        raise
    finally:
        if world.topics is not None:
            world.topics.close()
        for site in world.everywhere:
            site.disk.close()
    return world
