"""How many examples Hypothesis tries, for every test: ``HYPOTHESIS_PROFILE`` may be ``proof``, or ``long``, for more.

No profile has a deadline: how long an example takes says more of the machine than of the code.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SUPPRESSED = (HealthCheck.too_slow,)


def load_profile() -> None:
    """Have every test take the profile that the environment names."""
    settings.register_profile("default", max_examples=50, stateful_step_count=25, deadline=None)
    for name, examples, steps in (("proof", 250, 40), ("long", 1_000, 80)):
        settings.register_profile(
            name,
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=_SUPPRESSED,
        )
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
