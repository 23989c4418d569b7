"""Ledger audit: where a cluster's data is, and the price of the loss of bookies.

All of it is pure: values of a store go in, judgements come out. Equal input gives what the Java classes of BookKeeper
4.17.2 and Pulsar 4.0.8 give; ``tests/vectors`` holds what they gave.

    metadata    a ledger: its quorums, its segments, its end
    managed     topics, cursors and schemas, and the ledgers that they refer to
    nodes       all else that BookKeeper keeps in the store: bookies, marks, locks, auditor
    decoding    values of a store, made all of these
    placement   entries laid over bookies, bookies over racks
    judging     the state of ledgers once bookies are lost
    losses      the price of bookies that die, leave, or are stopped
    paths       ids of ledgers and their paths, in each layout
    owners      the topic whose ledger it is, by its own metadata and by what refers to it
"""
