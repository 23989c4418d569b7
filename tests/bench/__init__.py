"""Benchmarks against the named peer, in one run: ``make bench NAME=sync``."""
