"""Measured figures of a move, of what no reference says: attempts of C++ clients, times to close and load a bundle.

Measured by 192 unloads of one bundle with 1, 10 or 100 topics, a producer and a consumer each: 14,208 outages.

Modular manager: every first attempt came 100 ms after the cut, and every second one, of 127 clients, 182 to 200 ms
after the first had failed; of 7,104 clients 98 % needed one. A delay doubles, and is up to a tenth shorter. A look-up
that is refused is repeated after 100 ms within its attempt; 344 were, once each. Extensible manager: all 7,104 clients
were told the new owner and tried at once, so they waited for the load alone.

Outages lasted 204, 230 and 475 ms in the median by the modular manager, 85, 115 and 395 ms by the extensible one: not
until a next attempt, but until the topic was loaded for the first one. So did those of producers in Java, 0.35 to
1.3 s with 60 topics, each after one attempt. The first bundle that a broker serves takes about a second longer, which
no median shows. The first ones of a broker that was just started took 4.5 s, then 1.2 to 1.4 s, and from the fifth on
no longer than others, on two cores with 20 threads at work: no price has that.

Source: Pulsar 4.0.8, pulsar-client 3.13.0 (Pulsar-CPP 4.2.0), three brokers and a bookie on two cores that others used
too. Delays beyond 6.4 s are by the library's rule: Backoff of the C++ library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import assumed
from syncer.balancer.cost.retrying import GivenSteps
from syncer.client_versions import Language

if TYPE_CHECKING:
    from syncer.balancer.cost.retrying import RetrySteps

CPP_STEPS: Final = GivenSteps(
    latest_ms=(100, 300, 700, 1500, 3100, 6300, 12_700, 25_500, 51_100, 102_300), then_every_ms=60_000
)
"""Attempts of producers and consumers of the C++ library with its defaults, Python's included."""

OTHER_STEPS: Final[Mapping[Language, RetrySteps]] = {Language.CPP: CPP_STEPS}
"""Attempts of the clients that are not Java's, as far as they were measured."""

CLOSE_S: Final = assumed(0.016)
CLOSE_OF_A_TOPIC_S: Final = assumed(0.0005)
"""A bundle of 1, 10 or 100 topics was closed in 17, 20 and 68 ms in the median."""

LOAD_S: Final = assumed(0.1)
LOAD_OF_A_TOPIC_S: Final = assumed(0.0027)
"""A client of a bundle of 1, 10 or 100 topics worked 104, 125 and 366 ms after its last attempt in the median, the last
one of all 105, 140 and 454 ms after its first.
"""

FENCED_S: Final = assumed(0.01)
"""So long after a topic begins to close, a publish to it is refused by an error, before its producers are cut off.

Assumed: a bundle of one topic is closed in 17 ms in all, and a publish to it was seen to be refused meanwhile. With 400
messages a second over 36 topics, 2 of about 40 unloads cut off every client of the broker at once.
"""
