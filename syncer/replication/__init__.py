"""The shell around the replica: it observes, stores, acts, and feeds back what happened."""
