"""Fixtures of the commands that look into a sidecar database: one with one of everything."""

from __future__ import annotations

from tests.support.region_database import daemon, run, state, template, views

__all__ = ["daemon", "run", "state", "template", "views"]
