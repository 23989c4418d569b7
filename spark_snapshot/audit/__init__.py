"""Ledger audits in bulk: the judgement of :mod:`syncer.ledgers` over as many ledgers as a cluster has, on Spark.

The pure judge is the referee: where rules are written anew, by column, the answers are equal in every column.

    rows         the tables of an audit, as Arrow and as Spark have them
    flattening   ledgers as columns, and back
    decoding     values of a store, made rows: ledgers, references, what cannot be decoded
    columns      a batch of ledgers, its segments and bookies by column
    judging      the judgement of a batch, by column
    copysets     sets of bookies whose loss harms ledgers, of any number of these
    bookies      the bookies of a cluster, and those that are away
    writing      the tables of an audit, written where they are made
    manifest     an audit on disk: its tables, and what was found
    taking       an audit taken, whole or not at all
    losses       a loss on a finished audit: what it would cost
    worst        sets of bookies that cost most, by the copysets of a finished audit
    ledger_wire  values of ledgers decoded a batch at a time; lockstep has what that takes
    frames       all of this on tables of Spark
"""
