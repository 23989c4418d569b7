"""Clients of a cluster under load that keep account of every message: what was stored has to come once, and in order.

    loads       what publishers do, and which subscriptions there are
    publisher   a publisher in Python, of the C++ client
    perf        a publisher in Java, Pulsar's own pulsar-perf
    receiver    a consumer
    account     what became of all messages
    outages     how long each client was without service
    traffic     all of them together

A message is its publisher's name and a number that grows. Stored is what a publisher was given a receipt for; each
subscription has to deliver all of that, each message once, and those of one publisher in their order, but for Shared
ones, and for messages without a key where subscriptions are shared by key.
"""
