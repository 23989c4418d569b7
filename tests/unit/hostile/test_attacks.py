"""The attacks that are played: of every kind, each told in the threat model, each cured by a command if need be."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from docs.pages import PARTS, commands
from syncer.waiting import WAIT_S
from tests.hostile.__main__ import STAGES
from tests.hostile.attack import Attack, Topic, Who
from tests.hostile.attacks import ATTACKS
from tests.hostile.report import Played, last_line
from tests.suites import COUNTED, REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?!---)([^|]+)\|[^|]*\|([^|]*)\|[^|]*\|$", re.MULTILINE)
ENOUGH = 60
COMMANDS = {words for words, _ in commands()}
NAME = re.compile(r"`([^`]+)`")
ATTACK = re.compile(r"\*([^*]+)\*")


def names_of_tests() -> set[str]:
    """Every test function, and every file and directory of tests."""
    listed = subprocess.run(
        ["git", "ls-files", "tests"], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=WAIT_S
    ).stdout.split()
    functions = {
        name
        for file in listed
        if file.endswith(".py")
        for name in re.findall(r"def (test_\w+)", (REPOSITORY / file).read_text(encoding="utf-8"))
    }
    return functions | set(listed) | {file.rpartition("/")[0] for file in listed}


def threats() -> list[tuple[str, str]]:
    """Each row of the table of threats: what threatens, and what shows that it does not."""
    table = PAGE.partition("## Threats")[2].partition("\n## ")[0]
    return [(threat.strip(), shown) for threat, shown in ROW.findall(table) if threat.strip() != "Threat"]


def test_each_attack_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1] == []


def test_every_kind_of_attack_is_made() -> None:
    assert {attack.topic for attack in ATTACKS} == set(Topic)
    assert {who for attack in ATTACKS for who in attack.who} == {who for stage in STAGES for who in stage} == set(Who)
    assert len(ATTACKS) >= ENOUGH


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_cure_is_a_command(attack: Attack) -> None:
    for cure in attack.cure:
        words = tuple(cure.split())
        assert words[:1] in COMMANDS or words[:2] in COMMANDS, cure
    assert attack.what.endswith(".")


def test_every_threat_is_shown_by_an_attack_or_a_test() -> None:
    known, attacks = names_of_tests(), {attack.name for attack in ATTACKS}
    rows = threats()
    assert len(rows) > 10
    for threat, shown in rows:
        named, told = NAME.findall(shown), ATTACK.findall(shown)
        assert named or told or not shown.strip(), threat
        assert [name for name in named if name not in known and not name.startswith("make ")] == [], threat
        assert [name for name in told if name not in attacks] == [], threat


def test_the_threat_model_tells_every_attack() -> None:
    assert "<!-- from the code: attacks -->" in PAGE
    told = PARTS["attacks"]()
    assert [attack.name for attack in ATTACKS if attack.name not in told] == []


def test_a_line_tells_who_did_what_and_the_last_one_is_counted() -> None:
    def played(failure: str) -> Played:
        attack = ATTACKS[0]
        return Played(attack=attack, who=Who.MEMBER, failure=failure, happened="refused\n\x1b it", seconds=1.25)

    assert played("").line == f"PASS {ATTACKS[0].name} (member): refused \\x1b it [1.2 s]"
    assert played("it ended").line == f"FAIL {ATTACKS[0].name} (member): it ended [1.2 s]"
    assert last_line([played(""), played("it ended"), played("")]) == "2 passed, 1 failed"
    assert COUNTED.fullmatch(last_line([]))


def test_nothing_played_is_no_success() -> None:
    command = [sys.executable, "-m", "tests.hostile", "--only", "an attack that nobody has made"]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (ended.returncode, ended.stdout) == (1, "0 passed, 0 failed\n")
