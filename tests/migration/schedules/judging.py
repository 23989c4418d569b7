"""The verdict on a schedule: who was harmed without a reason, what was left behind, whether clusters are as planned.

Nothing may ever be lost, come out of order, or be read by nobody; what was stranded is read late. What a broker that
ends or a broken connection does to its clients it does without any migration too: messages of that topic may come a
second time, a few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from syncer.migration.phases import MigrationPhase
from tests.migration.clusters.answers import Refusal
from tests.migration.clusters.ledger import LedgerState
from tests.migration.clusters.process import ClientState
from tests.migration.clusters.verdict import Verdict
from tests.migration.controllers import Control
from tests.migration.flips import left_behind
from tests.migration.schedules.clients import NIGHT, Newcomer, ScheduledPlay
from tests.migration.schedules.troubles import BREAKS

_HAPPENS_MS: Final = 25_000
"""Within so long whatever was planned behind the last event has happened, and is over."""
_SETTLES_MS: Final = 90_000
_READS_MS: Final = 120_000
_AGAIN: Final = 80
"""Messages of a subscription that may come again where a broker ended: what was read and not acknowledged yet."""
_CLOSES: Final = 60
"""Calls to blue that are made within the time in which brokers close the ledgers of a wave that was marked."""
_END_MS: Final = 3_000
"""Before a ledger is closed, or behind that, a consumer that is not there may lose its subscription."""
_SENT_AWAY: Final = "is sent away with something on its way"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a schedule has come to.

    Attributes:
        wrong: What must not be, in words; empty: nothing.
        met: Troubles that have happened.
        excused: Messages that came again, and have their reason.
        ends: The phase in which it has ended.
    """

    wrong: tuple[str, ...]
    met: frozenset[str]
    verdict: Verdict
    excused: int
    ends: MigrationPhase


def judged(control: Control, play: ScheduledPlay) -> Outcome:
    """Let what was planned happen, everybody come to rest, and judge."""
    play.timeline.run(_HAPPENS_MS)
    play.settle(_SETTLES_MS)
    play.timeline.until(lambda: not play.verdict().lost, within_ms=_READS_MS, every_ms=5_000)
    verdict = play.verdict()
    excuses, unlucky = _excuses(play), _unlucky(control, play)
    excused = sum(
        each.doubled for (topic, _), each in verdict.subscriptions.items() if topic in excuses or topic in unlucky
    )
    phase = control.status().run.standing.phase
    return Outcome(
        wrong=(*_harm(control, play, verdict, excuses, unlucky), *_left(control, play), *_otherwise(play, phase)),
        met=frozenset(what for _, where, what in play.timeline.rows if where == NIGHT),
        verdict=verdict,
        excused=excused,
        ends=phase,
    )


def _harm(
    control: Control, play: ScheduledPlay, verdict: Verdict, excuses: frozenset[str], unlucky: frozenset[str]
) -> Iterator[str]:
    never_in = {each.name for each in play.producers if not each.created}
    stays, replaced = _closed_for_good(control), _replaced(play)
    for (topic, name), found in verdict.subscriptions.items():
        if found.lost:
            yield f"lost {found.lost}: {topic} {name}"
        if found.disordered and topic not in play.rescued:
            yield f"out of order {found.disordered}: {topic} {name}"
        most = _AGAIN if topic in excuses else 0
        if found.doubled > most and topic not in unlucky:
            yield f"doubled {found.doubled}: {topic} {name}"
    for role, names in (("dead", verdict.dead), ("stuck", verdict.stuck)):
        topics = {each.name: each.topic for each in (*play.producers, *play.consumers)}
        for name in names:
            if role == "dead" and (name in never_in or topics[name] in unlucky):
                continue
            if role == "stuck" and (topics[name].startswith(stays) or name in replaced):
                continue
            yield f"{role}: {name} of {topics[name]}"


def _unlucky(control: Control, play: ScheduledPlay) -> frozenset[str]:
    """Topics of which somebody came, or was cut off, at the one moment at which nothing that can be set helps."""
    late = {each.topic for each in play.newcomers if _came_too_late(control, each)}
    return frozenset(late | _broken_at_the_end(play) | _made_anew(play))


