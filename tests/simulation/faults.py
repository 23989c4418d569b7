"""Modes: what may go wrong in a schedule, and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from syncer.conflict.settings import Limits
from syncer.model import Millis
from tests.simulation.store import StoreKind

PARK_GRACE_MS: Final = Millis(20_000)
WIDE: Final = Limits(
    park_grace_ms=PARK_GRACE_MS, max_deletes=10**9, min_deletes=10**9, max_flips=10**6, delete_window_ms=Millis(60_000)
)
NARROW: Final = replace(WIDE, max_deletes=2, min_deletes=1, max_flips=3)

_TRUE_KINDS: Final = (StoreKind.ZOOKEEPER, StoreKind.ETCD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Chances are per action of the schedule, 0 to 1.

    Args:
        actions: Fewest and most actions before the faults end.
        skew_ms: Greatest error of a region's clock.
        reorder: How far a message may overtake others.
        outside: Chance of an outside write.
        crash: Chance that a daemon dies between two steps.
        cut: Chance that the next commit fails, or is followed or preceded by death.
        gap: Chance that a watch misses something.
        lose: Chance that the answer of a transaction or of a publication is lost.
        duplicate: Chance that a message of the bus comes again.
        second: Chance that a second daemon starts on a database that has one.
        jump: Chance that a clock jumps.
        pause: Chance that a region is paused or resumed.
        wipe: Chance that a region loses its database, or gets an old copy of it back.
        restore: Chance that a store is backed up, and that a backup of it is put back.
        both: Chance that a region's database and store are copied at one moment, and that both copies come back.
        together: Chance that this happens although another region has not got over its own loss.
        mislay: Chance that a message about a lost database is lost itself.
        found: Chance that a path exists before the first daemon starts.
        late: Chance that a region's daemon starts later than the others.
        vanish: Chance that a message of the bus never reaches a region, faults ended or not.
        dark: Chance that a region gets nothing of the bus for a while.
        away: Chance that a region goes away for so long that the bus forgets what waits for it.
        part: Chance that one of at least three regions leaves, or is lost for good and forgotten.
        join: Chance that a new region joins, on an empty store or on that of one that is gone.
        regions: How many regions there may be at the beginning.
        partition: Chance that a region and the bus are cut off from each other for a while; nothing is lost by it.
        compaction: Chance that a store forgets what its watches have not taken yet.
        sleep: Chance that a daemon sleeps while a second one starts, and wakes up beside it.
        guarded: Chance that an outside write is one that has to wait for a person in other regions.
        garbage: Chance that somebody writes what nobody can read.
        misread: Chance that somebody writes what is JSON and what no broker can read.
        topics: Chance that topics exist below a path of which a guard asks.
        decide: Chance that an operator looks at what is held, or lost; and that one decides who has looked before.
        picture: Chance that a snapshot of a region is taken, and that one of any age is told again by any region.
        tells_held: Such a snapshot has what is held back too.
        young: Chance that a path is deleted everywhere and forgotten after a snapshot, and then a database is lost.
        lies: Chance that a member says something about anybody that it has made up.
        accuses: How often a lie is that somebody has events of a database which it never gave out.
        versions: Chance that a broker is replaced by one of another version; brokers write, and drop what they do not
            know.
        untold: Chance that the brokers of a region do not tell their versions for a while.
        older: Chance that a region begins with the program before this one, which projects namespaces otherwise.
        masked: It also speaks in the names of others, as it can where all have one key.
        scopes: The scopes of the regions differ.
        classes: They differ in which paths are carried at all.
        trees: They differ in the directions of tenants, of namespaces and of topics.
        opting: A path is carried both ways, or not at all.
        rescope: Chance that a region is started anew with another scope.
        rest: Chance that a region leaves a path out for a while, in which it is deleted everywhere and forgotten.
        names: Brokers of some regions call clusters otherwise than the group does.
        rename: Chance that a region is started anew with another table of such names.
        disputes: Regions tell each other such tables, and what names a cluster waits while they do not agree.
        claims: Chance that a region has a name of another one for its own cluster, or no longer.
        excludes: Regions have fields for themselves, each by rules of its own.
        carries: Some regions are set to carry policies of offloading; chance that one is set otherwise.
        rule: Chance that a region is started anew with other such rules.
        compares: Regions compare their digest trees.
        forgets: Tombstones are dropped, after hardly any grace.
        paths: How many of the paths take part.
        system_topics: Topic policies are kept in topics, which have no compare-and-set.
        withheld: Chance that a topic of policies cannot be read or written for a while.
        compacts: Chance that a region's topics of policies are compacted.
        goes: Chance that a broker deletes a topic, its policies with it, or that such a topic is made again.
        collects: Chance that a broker deletes the declaration of a topic that nobody uses.
        turns: Chance that the brokers of a region begin to do so, or cease to, or do not answer for a while.
        starved: Chance that a daemon's regular work comes late for as long as it lives.
    """

    name: str
    actions: tuple[int, int] = (60, 150)
    kinds: tuple[StoreKind, ...] = _TRUE_KINDS
    skew_ms: int = 10_000
    limits: Limits = WIDE
    reorder: int = 8
    outside: float = 0.12
    crash: float = 0.0
    cut: float = 0.0
    gap: float = 0.0
    lose: float = 0.0
    duplicate: float = 0.02
    second: float = 0.0
    jump: float = 0.0
    pause: float = 0.0
    wipe: float = 0.0
    restore: float = 0.0
    both: float = 0.0
    together: float = 0.0
    mislay: float = 0.0
    found: float = 0.1
    late: float = 0.1
    vanish: float = 0.0
    dark: float = 0.0
    away: float = 0.0
    part: float = 0.0
    join: float = 0.0
    regions: tuple[int, ...] = (2, 2, 3)
    partition: float = 0.0
    compaction: float = 0.0
    sleep: float = 0.0
    guarded: float = 0.0
    garbage: float = 0.0
    misread: float = 0.0
    topics: float = 0.0
    decide: float = 0.0
    picture: float = 0.0
    tells_held: bool = False
    young: float = 0.0
    lies: float = 0.0
    accuses: float = 0.0
    versions: float = 0.0
    untold: float = 0.0
    older: float = 0.0
    masked: bool = False
    scopes: bool = False
    classes: bool = False
    trees: bool = False
    opting: bool = False
    rescope: float = 0.0
    rest: float = 0.0
    names: bool = False
    rename: float = 0.0
    disputes: bool = False
    claims: float = 0.0
    excludes: bool = False
    carries: float = 0.0
    rule: float = 0.0
    compares: bool = False
    forgets: bool = False
    paths: int = 2
    system_topics: bool = False
    withheld: float = 0.0
    compacts: float = 0.0
    goes: float = 0.0
    collects: float = 0.0
    turns: float = 0.0
    starved: float = 0.0


