"""Strategies: shedding and placement, a file each, under Pulsar's names.

A strategy of shedding is made with its settings and keeps its memory from round to round, as Pulsar's object does on
the leader; ``round`` says what is unloaded from where. A strategy of placement says which brokers are equally good;
Pulsar draws one of them by lot, and so does the caller.

    taking       bundles of a broker by their traffic, and how many of them make up a need
    threshold    ThresholdShedder
    overload     OverloadShedder
    uniform      UniformLoadShedder
    avg          AvgShedder, which sheds and places
    transfer     TransferShedder, of the extensible manager
    spread       mean and deviation that it goes by
    least_rate   LeastLongTermMessageRate
    least_usage  LeastResourceUsageWithWeight of both managers
    round_robin  RoundRobinBrokerSelector
"""
