"""Failures to show a good credential, counted by address within a bounded table: how often each may fail.

A token's secret cannot be guessed, so the limit protects no secret. It keeps a program with a wrong token, or a
stranger, from filling the log and the audit trail: beyond it failures are answered, and told nobody. Who shows a good
credential is not asked how often others at its address have failed: a proxy, or an office, is one address for many.

    allowance of an address: BURST failures at once, and one more each PAUSE_S; it is forgotten once it is whole again
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field
from typing import Final

BURST: Final = 10
PAUSE_S: Final = 6.0
MAX_ADDRESSES: Final = 4096
"""Remembered at once; further ones share one allowance until others are whole again."""
OTHERS: Final = "others"


def neighbourhood(address: str) -> str:
    """What counts as one address: a /64 of IPv6, where one customer has all of it; IPv4 within IPv6 is IPv4."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return OTHERS
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


@dataclass(slots=True, kw_only=True)
class Failures:
    """Allowances of all addresses.

    Args:
        burst: Failures at once.
        pause_s: Time after which one more is allowed.
        most: Addresses that are remembered.
    """

    burst: int = BURST
    pause_s: float = PAUSE_S
    most: int = MAX_ADDRESSES
    limited: int = 0
    """Failures beyond an allowance since the start."""
    _whole_at: dict[str, float] = field(default_factory=dict)
    """When the allowance of each address is whole again: seconds of a clock that never goes back."""

    def __len__(self) -> int:
        return len(self._whole_at)

    def fail(self, address: str, now_s: float) -> int:
        """Count a failure.

        Args:
            address: Where the request came from.
            now_s: Seconds of a clock that never goes back.

        Returns:
            Zero: it is within the allowance. Else seconds until one more is.
        """
        key = neighbourhood(address)
        if key not in self._whole_at and len(self._whole_at) >= self.most:
            self._forget(now_s)
            if len(self._whole_at) >= self.most:
                key = OTHERS
        whole_at = max(self._whole_at.get(key, now_s), now_s) + self.pause_s
        beyond_s = whole_at - now_s - self.burst * self.pause_s
        if beyond_s > 1e-6:
            self.limited += 1
            return math.ceil(beyond_s)
        self._whole_at[key] = whole_at
        return 0

    def _forget(self, now_s: float) -> None:
        self._whole_at = {key: at for key, at in self._whole_at.items() if at > now_s}