_CALM: Final = Mode(name="calm")

_WIPED_FORGETTING: Final = replace(
    _CALM,
    name="wiped-forgetting",
    limits=NARROW,
    forgets=True,
    wipe=0.01,
    crash=0.01,
    pause=0.01,
    gap=0.01,
    lose=0.03,
    vanish=0.02,
    mislay=0.1,
    reorder=4,
    paths=7,
    actions=(100, 220),
    outside=0.15,
    compares=True,
)
_PARTING: Final = replace(
    _CALM,
    name="parting",
    limits=NARROW,
    forgets=True,
    part=0.01,
    join=0.01,
    regions=(3,),
    wipe=0.004,
    crash=0.01,
    pause=0.01,
    vanish=0.02,
    mislay=0.1,
    reorder=4,
    paths=3,
    actions=(150, 300),
    compares=True,
)
_FORGETTING_STORM: Final = replace(
    _CALM,
    name="forgetting-storm",
    forgets=True,
    actions=(400, 600),
    outside=0.06,
    found=0.3,
    reorder=24,
    crash=0.004,
    cut=0.004,
    gap=0.008,
    lose=0.03,
    duplicate=0.03,
    second=0.004,
    jump=0.01,
    late=0.3,
)
_SCOPES: Final = replace(_CALM, name="scopes", scopes=True, crash=0.01, gap=0.01, outside=0.15, reorder=2)

