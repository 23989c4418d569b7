"""Balancer: Pulsar's load balancing, as its brokers decide it.

All but ``reading``, ``recording`` and ``running`` is pure: load reports and settings go in, decisions come out; clocks
and dice are the caller's. Equal input gives what the Java classes of Pulsar 4.0.8 give, ties and overflows included;
``tests/vectors`` holds what they gave.

    load        what a broker reports: usages, rates, bundles
    cost        the price of moving a bundle, before it is moved
    averages    what is kept of reports: time averages of bundles, moving averages of brokers
    decoding    documents of a cluster's load, made parts of a picture
    picture     what was read of a cluster at one time, each figure with its origin
    reading     a cluster's picture, from its store, its topics, its brokers
    topic_loads its topics, by which bundles may be cut
    loads       a picture as either leader sees it, and as a fleet
    history     load over time: what is kept of it, and what it tells
    recording   the history of a cluster's load, written and read
    doctor      findings about load balancing, each with evidence and remedy
    fleet       brokers and bundles as a model, in which bundles are moved in thought
    attribution the part of a broker's usage that each bundle explains
    cluster     all that the leader of the modular manager decides by
    soundness   figures that cannot be true, before anything is decided by them
    settings    Pulsar's properties, their types and defaults
    versions    which rule differs in which version of Pulsar
    java        Java's arithmetic, where Python's differs
    ranges      topics, hashes and ranges of bundles
    boundaries  the four algorithms that say where a bundle is cut, and the cut
    splits      which bundles either load manager splits by itself
    exempt      namespaces that are never shed
    placement   which broker gets a bundle: filters, strategy, second choice
    rounds      Pulsar's own rounds, played in thought
    strategies  shedding and placement, a file each
    goals       moves that are forbidden, and how good the others are
    comparing   strategies and settings beside each other, and our plans beside each
    planner     few moves that balance a cluster, each with its price
    inquiry     what a picture lets the planner be asked, and what Pulsar would do alone
    moving      a plan of moves, and the course of its run
    running     carries a run out
"""
