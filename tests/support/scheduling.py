"""Which tests of a parallel run stay on one worker: those that share the real servers.

pytest-xdist's own groups go by a suffix that it gives to test ids, which pytest 9.2 no longer lets it do; so the tests
are told apart by where they stand.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

SERVER_GROUP: Final = "servers"
SERVER_DIRECTORIES: Final = ("tests/real/", "tests/contract/", "tests/bench/", "tests/balancer/")


def group_of(nodeid: str) -> str:
    """Name of the group of a test; a test that shares nothing is a group of its own."""
    return SERVER_GROUP if nodeid.startswith(SERVER_DIRECTORIES) else nodeid


class ServersTogether(LoadScopeScheduling):
    """Gives all tests of the real servers to one worker, every other test to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
