"""Ledgers of real clusters: what is said of them, and what then happens."""
