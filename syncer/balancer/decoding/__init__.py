"""Decoding: bytes of a cluster's documents into parts of a picture.

Strict in figures, tolerant where Pulsar is: numbers may be texts, unknown fields are somebody else's. What cannot be
true becomes unknown with a finding, and the rest of the document stands.

    fields       a JSON object whose flaws are noted
    parts        what was decoded, until it is put together
    brokers      reports and registrations of brokers, averages, the leader
    bundles      statistics, averages and topics of bundles
    ownership    who serves a bundle
    conflicts    which of two states of a bundle stands
    constraints  boundaries, anti-affinity, isolation, failure domains
    entries      a store's entry, by its path
    records      a load topic's message, by its topic
    percentages  usages in per cent, with the limits of equal machines
    assembling   the picture of all parts, contradictions found
"""
