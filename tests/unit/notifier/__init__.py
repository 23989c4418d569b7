"""Tests of the notifier, each of a module of its name."""
