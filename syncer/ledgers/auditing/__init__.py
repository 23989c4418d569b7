"""Auditing: what a cluster's store says of all ledgers together, gathered into one picture, and what follows from it.

picture      the picture: ledgers, who refers to them, bookies, auto-recovery, and how far it was read
gathering    entries of a store, made a picture
standing     ledgers, entries and bytes by the replicas that are left, of the cluster, a namespace, a topic
recovery     marks of under-replication, and whether auto-recovery can mend each
unreferenced ledgers that nobody refers to, and references to ledgers that are not there
loading      topics that brokers cannot load
loss         the loss of given bookies, or of any of a number
explaining   one ledger, one topic
findings     what an operator has to know, by code
"""
