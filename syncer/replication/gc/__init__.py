"""Garbage collection of tombstones: when deletes are forgotten, and what fills gaps in what was received."""
