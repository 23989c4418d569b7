"""Rounds: Pulsar's own load balancing, played in thought over a fleet, round after round.

A round is what a leader does once a minute. Brokers report, where a figure has changed by enough; averages move on;
the strategy of shedding chooses bundles, placement chooses their brokers, and the bundles move. Memories that live in
the leader's heap begin empty, as those of a new leader do.

    reporting   when a broker reports, and the bundles that it names
    naming      the strategies that settings name
    candidates  bundles that rounds of the extensible manager may move, and where each may go
    pausing     bundles that are in grace, and the ones that may leave their broker
    modular     rounds of the modular manager
    extensible  rounds of the extensible manager
    outcome     rounds as they were played: moves, spread, price, and when it settles
    playing     rounds one after another, over load that stays or changes
    synthetic   fleets drawn by dice: uneven bundles, hot brokers, a new one, one hot topic
    crowding    topics of their bundles, drawn by dice: clients and traffic crowd on few
"""
