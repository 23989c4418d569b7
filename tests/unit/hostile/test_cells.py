"""The table of attacks: every entry of the code has a row, and every cell an attack or a reason."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest

from syncer.bus.wire.messages import Heartbeat
from tests.api.routes_table import ROUTES
from tests.hostile.__main__ import in_turn
from tests.hostile.attack import Attack, Who
from tests.hostile.attacks import ATTACKS
from tests.hostile.beats import SIZELESS, SIZES
from tests.hostile.cells import entries
from tests.hostile.cells.columns import Cell, Column
from tests.hostile.cells.rows import FILE_ROWS
from tests.hostile.cells.table import TABLE, Outcome, document, filled, lines, makers_of
from tests.hostile.report import Played
from tests.hostile.surface import PROBES
from tests.unit.hostile.test_attacks import names_of_tests

ENOUGH_WORDS = 6
ENTRIES = {row.entry for row in TABLE}
TEST_NAME = re.compile(r"\btest_\w+|\btests/[\w/.]+")


def played(attack: Attack, who: Who, failure: str = "") -> Played:
    return Played(attack=attack, who=who, maker=who, failure=failure, happened="", seconds=1.0)


def short_form() -> list[Played]:
    """A run of the short form in which all passed."""
    makers = in_turn(ATTACKS)
    return [played(attack, who) for attack in ATTACKS for who in makers[attack.name]]


@pytest.mark.parametrize("listed", [entries.messages, entries.heartbeat_fields, entries.manifests, entries.routes])
def test_every_entry_of_the_code_has_a_row(listed: object) -> None:
    assert callable(listed)
    found = listed()
    assert found
    kind = next(iter(found)).partition(" ")[0]
    assert {entry for entry in ENTRIES if entry.startswith(f"{kind} ")} == found


def test_every_file_that_the_code_names_is_covered_by_one_row() -> None:
    covered = Counter(name for row in FILE_ROWS for name in row.covers)
    assert [name for name, count in covered.items() if count > 1] == []
    assert set(covered) == entries.files()


def test_every_cell_has_an_attack_or_a_reason() -> None:
    assert len(ENTRIES) == len(TABLE)
    for each in filled(ATTACKS, []):
        assert bool(each.attacks) is not bool(each.reason), each
        assert each.attacks or len(each.reason.split()) >= ENOUGH_WORDS, each


def test_attacks_fill_cells_of_the_table_alone() -> None:
    cells = {Cell(entry, column) for entry in ENTRIES for column in Column}
    assert [(attack.name, attack.fills - cells) for attack in ATTACKS if attack.fills - cells] == []
    for attack in ATTACKS:
        for cell in attack.fills:
            assert makers_of(cell, attack), f"{attack.name} is made by nobody who fills {cell}"


def test_the_short_form_plays_what_fills_each_cell() -> None:
    open_cells = [each for each in filled(ATTACKS, short_form()) if each.outcome not in {None, Outcome.PASSED}]
    assert open_cells == []


def test_every_test_that_a_reason_names_is_there() -> None:
    known = names_of_tests()
    named = {name for row in TABLE for reason in row.why.values() for name in TEST_NAME.findall(reason)}
    assert named
    assert [name for name in sorted(named) if name.rstrip(".") not in known] == []


def test_every_field_has_sizes_and_every_route_an_example() -> None:
    assert set(SIZES) | SIZELESS == {each.name for each in dataclasses.fields(Heartbeat)}
    assert {f"route {row.method} {row.template}" for row in (*ROUTES, *PROBES)} == entries.routes()


def test_a_cell_says_how_its_attacks_went() -> None:
    attack = next(attack for attack in ATTACKS if attack.fills and attack.who == (Who.STRANGER, Who.NAMED))
    cell = next(iter(attack.fills))

    def outcome(*runs: Played) -> Outcome | None:
        return next(each.outcome for each in filled([attack], runs) if each.cell == cell)

    assert outcome() is Outcome.NOT_PLAYED
    assert outcome(played(attack, Who.MEMBER)) is Outcome.NOT_PLAYED, "who is believed forges nothing"
    assert outcome(played(attack, Who.NAMED)) is Outcome.PASSED
    assert outcome(played(attack, Who.NAMED), played(attack, Who.STRANGER, "it ended")) is Outcome.FAILED


def test_the_table_is_printed_whole() -> None:
    cells = filled(ATTACKS, short_form())
    text = "\n".join(lines(cells))
    assert text.splitlines()[-1] == (
        f"{len(TABLE) * 4} cells: {sum(bool(each.attacks) for each in cells)} by attacks that passed, "
        f"0 by attacks that did not, {sum(bool(each.reason) for each in cells)} by a reason"
    )
    for attack in ATTACKS:
        assert (f" passed: {attack.name}" in text) is bool(attack.fills)
    assert {row["entry"] for row in document(cells)} == ENTRIES
    assert all(set(row) == {"entry", *map(str, Column)} for row in document(cells))
