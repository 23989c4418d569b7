"""Which paths were carried before, where the scope is another one."""

from __future__ import annotations

import pytest

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath
from syncer.replication.uncompared import Uncompared

PATH = MetaPath("/admin/policies/acme")
WITH, WITHOUT = Scope(), Scope((Rule(PATH, Direction.IGNORE), *DEFAULT_RULES))


@pytest.mark.parametrize(
    ("former", "between", "carried"),
    [
        (WITH, (), True),
        (WITHOUT, (), False),
        (WITH, (WITHOUT,), False),
        (WITH, (WITH, WITH), True),
        (WITH, (WITH, None), None),
        (None, (WITH,), None),
    ],
)
def test_what_any_daemon_left_out_since_all_was_compared_was_not_carried(
    former: Scope | None, between: tuple[Scope | None, ...], *, carried: bool | None
) -> None:
    assert Uncompared(rules=True, former=former, between=between).was_carried(PATH) is carried


def test_an_empty_database_has_no_rules_of_before() -> None:
    assert Uncompared(rules=True, former=WITH, between=(WITHOUT,)).of_an_empty_database == Uncompared()
