"""Doctor: findings about a cluster's load balancing, each with evidence and remedy; pure.

codes        every finding's code, severity and source
diagnosis    a finding, its evidence, and a question that cannot be judged
case         all that is judged: a picture, pictures before it, the brokers' properties
fights       settings that fight each other
splitting    settings of splits, and clients that they cost
differences  brokers that differ: settings, managers, versions
reports      stale and missing reports, network cards without a limit
thresholds   ThresholdShedder's bounds that nothing reaches
silence      shedders that cannot act at this load
holdings     stuck and returning ownership
cutting      namespaces and topics that no move helps
checkup      all of it at once
"""
