"""Goals: which moves are forbidden, each with its reason, and which of the others are better.

A hard goal vetoes: some look at the bundle alone, the others at the broker that would get it. A soft goal weighs a
move that none forbids; what a move costs its clients is weighed by ``cost``.

    veto           a veto and its reasons, and what a hard goal is
    exemption      bundles of the brokers themselves, and of excluded namespaces, stay
    grace          a bundle that moved just now stays
    isolation      isolation policies
    anti_affinity  anti-affinity groups and failure domains
    capacity       no broker is filled beyond its threshold of overload
    topics         no broker gets more topics than it may have
    release        brokers of the same manager and, where they are preferred, of the latest version
    hard           all of them together
    usage          the emptier broker is better
    traffic        less throughput and fewer messages are better
    namespaces     fewer bundles of the same namespace are better
    stability      Pulsar's own next round shall not undo it
    soft           all of them together, by weights
"""
