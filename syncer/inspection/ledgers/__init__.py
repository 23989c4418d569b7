"""The ledgers of clusters: how their stores are read, and the answers that are drawn from it."""
