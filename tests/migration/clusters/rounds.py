"""The rounds in which a broker looks for marks, and sends its topics' clients to the other cluster.

Source: ``BrokerService.checkClusterMigration``, ``PersistentTopic.checkClusterMigration``, Pulsar 4.0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.migration.clusters.broker import Broker
    from tests.migration.clusters.topic import Topic

COLD_WINDOW_MS: Final = (400, 1_400)
"""From a closed ledger to a finished mark, in the first flip of a broker process."""
WARM_WINDOW_MS: Final = (13, 58)
_READ_MS: Final = (0, 2)
"""Reading the policies blocks the round, topic by topic."""


def check_migration(broker: Broker) -> None:
    """One round: every loaded topic in its turn."""
    delay_ms = 0
    for topic in tuple(broker.topics.values()):
        delay_ms += broker.timeline.between(*_READ_MS)
        broker.timeline.after(delay_ms, _check, topic)


def _check(topic: Topic) -> None:
    if not topic.is_loaded or topic.redirect is None:
        return
    if topic.replication_backlog:
        if not topic.migrated and not topic.terminated:
            _begin(topic, goes_on=False)
        return
    if not topic.resources_made:
        broker = topic.broker
        if broker.settings.makes_resources and not broker.cluster.make_resources(topic):
            topic.timeline.tell(topic.name, "its resources cannot be made at the target: it stays open")
            return
        topic.resources_made = True
    if not topic.migrated:
        if not topic.terminated:
            _begin(topic, goes_on=True)
            return
        topic.mark(stored=False)  # closed already: a second call is answered at once
    _send_away(topic)


def _begin(topic: Topic, *, goes_on: bool) -> None:
    bounds = WARM_WINDOW_MS if topic.broker.warm else COLD_WINDOW_MS
    topic.terminate()
    topic.timeline.within(*bounds, _end, topic, goes_on)


def _end(topic: Topic, goes_on: bool) -> None:
    topic.broker.warm = True
    topic.mark(stored=True)
    if goes_on and topic.is_loaded:
        _send_away(topic)


def _send_away(topic: Topic) -> None:
    for subscription in tuple(topic.subscriptions.values()):
        subscription.leave_if_drained()
    topic.replicators = {name: backlog for name, backlog in topic.replicators.items() if backlog}
    for name, subscription in tuple(topic.subscriptions.items()):
        if not subscription.backlog and not subscription.consumers:
            topic.broker.unsubscribe(topic, name)
    for producer in tuple(topic.producers.values()):
        producer.disconnect()
