"""A play of two namespaces: the second has one topic, one producer and one consumer."""

from __future__ import annotations

from typing import Final

from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.plays import EVEN, NamespacePlay

SECOND: Final = "acme/invoices"
INVOICES: Final = f"persistent://{SECOND}/sent"


class TwoNamespacesPlay(NamespacePlay):
    """Both namespaces are under load at blue; green has all topics and subscriptions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.add_namespace(SECOND)
        self.add_topic(INVOICES, "books")
        self.add_consumer(self.process(Library.JAVA, "10.0.0.5"), INVOICES, "reader", SubscriptionWish(name="books"))
        self.add_producer(self.process(Library.JAVA, "10.0.0.4"), INVOICES, "writer", EVEN)
        self.timeline.run(2_500)
