"""Capturing a snapshot: reading a store and registers, joining them, writing the result."""
