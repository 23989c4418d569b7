"""Roles: each covers those before it, and nothing that comes after."""

from __future__ import annotations

import itertools

from syncer.access.roles import AccessRole


def test_a_role_covers_itself_and_what_is_less() -> None:
    in_order = [AccessRole.READ, AccessRole.OPERATE, AccessRole.ADMIN]
    assert set(in_order) == set(AccessRole)
    for one, other in itertools.product(range(3), repeat=2):
        assert in_order[one].covers(in_order[other]) == (one >= other)
