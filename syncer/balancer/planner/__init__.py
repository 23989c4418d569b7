"""Planner: few moves of bundles that balance a cluster, each with its price.

covering  the cheapest bundles that bring one broker down by so much
scene     a fleet with its goals and its tariff, in which plans are tried one after another
attempt   one try to bring every broker to a level
search    the cheapest plan for a spread, and the front of balance against cost
"""
