"""Commands are found by their first word, and a call loads what it needs, not what others do."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.main import get_group

from syncer.cli.tree import ADDING, LateCommands


@pytest.mark.parametrize("word", ADDING)
def test_each_word_adds_the_command_of_its_name_and_no_other(word: str) -> None:
    app = typer.Typer()
    ADDING[word](app)
    assert list(get_group(app).commands) == [word]
    assert LateCommands()[word].name == word


def test_words_are_told_without_a_look_at_commands_and_others_can_be_added() -> None:
    commands = LateCommands()
    assert list(commands) == list(ADDING)
    assert len(commands) == len(ADDING)
    assert "stauts" not in commands
    assert commands.get("stauts") is None
    commands["mine"] = commands["status"]
    assert (list(commands)[-1], commands["mine"].name) == ("mine", "status")
    del commands["mine"]
    assert "mine" not in commands


def test_a_call_loads_no_more_than_its_own_command() -> None:
    code = (
        "import sys; from syncer.cli.main import app\n"
        "try: app(['holds', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(each for each in sys.modules if each.startswith('syncer.cli.commands.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['syncer.cli.commands.holds']"
    assert "Usage" in done.stdout
