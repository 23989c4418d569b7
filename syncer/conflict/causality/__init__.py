"""Causality: version vectors, the order of versions, clock skew, and which messages were received."""