def _excuses(play: ScheduledPlay) -> frozenset[str]:
    """Topics of which a few messages may come again: a client was cut off with something on its way."""
    deleted = {(at_ms, where) for at_ms, where, what in play.timeline.rows if what == "deleted"}
    return frozenset(
        where
        for at_ms, where, what in play.timeline.rows
        if what == BREAKS or what.endswith(_SENT_AWAY) or (what == "unloaded" and (at_ms, where) not in deleted)
    )


def _broken_at_the_end(play: ScheduledPlay) -> set[str]:
    """Topics of which a consumer's connection broke while the ledger was closed: its subscription may be deleted then.

    It makes it anew at its beginning, and reads all that is stored again; nothing that can be set prevents that.
    """
    rows = play.timeline.rows
    ends = [(at_ms, where) for at_ms, where, what in rows if what.startswith("terminated")]
    broken = [(at_ms, where) for at_ms, where, what in rows if what == BREAKS]
    return {where for at_ms, where in broken if any(abs(at_ms - end) < _END_MS for end, at in ends if at == where)}


def _replaced(play: ScheduledPlay) -> set[str]:
    """Consumers of exclusive subscriptions that wait for another consumer of theirs, whom an operator has started."""
    there = {(each.topic, each.subscription) for each in play.consumers if each.state is ClientState.READY}
    return {
        each.name
        for each in play.consumers
        if each.refusals[-1:] == [Refusal.BUSY] and (each.topic, each.subscription) in there
    }


def _made_anew(play: ScheduledPlay) -> set[str]:
    """Topics with a subscription that a broker deleted when its topic was migrated, and a consumer made anew there.

    Whoever comes back from its backoff just then, after a broker was started anew, reads all again that is stored.
    """
    gone: set[tuple[str, str]] = set()
    found = set()
    for _, where, what in play.timeline.rows:
        if what.startswith("subscription ") and what.endswith(" deleted"):
            gone.add((where, what.split(" ")[1]))
        elif what.endswith(" made at earliest") and (where, what.split(" ")[1]) in gone:
            found.add(where)
    return found


def _came_too_late(control: Control, newcomer: Newcomer) -> bool:
    """Whether somebody came between the last look at a topic before its namespace was marked and the mark's effect."""
    namespace = "/".join(newcomer.topic.removeprefix("persistent://").split("/")[:2])
    made = control.blue.made
    mark = ("POST", f"/admin/v2/namespaces/{namespace}/migration")
    looks = (
        f"/admin/v2/persistent/{namespace}",
        f"/admin/v2/persistent/{namespace}/{newcomer.topic.rpartition('/')[2]}/",
    )
    later = [number for number, call in enumerate(made) if call == mark and number >= newcomer.asked - _CLOSES]
    return any(
        not any(
            method == "GET" and (path == looks[0] or path.startswith(looks[1]))
            for method, path in made[newcomer.asked : number]
        )
        for number in later
    )


def _closed_for_good(control: Control) -> tuple[str, ...]:
    """Namespaces that were taken back with closed ledgers: their clients have to be restarted."""
    undone = control.journal.noted("undone")
    stays = undone[-1]["stays"] if undone else {}
    assert isinstance(stays, dict)
    return tuple(f"persistent://{name}/" for name, words in stays.items() if "closed for good" in words)


def _left(control: Control, play: ScheduledPlay) -> Iterator[str]:
    if left := left_behind(play):
        yield f"left at blue: {left}"
    if control.journal.kept:
        yield f"left in the journal: {sorted(control.journal.kept)}"
    for cluster in (play.blue, play.green):
        for name, namespace in cluster.namespaces.items():
            if namespace.policies.get("properties"):
                yield f"claimed at {cluster.name}: {name}"
            if name not in play.names:
                yield f"left at {cluster.name}: {name}"


def _otherwise(play: ScheduledPlay, phase: MigrationPhase) -> Iterator[str]:
    """What is not as it was planned."""
    if phase is not MigrationPhase.CLOSED:
        return
    for name in play.names:
        if not play.blue.namespaces[name].marked:
            yield f"not marked: {name}"
    for name, ledger in play.blue.ledgers.items():
        if not ledger.marked or ledger.state is LedgerState.OPENED:
            yield f"open at blue: {name}"
        if any(ledger.backlog(cursor) for cursor in ledger.cursors.values()):
            yield f"unread at blue: {name}"
    for client in (*play.producers, *play.consumers):
        if client.state != "dead" and client.url != play.green.urls.pulsar:
            yield f"at blue: {client.name} of {client.topic}"
