"""Placement: which entry lies on which bookie, when one is confirmed, and whether racks are kept apart.

write_sets      entries and the indexes of their bookies, round robin
acknowledging   acknowledgements of an entry, and answers that suffice to recover
racks           the racks of bookies, as Pulsar keeps them
adherence       write quorums spread over racks and regions
"""
