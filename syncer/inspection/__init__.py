"""Inspection of a region: its status, the verdict on it, and the conditions it can report."""
