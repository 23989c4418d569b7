"""Profiles: the kinds of nights on which a migration is played, and what may go wrong in each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.migration.rest_faults import CALM, RestFaults
from tests.migration.schedules import troubles
from tests.migration.schedules.troubles import TROUBLES, Trouble

_MOVES: Final = ("move", "foreseen", "still", "marked", "let-go")
_BEFORE: Final = ("prepare", "guard", *_MOVES)
_LATER: Final = ("marked", "let-go", "drain", "verify", "soak")
_ANY: Final = (*_BEFORE, "drain", "verify", "soak")
_SOON_MS: Final = (60, 3_000, 12_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A kind of night.

    Attributes:
        words: What goes wrong.
        faults: Of the calls to both clusters.
        first: Troubles that are there before anything is begun.
        troubles: Of which some happen.
        most: How many of them.
        behind: Steps and events of a migration behind which they happen.
        kills: How often the controller is killed at most.
        full_disks: How often its database takes nothing more at most.
        batches: Whether C++ producers send batch after batch.
        deadlocks: Whether brokers may deadlock.
    """

    words: str
    faults: RestFaults = CALM
    first: tuple[Trouble, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    most: int = 3
    behind: tuple[str, ...] = _ANY
    kills: int = 0
    full_disks: int = 0
    batches: bool = False
    deadlocks: bool = False


SLOW: Final = RestFaults(slow=0.1)
SILENT: Final = RestFaults(silent_before=0.003, silent_after=0.003)
ROUGH: Final = RestFaults(
    sent_on=0.03, failed=0.01, failed_after=0.01, unavailable=0.02, silent_before=0.001, silent_after=0.001, slow=0.01
)
"""All of it, as seldom that a migration does not take hours: a time-out lasts ten seconds."""
PROFILES: Final = {
    "calm": Profile(words="nothing", batches=True),
    "slow": Profile(words="calls are answered late", faults=SLOW, batches=True),
    "failing": Profile(
        words="brokers answer 500 and 503, and have done it or not",
        faults=RestFaults(failed=0.05, failed_after=0.03, unavailable=0.05),
        batches=True,
    ),
    "silent": Profile(
        words="calls are never answered, and carried out or not",
        faults=SILENT,
        batches=True,
    ),
    "sent-on": Profile(
        words="calls are sent on from broker to broker", faults=RestFaults(sent_on=0.3, unavailable=0.02), batches=True
    ),
    "rough": Profile(words="all of that", faults=ROUGH, batches=True),
    "killed": Profile(words="the controller is killed at any call", kills=4, batches=True),
    "killed-rough": Profile(words="it is killed, and calls fail", faults=ROUGH, kills=3, batches=True),
    "full-disk": Profile(words="the daemon's database takes nothing more", full_disks=3, batches=True),
    "cancelled": Profile(words="the daemon is told to end", troubles=(troubles.lose_turn,), batches=True),
    "unloaded": Profile(
        words="topics are unloaded, before the mark and behind it",
        first=(troubles.leave_backlog,),
        troubles=(troubles.unload_topic, troubles.unload_topic, troubles.unload_namespace, troubles.read_backlog),
        behind=(*_MOVES, "drain"),
    ),
    "restarts": Profile(words="brokers of blue restart", troubles=(troubles.restart_broker,), behind=_BEFORE),
    "green-away": Profile(words="green is away for some seconds", troubles=(troubles.green_away,)),
    "newcomers": Profile(
        words="topics, partitions, subscriptions and clients come meanwhile",
        troubles=(
            troubles.make_topic,
            troubles.make_subscription,
            troubles.new_consumer,
            troubles.new_producer,
            troubles.grow,
        ),
        behind=_BEFORE,
    ),
    "late": Profile(
        words="clients come to blue that was marked",
        troubles=(troubles.make_topic, troubles.new_consumer, troubles.new_producer),
        behind=_LATER,
    ),
    "backlogs": Profile(
        words="subscriptions that nobody reads until late",
        first=(troubles.leave_backlog, troubles.leave_backlog),
        troubles=(troubles.leave_backlog, troubles.read_backlog),
        behind=_BEFORE,
    ),
    "breaking": Profile(words="connections of clients break", troubles=(troubles.break_connection,), most=6),
    "unmarked": Profile(
        words="somebody takes a mark off",
        first=(troubles.leave_backlog,),
        troubles=(troubles.unmark, troubles.unmark, troubles.read_backlog),
        behind=_LATER,
    ),
    "commands": Profile(
        words="operators pause, abort and go back", troubles=(troubles.pause, troubles.pause, troubles.go_back)
    ),
    "replicated": Profile(words="a namespace is replicated elsewhere", first=(troubles.replicate,)),
    "deadlocked": Profile(words="brokers deadlock, and are restarted", deadlocks=True),
    "storm": Profile(
        words="all of it",
        faults=ROUGH,
        first=(troubles.leave_backlog,),
        troubles=tuple(each for each in TROUBLES if each not in (troubles.leave_backlog, troubles.replicate)),
        most=5,
        kills=2,
        full_disks=1,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A trouble, and when it happens.

    Attributes:
        behind: A step that begins, or an event.
        times: How often that has to come first.
        delay_ms: From there.
    """

    trouble: Trouble
    behind: str
    times: int
    delay_ms: int


def drawn(profile: Profile, waves: int, chance: Random) -> list[Planned]:
    """The troubles of one night."""
    if not profile.troubles:
        return []
    return [
        Planned(
            trouble=chance.choice(profile.troubles),
            behind=(behind := chance.choice(profile.behind)),
            times=chance.randint(1, waves) if behind in _MOVES else 1,
            delay_ms=chance.randint(0, chance.choice(_SOON_MS)),
        )
        for _ in range(chance.randint(1, profile.most))
    ]
