"""Planner: few moves of bundles that balance a cluster, each with its price and its reason.

covering    the cheapest bundles that bring one broker down by so much
scene       a fleet with its goals and its tariff, in which plans are tried one after another
leveling    one try to bring every broker to a level
search      the cheapest plan for a spread, and the front of balance against cost
picking     one plan of the front, by a rule that has a name
advice      the answer, as a value
explaining  moves in their order, with figures and the moves that were not chosen
slicing     a scene whose bundles are cut around their busiest topics, and the way back
paring      a plan of whole bundles made cheaper by cuts
justifying  the cuts of a plan, each with its reason and price
balance     the question which few moves are worth their price
"""
