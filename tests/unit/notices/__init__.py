"""Tests of notices, each of a module of its name."""
