"""The configuration: model, sources, checks, and how it is shown to people."""

from __future__ import annotations

from syncer.config.loading import DEFAULT_PATH, ConfigInvalid, ConfigProblem, load
from syncer.config.model import Config

__all__ = ["DEFAULT_PATH", "Config", "ConfigInvalid", "ConfigProblem", "load"]
