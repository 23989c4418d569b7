"""How many examples each fuzz test draws: shares of one total, so that the whole is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from hypothesis import HealthCheck, settings

TOTAL: Final = int(os.environ.get("FUZZ_EXAMPLES", "10000"))
"""Of all tests together: 10,000 in the short form, 1,000,000 in the long one."""

ALWAYS_THE_SAME: Final = "FUZZ_EXAMPLES" not in os.environ
"""The short form draws the same examples each time: it guards what was found. The long form looks for more."""

SHARES: Final = {
    "garbage": 0.15,
    "spoilt": 0.15,
    "signed": 0.12,
    "tree bodies": 0.10,
    "projections": 0.12,
    "layers": 0.05,
    "consumed": 0.04,
    "configuration": 0.05,
    "key files": 0.02,
    "local files": 0.01,
    "HTTP": 0.03,
    "REST": 0.01,
    "REST of a region": 0.03,
    "command line": 0.02,
    "ledgers": 0.10,
}
"""By what one example of each costs."""

AT_LEAST: Final = {"REST of a region": 3_000, "ledgers": 10_000}
"""Examples of a share that are drawn in any form, beyond the total: 25 and 2 ms of one core each, most of it to make
them."""


def drawing(share: str, parts: int = 1) -> Callable[[Any], Any]:
    """Settings of a test that draws this share; a failing example is printed.

    Args:
        share: By its name.
        parts: How many tests draw it together.
    """
    suppressed = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
    return settings(
        max_examples=max(1, round(max(TOTAL * SHARES[share], AT_LEAST.get(share, 0)) / parts)),
        deadline=None,
        suppress_health_check=suppressed,
        database=None,
        derandomize=ALWAYS_THE_SAME,
        print_blob=True,
    )
