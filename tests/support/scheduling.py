"""Which tests of a parallel run stay on one worker: those that share real servers.

pytest-xdist's own groups go by a suffix that it gives to test ids, which pytest 9.2 no longer lets it do; so the tests
are told apart by where they stand.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

SERVER_GROUP: Final = "servers"
SERVER_DIRECTORIES: Final = ("tests/real/", "tests/contract/", "tests/bench/", "tests/balancer/")
DATABASE_GROUP: Final = "databases"
DATABASE_MODULES: Final = tuple(
    f"tests/contract/{name}.py::"
    for name in ("test_decided_at_once", "test_numbers", "test_shared_database", "test_state_postgres")
)
"""Of the contract, what uses PostgreSQL alone; nothing else there uses it, so neither waits for the other."""


def group_of(nodeid: str) -> str:
    """Name of the group of a test; a test that shares nothing is a group of its own."""
    if nodeid.startswith(DATABASE_MODULES):
        return DATABASE_GROUP
    return SERVER_GROUP if nodeid.startswith(SERVER_DIRECTORIES) else nodeid


class ServersTogether(LoadScopeScheduling):
    """Gives all tests of the same real servers to one worker, every other test to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