_CLASSES: Final = replace(
    _SCOPES,
    name="classes",
    classes=True,
    compares=True,
    forgets=True,
    regions=(2, 3, 3),
    paths=3,
    vanish=0.03,
    pause=0.01,
    lose=0.02,
    cut=0.005,
    actions=(80, 180),
)

_OPTING: Final = replace(_CLASSES, name="opting", rescope=0.015, actions=(120, 260))

_REPAIRS_OPTING_FORGETTING: Final = replace(
    _OPTING,
    name="repairs-opting-forgetting",
    opting=True,
    picture=0.15,
    rescope=0.005,
    outside=0.06,
    pause=0.0,
    vanish=0.002,
    regions=(2, 2, 3),
    rest=0.04,
    paths=1,
    found=0.5,
    actions=(120, 200),
)
"""Paths come into a scope after their deletes were forgotten, and snapshots of before are told there."""

_REPAIRS_YOUNG: Final = replace(
    _WIPED_FORGETTING,
    name="repairs-young",
    picture=0.1,
    young=0.04,
    wipe=0.0,
    pause=0.0,
    mislay=0.0,
    vanish=0.002,
    regions=(2, 2, 3),
    paths=1,
    found=0.5,
    outside=0.06,
    actions=(100, 180),
)
"""Databases are made after paths were deleted and forgotten, and are told snapshots of before."""

_SCOPED_TREES: Final = replace(
    _SCOPES, name="scoped-trees", trees=True, compares=True, paths=7, actions=(100, 220), pause=0.005, lose=0.02
)
"""Directions differ between parents and their children."""

_MAPPINGS: Final = replace(
    _CALM,
    name="mappings",
    names=True,
    rename=0.01,
    compares=True,
    guarded=0.3,
    decide=0.02,
    paths=5,
    found=0.4,
    outside=0.15,
    crash=0.01,
    cut=0.005,
    gap=0.01,
    lose=0.02,
    vanish=0.02,
    actions=(80, 180),
)

_DISPUTES: Final = replace(
    _MAPPINGS, name="disputes", disputes=True, rename=0.04, starved=0.5, decide=0.0, vanish=0.01, actions=(60, 120)
)

_CONTRADICTIONS: Final = replace(_DISPUTES, name="contradictions", claims=0.05, rename=0.01, starved=0.2)
"""Two regions may have one name for two clusters."""

_EXCLUDED: Final = replace(
    _CALM,
    name="excluded",
    excludes=True,
    rule=0.012,
    compares=True,
    found=0.5,
    late=0.3,
    outside=0.15,
    crash=0.008,
    cut=0.005,
    gap=0.008,
    lose=0.03,
    vanish=0.02,
    wipe=0.003,
    mislay=0.1,
    reorder=1,
    actions=(80, 180),
)

_VERSIONS: Final = replace(
    _CALM,
    name="versions",
    versions=0.02,
    untold=0.01,
    found=0.5,
    late=0.4,
    outside=0.15,
    crash=0.008,
    cut=0.005,
    gap=0.008,
    lose=0.04,
    second=0.005,
    partition=0.01,
    compaction=0.005,
)
"""The brokers of a region are of several versions, and drop the fields that they do not know."""

_TOPICS: Final = replace(
    _CALM,
    name="topics",
    actions=(150, 300),
    system_topics=True,
    withheld=0.01,
    compacts=0.01,
    goes=0.05,
    outside=0.2,
    crash=0.01,
    cut=0.005,
    gap=0.008,
    lose=0.04,
    second=0.004,
    sleep=0.004,
    paths=4,
)
"""Regions keep topic policies in system topics, where brokers and the daemon overwrite one another."""

_COLLECTED: Final = replace(
    _CALM,
    name="collected",
    collects=0.04,
    turns=0.02,
    compares=True,
    paths=7,
    found=0.6,
    actions=(100, 220),
    outside=0.15,
    crash=0.01,
    cut=0.005,
    gap=0.01,
    lose=0.02,
    second=0.005,
)
"""Brokers delete declarations of topics that nobody uses."""

_OFFLOADING: Final = replace(
    _CALM,
    name="offloading",
    carries=0.008,
    compares=True,
    paths=6,
    found=0.6,
    late=0.3,
    actions=(100, 220),
    outside=0.15,
    crash=0.01,
    cut=0.005,
    gap=0.01,
    lose=0.02,
    vanish=0.02,
    reorder=2,
)
"""Some regions are set to carry policies of offloading, and others not."""

