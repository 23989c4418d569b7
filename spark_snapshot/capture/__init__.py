"""Capture of a snapshot: a store and registers are read, joined, and written."""
