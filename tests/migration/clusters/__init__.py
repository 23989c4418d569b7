"""Two simulated Pulsar clusters and their clients: what a migration meets, in virtual time, from one seed.

Milliseconds everywhere, from zero; no sockets, threads or clocks. Every file models one part of Pulsar 4.0.8:

* :mod:`~tests.migration.clusters.timeline`: time, chance and the story of a play;
* :mod:`~tests.migration.clusters.ledger`, :mod:`~tests.migration.clusters.limiter`: what a topic is stored in, and the
  token bucket of its publish rate;
* :mod:`~tests.migration.clusters.connection`, :mod:`~tests.migration.clusters.topic`,
  :mod:`~tests.migration.clusters.subscription`, :mod:`~tests.migration.clusters.broker`,
  :mod:`~tests.migration.clusters.rounds`: a broker, and its loop that sends topics away;
* :mod:`~tests.migration.clusters.namespace`, :mod:`~tests.migration.clusters.cluster`: what brokers share;
* :mod:`~tests.migration.clusters.process`, :mod:`~tests.migration.clusters.producer`,
  :mod:`~tests.migration.clusters.consumer`: clients by their libraries;
* :mod:`~tests.migration.clusters.verdict`, :mod:`~tests.migration.clusters.pair`: what became of their messages.
"""
