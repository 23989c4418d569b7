"""Names of clusters: where documents name clusters, what regions tell of their names, and where these contradict."""
