"""The group as this region sees it: its peers, whose word counts, and how far it is behind on the bus."""
