"""Clients by their versions: who follows a broker that sends it to another cluster, and who takes which address.

A client that does not follow stays at blue and reconnects for ever; one that follows without a look-up arrives at
a broker that may not own it.
Source: PIP-188; Pulsar PRs 21356 and 23534, C++ client PRs 402 and 406, Go client PR 1210.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.client_versions import Language

if TYPE_CHECKING:
    from syncer.client_versions import ClientVersion, Release

FOLLOWS_SINCE: Final[dict[Language, Release]] = {
    Language.JAVA: (3, 2, 0),
    Language.CPP: (3, 5, 0),
    Language.GO: (0, 13, 0),
}
"""The first release that looks a topic up at the cluster that it was sent to."""

_BACKPORTED: Final = ((3, 0, 7), (3, 1, 0))
"""Java's 3.0 line has it from its seventh patch on; 3.1 never got it."""

CHECKS_ADDRESS_SINCE: Final[Release] = (4, 0, 1)
"""Older Java clients take the TLS address of a redirect unchecked, and fail where there is none."""


def follows(client: ClientVersion) -> bool:
    """Whether a client is known to go where a broker sends it, and to look its topic up there."""
    if client.release is None or client.language not in FOLLOWS_SINCE:
        return False
    if client.language is Language.JAVA and _BACKPORTED[0] <= client.release < _BACKPORTED[1]:
        return True
    return client.release >= FOLLOWS_SINCE[client.language]


def needs_every_address(client: ClientVersion) -> bool:
    """Whether a redirect without one of the four addresses harms a client."""
    if client.language is not Language.JAVA:
        return False
    return client.release is None or client.release < CHECKS_ADDRESS_SINCE
