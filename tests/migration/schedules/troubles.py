"""Troubles: what happens to clusters, clients and operators while a migration is on its way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from syncer.migration.course import MigrationCommand
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.schedules.clients import SLOW, Newcomer, ScheduledPlay

Trouble = Callable[[ScheduledPlay, Random], None]
BREAKS: Final = "its connection breaks"
"""In the story, of a topic that has a client of which it does."""
REMOTE: Final = "north"
_COMES_MS: Final = (500, 5_000)
_DOWN_MS: Final = (300, 3_000)
_AWAY_MS: Final = (500, 9_000)
_READ_MS: Final = (20_000, 60_000)
_SENDS_MS: Final = 500


# Brokers


def unload_topic(play: ScheduledPlay, chance: Random) -> None:
    """Blue moves a topic to nobody."""
    if name := _any_topic(play, chance):
        play.api.answer("PUT", f"{_path(name)}/unload")


def unload_namespace(play: ScheduledPlay, chance: Random) -> None:
    """Blue unloads a namespace."""
    play.blue.unload(chance.choice(play.names))


def restart_broker(play: ScheduledPlay, chance: Random) -> None:
    """A broker of blue ends, and is there again a moment later."""
    broker = chance.choice(play.blue.brokers)
    if broker.running:
        broker.restart(chance.randint(*_DOWN_MS))


def green_away(play: ScheduledPlay, chance: Random) -> None:
    """All brokers of green end, and are there again some seconds later."""
    down_ms = chance.randint(*_AWAY_MS)
    for broker in play.green.brokers:
        if broker.running:
            broker.restart(down_ms)


# Others who use blue


def make_topic(play: ScheduledPlay, chance: Random) -> None:
    """Somebody makes a topic, and uses it at once."""
    name = f"persistent://{chance.choice(play.names)}/fresh{len(play.newcomers)}"
    asked = play.asked()
    if play.api.answer("PUT", _path(name))[0] == 204:
        kind = chance.choice(tuple(SubscriptionKind))
        play.read(name, kind, library=Library.JAVA)
        play.write(name, SLOW, library=Library.JAVA)
        play.newcomers.append(Newcomer(topic=name, asked=asked))


def make_subscription(play: ScheduledPlay, chance: Random) -> None:
    """Somebody makes a subscription, whose consumer comes a little later."""
    name, subscription = _any_topic(play, chance), f"fresh{len(play.newcomers)}"
    if not name:
        return
    start = {"ledgerId": -1, "entryId": -1}
    play.newcomers.append(Newcomer(topic=name, asked=play.asked()))
    if play.api.answer("PUT", f"{_path(name)}/subscription/{subscription}", start)[0] == 204:
        comes_ms = chance.randint(*_COMES_MS)
        play.timeline.after(comes_ms, _read, play, name, SubscriptionKind.SHARED, subscription)


def new_consumer(play: ScheduledPlay, chance: Random) -> None:
    """A consumer comes with a subscription of its own."""
    if name := _any_topic(play, chance):
        kind = chance.choice(tuple(SubscriptionKind))
        _read(play, name, kind, f"fresh{len(play.newcomers)}")


def new_producer(play: ScheduledPlay, chance: Random) -> None:
    """A producer comes, with the address that it has always had."""
    if name := _any_topic(play, chance):
        play.newcomers.append(Newcomer(topic=name, asked=play.asked()))
        play.write(name, SLOW, library=Library.JAVA)


def grow(play: ScheduledPlay, chance: Random) -> None:
    """A topic gets a partition more, which is used at once."""
    grown = [(name, base) for name in play.names for base in play.blue.namespaces[name].partitions]
    if not grown:
        return
    namespace, base = chance.choice(grown)
    count, asked = play.blue.namespaces[namespace].partitions[base], play.asked()
    if play.api.answer("POST", f"{_path(base)}/partitions", count + 1)[0] == 204:
        name = f"{base}-partition-{count}"
        kind = SubscriptionKind.FAILOVER
        play.read(name, kind, library=Library.JAVA)
        play.write(name, SLOW, library=Library.JAVA)
        play.newcomers.append(Newcomer(topic=name, asked=asked))


def leave_backlog(play: ScheduledPlay, chance: Random) -> None:
    """A subscription is there that nobody reads; whoever does comes later.

    Not at blue where it is marked: when all is verified, nobody looks for it.
    """
    name = _any_topic(play, chance)
    if name and not play.blue.namespaces[_namespace_of(name)].marked:
        start, subscription = {"ledgerId": -1, "entryId": -1}, f"audit{len(play.consumers)}"
        if play.api.answer("PUT", f"{_path(name)}/subscription/{subscription}", start)[0] == 204:
            play.unread.append((name, subscription))
            play.timeline.after(chance.randint(*_READ_MS), read_backlog, play, chance)


def read_backlog(play: ScheduledPlay, chance: Random) -> None:
    """Who reads what was left comes, and may take its time."""
    while play.unread:
        kind = chance.choice(tuple(SubscriptionKind))
        library, work_ms = chance.choice(tuple(Library)), chance.choice((0, 0, 5, 40))
        name, subscription = play.unread.pop()
        play.newcomers.append(Newcomer(topic=name, asked=play.asked()))
        play.read(name, kind, library=library, subscription=subscription, work_ms=work_ms)


def break_connection(play: ScheduledPlay, chance: Random) -> None:
    """The connections of a client break; it comes again at once."""
    client = chance.choice((*play.producers, *play.consumers)) if play.producers else None
    if client is not None:
        topics = {each.topic for each in (*play.producers, *play.consumers) if each.process is client.process}
        for name in topics:
            play.timeline.tell(name, BREAKS)
        client.process.close()


def unmark(play: ScheduledPlay, chance: Random) -> None:
    """Somebody takes the mark of a namespace off, of which no producer looks for its topic at blue any more.

    One that does finds it open, or makes it anew if blue has deleted it: nobody reads there what it writes.
    """
    at_blue = {_namespace_of(each.topic) for each in play.producers if each.url == play.blue.urls.pulsar}
    marked = [name for name in play.names if play.blue.namespaces[name].marked and name not in at_blue]
    if marked:
        play.api.answer("POST", f"/admin/v2/namespaces/{chance.choice(marked)}/migration", body=False)


def replicate(play: ScheduledPlay, chance: Random) -> None:
    """A namespace is replicated to a third cluster, which takes it slowly."""
    namespace = chance.choice(play.names)
    play.blue.namespaces[namespace].policies["replication_clusters"] = ["blue", REMOTE]
    play.blue.known[REMOTE] = {"serviceUrl": "http://north:8080", "brokerServiceUrl": "pulsar://north:6650"}
    play.blue.tenants["acme"]["allowedClusters"] = ["blue", "green", REMOTE]
    for topic in play.blue.loaded(namespace):
        topic.replicators = {REMOTE: chance.randint(0, 40)}

    def send() -> None:
        for topic in play.blue.loaded(namespace):
            topic.replicators = {remote: max(0, left - 20) for remote, left in topic.replicators.items()}
        play.timeline.after(_SENDS_MS, send)

    send()


# Operators


def pause(play: ScheduledPlay, chance: Random) -> None:
    """An operator pauses the migration, and resumes it when he sees that it is paused."""
    del chance
    play.wishes.append(MigrationCommand.PAUSE)


def go_back(play: ScheduledPlay, chance: Random) -> None:
    """An operator wants everything as it was, as far as it can be."""
    del chance
    play.wishes += [MigrationCommand.ABORT, MigrationCommand.ROLLBACK]


def lose_turn(play: ScheduledPlay, chance: Random) -> None:
    """The daemon is told to end: what it does is cancelled."""
    del chance
    play.cancel()


TROUBLES: Final[tuple[Trouble, ...]] = (
    unload_topic,
    unload_namespace,
    restart_broker,
    green_away,
    make_topic,
    make_subscription,
    new_consumer,
    new_producer,
    grow,
    leave_backlog,
    read_backlog,
    break_connection,
    unmark,
    replicate,
    pause,
    go_back,
    lose_turn,
)


def _read(play: ScheduledPlay, name: str, kind: SubscriptionKind, subscription: str) -> None:
    play.newcomers.append(Newcomer(topic=name, asked=play.asked()))
    play.read(name, kind, library=Library.JAVA, subscription=subscription)


def _any_topic(play: ScheduledPlay, chance: Random) -> str:
    """A topic of blue; empty: it has none any more."""
    there = sorted(
        name for name in play.blue.ledgers if name.startswith(tuple(f"persistent://{each}/" for each in play.names))
    )
    return chance.choice(there) if there else ""


def _namespace_of(topic: str) -> str:
    return topic.partition("://")[2].rpartition("/")[0]


def _path(name: str) -> str:
    return f"/admin/v2/{name.replace('://', '/')}"
