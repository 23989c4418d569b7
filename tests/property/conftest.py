"""Profiles of the property tests: short by default; ``HYPOTHESIS_PROFILE`` may be ``proof``, or ``long``, for more."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SUPPRESSED = (HealthCheck.too_slow,)

settings.register_profile("default", max_examples=40, stateful_step_count=25, deadline=None, derandomize=False)
settings.register_profile(
    "long",
    max_examples=1_000,
    stateful_step_count=80,
    deadline=None,
    derandomize=False,
    suppress_health_check=_SUPPRESSED,
)
settings.register_profile(
    "proof",
    max_examples=250,
    stateful_step_count=40,
    deadline=None,
    derandomize=False,
    suppress_health_check=_SUPPRESSED,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
