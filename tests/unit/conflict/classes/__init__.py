"""Classes of paths that pairs of regions share."""
