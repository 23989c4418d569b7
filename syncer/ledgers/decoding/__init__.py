"""Decoding: values of a store, made ledgers, topics, cursors and nodes.

As tolerant as Java's own readers, and no more: what these refuse is an :class:`~.undecodable.Undecodable` here, which
names the path and the reason. Nothing else ever comes of a value, whatever its bytes.

    undecodable  a value that cannot be decoded
    messages     protobuf's classes of all messages, built from descriptors
    ledger       metadata of ledgers, versions 1, 2 and 3
    text_format  messages in protobuf's text
    numbers      numbers as texts
    compression  what wraps values of topics and cursors
    managed      topics, cursors and schemas
    service      bookies that are up, and cookies
    recovery     marks, locks, the auditor and its settings
    layout       how ledgers are laid out
    entries      an entry of a store, by its path
"""
