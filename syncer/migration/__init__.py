"""Migration: moving a cluster's clients from blue to green without losing a message.

Pulsar has the mechanism (PIP-188: a mark in the metadata, by which brokers close topics and send clients away); the
operation round it is here. What decides is pure; it is given what was read of the clusters
(:mod:`~syncer.migration.evidence`) and believes nothing else. What asks the clusters is in ``reading``, what
changes them in ``running``.

    evidence    all that was read of a cluster
    phases      the run as a whole: one table of transitions, and what of it can be taken back
    course      all that is recorded of a run
    steering    which step is next, what it waits for, and what an operator's commands do to it
    topics      how far each topic is, by what its cluster shows
    brake       how a topic is kept still while its ledger is closed, and what that costs its clients
    cure        what is done to a topic before its namespace is marked, and what that will cost its clients
    closing     whether everybody stands still for as long as ledgers are being closed
    policies    what green's policies have to be while clients are moved, and which call sets each
    scope       which namespaces are moved, in which order, and what that may cost
    migration_plan  all that an operator approves, and whether it still holds
    clients     who follows a broker that sends it away, by its version
    checks      the preflight: whether a pair of clusters is ready, with evidence and remedy
    preparing   what green lacks of blue, as ordered steps
    roll_call   whether everybody who was seen at blue stands at green
    draining    how long until blue is empty, and who holds it up
    reading     a cluster read by its admin API, made evidence; plans kept in files
    running     what was decided, asked of the clusters call by call
"""
