"""Stories that are played on real servers, act by act, and what has to be true after each.

two_clusters  two clusters that share nothing are kept equal
migration     clients at work are moved to another cluster
playing       how a story is begun, judged and ended
"""