_LIAR: Final = replace(
    _CALM,
    name="liar",
    lies=0.3,
    compares=True,
    regions=(2, 2, 3),
    paths=3,
    reorder=3,
    crash=0.01,
    gap=0.005,
    lose=0.02,
    vanish=0.02,
)
LIARS: Final = (
    _LIAR,
    replace(_LIAR, name="liar-forgetting", forgets=True, actions=(100, 200), outside=0.1, vanish=0.05, lies=0.2),
    replace(_LIAR, name="liar-wiped", wipe=0.02, mislay=0.1),
    replace(_LIAR, name="liar-parting", forgets=True, part=0.015, join=0.015, regions=(3,), actions=(60, 150)),
    replace(_LIAR, name="liar-masked", masked=True),
    replace(_LIAR, name="liar-accusing", lies=0.1, accuses=0.6, masked=True),
)
"""A member says anything about anybody."""

CROSSINGS: Final = (
    replace(_CLASSES, name="liar-classes", lies=0.2, pause=0.0),
    replace(_OPTING, name="liar-opting", lies=0.2, pause=0.0, actions=(80, 180)),
    replace(_EXCLUDED, name="liar-excluded", lies=0.2),
)
"""Two families at once."""

MODES: Final[dict[str, Mode]] = {
    mode.name: mode
    for mode in (
        _CALM,
        replace(_CALM, name="crashes", crash=0.03, cut=0.02),
        replace(_CALM, name="gaps", gap=0.04, crash=0.005),
        replace(_CALM, name="lost", lose=0.15, crash=0.02),
        replace(_CALM, name="actives", second=0.03, crash=0.01, lose=0.05),
        replace(_CALM, name="clocks", skew_ms=25_000, jump=0.03, gap=0.01, crash=0.01),
        replace(_CALM, name="trees", paths=7, actions=(100, 220), outside=0.15),
        replace(_CALM, name="trees-storm", paths=7, actions=(100, 220), outside=0.15, crash=0.02, gap=0.02, lose=0.08),
        replace(_CALM, name="found", found=0.8, late=0.8, crash=0.02, gap=0.01),
        replace(_CALM, name="guards", limits=NARROW, paths=7, actions=(100, 220), outside=0.15, gap=0.02, crash=0.01),
        replace(_CALM, name="aba", kinds=(StoreKind.ZOOKEEPER_ABA, StoreKind.ETCD), gap=0.02, crash=0.01),
        replace(_CALM, name="wiped", wipe=0.02, crash=0.01, mislay=0.1, reorder=1, paths=3, compares=True),
        replace(_CALM, name="wiped-both", both=0.03, reorder=1, paths=3, regions=(2,), compares=True),
        replace(
            _CALM,
            name="wiped-storm",
            wipe=0.02,
            crash=0.01,
            cut=0.01,
            gap=0.02,
            lose=0.05,
            mislay=0.2,
            reorder=1,
            paths=7,
            actions=(100, 220),
            compares=True,
        ),
        replace(
            _CALM,
            name="restored",
            restore=0.06,
            found=0.5,
            crash=0.01,
            cut=0.005,
            gap=0.01,
            lose=0.05,
            mislay=0.1,
            reorder=1,
            paths=3,
            compares=True,
        ),
        _WIPED_FORGETTING,
        _PARTING,
        replace(
            _CALM,
            name="storm",
            paths=3,
            crash=0.015,
            cut=0.015,
            gap=0.02,
            lose=0.08,
            duplicate=0.03,
            second=0.015,
            jump=0.01,
            pause=0.02,
            late=0.3,
        ),
        replace(_CALM, name="vanishing", vanish=0.3, compares=True),
        replace(_CALM, name="dark", dark=0.03, vanish=0.02, crash=0.01, cut=0.02, gap=0.01, compares=True),
        replace(
            _CALM,
            name="away",
            paths=7,
            actions=(100, 220),
            outside=0.15,
            away=0.015,
            vanish=0.05,
            crash=0.01,
            lose=0.05,
            compares=True,
        ),
        replace(
            _CALM,
            name="forgetting",
            forgets=True,
            actions=(400, 600),
            outside=0.06,
            found=0.3,
            reorder=24,
            jump=0.01,
        ),
        replace(
            _CALM,
            name="forgetting-vanishing",
            forgets=True,
            compares=True,
            actions=(300, 500),
            outside=0.06,
            found=0.3,
            reorder=24,
            vanish=0.1,
            duplicate=0.05,
            crash=0.004,
            away=0.001,
            paths=3,
        ),
        _FORGETTING_STORM,
        replace(_CALM, name="partitions", partition=0.03, crash=0.01, gap=0.01, compaction=0.02, paths=3),
        replace(_CALM, name="sleepers", sleep=0.03, crash=0.005, lose=0.08, compaction=0.01, paths=3),
        replace(
            _CALM,
            name="people",
            limits=NARROW,
            paths=7,
            actions=(100, 220),
            outside=0.2,
            guarded=0.5,
            garbage=0.03,
            topics=0.3,
            decide=0.05,
            crash=0.005,
            gap=0.005,
            compares=True,
        ),
        replace(
            _CALM,
            name="misread",
            misread=0.1,
            limits=NARROW,
            paths=5,
            actions=(80, 180),
            outside=0.2,
            guarded=0.3,
            garbage=0.01,
            decide=0.05,
            picture=0.01,
            crash=0.005,
            gap=0.005,
            lose=0.01,
            vanish=0.02,
            compares=True,
        ),
        replace(
            _CALM,
            name="repairs",
            picture=0.06,
            crash=0.01,
            cut=0.01,
            gap=0.01,
            lose=0.05,
            vanish=0.05,
            paths=3,
            compares=True,
        ),
        replace(
            _CALM,
            name="repairs-people",
            picture=0.05,
            limits=NARROW,
            paths=7,
            actions=(100, 220),
            outside=0.2,
            guarded=0.4,
            garbage=0.02,
            decide=0.05,
            pause=0.02,
            crash=0.005,
            gap=0.01,
            compares=True,
        ),
        replace(_FORGETTING_STORM, name="repairs-forgetting", picture=0.05, actions=(300, 500)),
        replace(_WIPED_FORGETTING, name="repairs-wiped", picture=0.05),
        replace(_PARTING, name="repairs-parting", picture=0.05),
        _REPAIRS_YOUNG,
        replace(
            _CALM,
            name="repairs-held",
            picture=0.12,
            tells_held=True,
            limits=NARROW,
            paths=7,
            actions=(80, 160),
            outside=0.25,
            found=0.5,
            crash=0.005,
            compares=True,
        ),
        replace(
            _CALM,
            name="found-people",
            decide=0.15,
            regions=(3,),
            paths=5,
            outside=0.25,
            found=0.8,
            late=0.8,
            crash=0.02,
            gap=0.01,
        ),
        replace(_SCOPES, name="repairs-scopes", picture=0.06),
        _REPAIRS_OPTING_FORGETTING,
        _CLASSES,
        _OPTING,
        replace(_OPTING, name="opting-wiped", wipe=0.008, mislay=0.1, reorder=1),
        _SCOPES,
        _SCOPED_TREES,
        replace(_SCOPED_TREES, name="scoped-people", decide=0.05, guarded=0.4, limits=NARROW, outside=0.2),
        replace(_SCOPED_TREES, name="opting-trees", rescope=0.012, actions=(120, 260)),
        *LIARS,
        *CROSSINGS,
        _TOPICS,
        _VERSIONS,
        replace(_VERSIONS, name="projections", older=0.7, crash=0.015, versions=0.015, compares=True),
        replace(
            _VERSIONS,
            name="versions-wiped",
            older=0.3,
            wipe=0.02,
            cut=0.01,
            mislay=0.1,
            late=0.3,
            reorder=1,
            compares=True,
        ),
        _MAPPINGS,
        _DISPUTES,
        _CONTRADICTIONS,
        _EXCLUDED,
        replace(_EXCLUDED, name="excluded-restored", restore=0.03, wipe=0.0),
        _COLLECTED,
        _OFFLOADING,
        replace(_COLLECTED, name="collected-people", limits=NARROW, decide=0.05, collects=0.08),
    )
}
