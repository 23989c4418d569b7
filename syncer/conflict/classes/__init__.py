"""Classes of paths: those that both of two regions of different scopes carry, the only ones that the two compare."""
