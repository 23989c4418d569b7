"""Placement: which broker gets a bundle, as one decision of either load manager.

A decision is a value: each filter with the brokers that it left and those that it dropped, and why; the brokers that
the strategy finds equally good; the one that was drawn. The dice are the caller's.

    decision     the value, its filters and its reasons
    constraints  policies, groups, domains and traits, which are no load
    isolation    brokers that a namespace's isolation policy allows
    candidates   the other filters, each alone
    releases     the order of versions, and the filter that prefers later ones
    modular      selectBroker of the modular manager
    extensible   select of the extensible manager
"""
