"""Judging: the state of a ledger once some bookies are lost.

replicas   replicas left of a segment's entries
ledger     the judgement of one ledger, and the ranges of what is lost
recovery   whether an unclosed ledger can be closed by who loads its topic
fragments  what BookKeeper's own checker would find
"""
