"""Names of clusters: what a region's brokers call them and what the group does, and a store read by the latter."""
