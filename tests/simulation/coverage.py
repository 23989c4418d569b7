"""What schedules have met: each fault and each branch of decision, counted, so that one that tests nothing is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason, ParkReason
from tests.simulation.lies import LIES, MASK

FAULTS: Final = {
    "crash": "a daemon dies between two steps",
    "cut": "a commit fails, or its daemon dies right before or after it",
    "gap": "a watch misses something",
    "compaction": "a store forgets what its watches have not taken yet",
    "lose": "the answer of a transaction, of a read or of the bus is lost",
    "late landing": "a transaction lands although nobody waits for it any more",
    "duplicate": "a message of the bus comes again",
    "overtaken": "a message of the bus comes before an older one",
    "redelivered": "a delivery is lost with its reader, and comes again",
    "vanished": "a message of the bus never reaches a region",
    "partition": "a region and the bus are cut off from each other for a while",
    "dark": "all that the bus has for a region is lost for a while",
    "away": "a region is away until the bus has forgotten what waits for it",
    "jump": "a clock jumps",
    "skew": "two clocks differ by more than ten seconds",
    "second": "a second daemon starts on the database of one that lives on",
    "asleep": "a daemon sleeps while another one takes over, and wakes up beside it",
    "wipe": "a region loses its database, or gets an old copy back",
    "restore": "a store is put back from a backup",
    "both": "a database and its store come back as they were at one moment",
    "part": "a region leaves the group, or is lost for good",
    "join": "a new region joins, on an empty store or on that of one that is gone",
    "mislaid": "a message about a lost database is lost",
    "recreated": "somebody deletes a path and makes it again at once",
    "garbage": "somebody writes what nobody can read",
    "misread": "somebody writes what is JSON, and what no broker can read",
    "misread elsewhere": "somebody does so where a program of before publishes it",
    "guarded": "somebody makes a change that may have to wait for a person elsewhere",
    "look": "an operator looks at what is held, or at a conflict",
    "decide": "an operator decides, some time after the look",
    "picture": "a snapshot of a region is taken",
    "repair": "a region is to tell a snapshot of any age",
    "told again": "it has told some of it",
    "versions": "a broker is replaced by one of another version, added, or taken away",
    "dropped": "a broker drops a field that it does not know",
    "untold": "the brokers do not tell their versions",
    "read again": "all is read again since a broker is newer",
    "newer program": "a region goes on with a newer program, which projects otherwise",
    "went over": "a region has gone over to another projection",
    "scopes": "the scopes of the regions differ",
    "rest": "a region leaves a path out for a while, in which it is deleted everywhere and forgotten",
    "names": "the brokers of a region call clusters otherwise than the group does",
    "rename": "a region is told other names of its clusters",
    "young": "a region loses its database, after all was deleted and forgotten that a snapshot of before has",
    "claims": "a region has a name of another one for its own cluster, or no longer",
    "excludes": "a region has fields for itself",
    "carries": "a region is set to carry policies of offloading, or no longer",
    "all carry": "all regions are set to carry them at the end",
    "rule": "a region is told other rules of which fields these are",
    "edited at once": "a broker edits just the topic policy that a daemon writes, right before or after",
    "forged": "somebody writes a message into a topic of policies with a fence that nobody has had",
    "withheld": "a topic of policies cannot be read or written for a while",
    "left open": "the answer to a write into a topic is lost, and the topic cannot be read from then on",
    "stranded": "all is at rest but for such a write, and the group goes on elsewhere",
    "compacts": "topics of policies are compacted",
    "goes": "a broker deletes a topic, its policies with it, or it is made again",
    "collects": "a broker deletes the declaration of a topic that nobody uses",
    "turns": "brokers begin or cease to do that, or do not answer for a while",
    "pause": "a region is paused or resumed",
    "late": "a region's daemon starts later than the others",
    "starved": "a daemon does its regular work late",
}
TORN: Final = {"torn": "the power fails while a transaction is written; of its bytes some are kept"}
"""What only a real database has."""
"""What can go wrong, in words. The keys are what a schedule says that it has met."""

TOLD: Final = {**{f"lie: {name}": lie.words for name, lie in LIES.items()}, "lie: mask": MASK}
"""What a liar says."""

OUTCOMES: Final = {
    "overwritten": "a daemon's write replaced another value",
    "void": "a message of a daemon did not count, since a broker was faster",
    "put back": "what it had overwritten was put back",
    "overtaken policies": "what it had overwritten could not be put back, and was kept",
    "own notice": "a daemon was told of what itself had written",
    "read ahead": "the store was read before a delivery was folded",
    "refused": "a store refused a transaction",
    "quarantined": "something was put into the quarantine",
    "rebuilt": "a database took the place of a lost one, and was filled by the peers",
    "in doubt": "a daemon published nothing until what was said of its database was checked",
    "forgotten": "a tombstone was dropped",
    "removal seen": "a removal of a field that a daemon could see, and that has to count, was decided",
    "removed at rest": "a field was removed by a broker that knows it, all at rest",
    "dropped at rest": "a broker that does not know a field edited another one, all at rest",
    "met at last": "a region that had met nobody took the fields of others",
    "fenced": "a former writer stepped back",
}

DECISIONS: Final = tuple(f"decided: {decision}" for decision in Decision)
HOLDS: Final = tuple(f"held: {reason}" for reason in HoldReason)
PARKS: Final = tuple(f"parked: {reason}" for reason in ParkReason)

APART: Final = {
    f"held: {HoldReason.BUS_RESOURCE}": "tests/unit/conflict/test_guards.py",
    f"held: {HoldReason.STORE_REFUSED}": "tests/shell/test_bad_values.py",
    f"parked: {ParkReason.STORE_REFUSED}": "tests/shell/test_bad_values.py",
}
"""What the simulated world has no cause for, and which tests have."""

RARE: Final = {
    f"decided: {Decision.ALARM}": "tests/simulation/test_schedules.py",
    f"decided: {Decision.HELD_FUTURE}": "tests/unit/conflict/test_folding.py",
    f"decided: {Decision.UNSUPPLIED}": "tests/simulation/test_schedules.py",
    f"held: {HoldReason.FLAPPING}": "tests/unit/conflict/test_observing.py",
    f"held: {HoldReason.HAS_TOPICS}": "tests/unit/conflict/test_guards.py",
    f"held: {HoldReason.LEAVES_CLUSTER_OUT}": "tests/unit/conflict/test_guards.py",
    f"held: {HoldReason.SCALABLE_TOPIC}": "tests/unit/conflict/test_guards.py",
    f"held: {HoldReason.UNTOLD}": "tests/unit/replication/recovery/test_state_transfer.py",
}
"""What takes such a coincidence that thousands of schedules may not meet it, and which tests always do."""

BRANCHES: Final = tuple(name for name in (*OUTCOMES, *DECISIONS, *HOLDS, *PARKS) if name not in {**APART, **RARE})
"""What enough schedules surely meet."""


def lacking(met: Mapping[str, int], names: Mapping[str, str] | tuple[str, ...]) -> list[str]:
    """What no schedule has met."""
    return [name for name in names if not met.get(name)]


def table(met: Mapping[str, int], schedules: int) -> str:
    """How many of the schedules met what."""
    lines = []
    for title, names in (
        ("faults", (*FAULTS, *TORN)),
        ("lies", tuple(TOLD)),
        ("branches", BRANCHES),
        ("rare branches", tuple(RARE)),
    ):
        lines.append(f"{title}: in how many of {schedules} schedules")
        lines += [f"  {met.get(name, 0):8}  {name}" for name in names]
    return "\n".join(lines)
