"""Hosts that a configuration names, and why a connection to one failed."""
