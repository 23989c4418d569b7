"""Migration: moving a cluster's clients from blue to green without losing a message.

Pulsar has the mechanism (PIP-188: a mark in the metadata, by which brokers close topics and send clients away); the
operation round it is here. What decides is pure; it is given what was read of the clusters
(:mod:`~syncer.migration.evidence`) and believes nothing else.

    evidence    all that was read of a cluster
    phases      the run as a whole: one table of transitions, and what of it can be taken back
    topics      how far each topic is, by what its cluster shows
    brake       how a topic is kept still while its ledger is closed, and what that costs its clients
    scope       which namespaces are moved, in which order, and what that may cost
    clients     who follows a broker that sends it away, by its version
    checks      the preflight: whether a pair of clusters is ready, with evidence and remedy
    roll_call   whether everybody who was seen at blue stands at green
    draining    how long until blue is empty, and who holds it up
"""
