"""Policies of namespaces and topics, as they count at a cluster."""
