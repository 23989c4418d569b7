"""Columns for people: whole, plain where nobody looks, and made of text alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from syncer.cli.render import output

WIDE: Final = "/admin/policies/" + "a" * 300
MARKUP: Final = "[red]not red[/red] [link=https://example.org]no link[/link] :warning:"


def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stdout a narrow terminal; what is written is captured as ever."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_columns_begin_below_each_other_and_end_with_their_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("path", "in 東", "bytes"), [("/a", "東京", 12), ("/admin", None, True), ("", "", "")])
    assert capsys.readouterr().out == "PATH    IN 東  BYTES\n/a      東京   12\n/admin  -      yes\n\n"


def test_facts_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    output.facts([("region", "east"), ("database", None), ("a", ""), ("paths", 3)])
    assert capsys.readouterr().out == "region    east\ndatabase  -\na\npaths     3\n"


def test_without_rows_nothing_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("path",), [], empty="nothing is held")
    output.table(("path",), [])
    output.facts([])
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "nothing is held\n")


@pytest.mark.parametrize("term", ["xterm", "dumb", ""])
def test_no_cell_is_cut_or_wrapped_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    terminal(monkeypatch)
    monkeypatch.setenv("TERM", term)
    output.table(("path", "detail"), [(WIDE, "word " * 50 + "end"), ("/b", "")])
    output.facts([("path", WIDE)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1] == f"{WIDE}  {'word ' * 50}end"
    assert lines[2] == "/b"
    assert WIDE in lines[3]


def test_what_looks_like_markup_is_text_and_what_acts_is_seen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    output.table(("name", "more"), [(MARKUP, "\x1b[31m\n\t\u202e"), ("b", "\udce9")])
    output.facts([("name", MARKUP)])
    assert capsys.readouterr().out == (
        f"NAME{' ' * (len(MARKUP) - 2)}MORE\n{MARKUP}  \\x1b[31m\\n\\t\\u202e\nb{' ' * (len(MARKUP) + 1)}\\udce9\n"
        f"name  {MARKUP}\n"
    )


def test_headings_stand_out_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(monkeypatch)
    output.table(("a",), [("b",)])
    output.facts([("c", "d")])
    assert capsys.readouterr().out == "\x1b[1mA\x1b[0m\nb\n\x1b[1mc\x1b[0m  d\n"
    for name, value in {"NO_COLOR": "1", "TERM": "dumb"}.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            output.table(("a",), [("b",)])
        assert capsys.readouterr().out == "A\nb\n"
    monkeypatch.setenv("NO_COLOR", "")
    output.table(("a",), [("b",)])
    assert capsys.readouterr().out.startswith("\x1b[1mA"), "an empty NO_COLOR means nothing"


def test_a_long_table_has_the_same_columns_on_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    count = 2 * output.LAID_OUT_AT_ONCE + 1
    output.table(
        ("number", "x"), [(index, "x" if index < count - 1 else "") for index in range(count - 1)] + [(WIDE, 1)]
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count + 1
    assert {line.rindex("x") for line in lines[1:-1]} == {len(WIDE) + 2}


def test_piped_columns_are_plain_whatever_the_environment_says(tmp_path: Path) -> None:
    code = "from syncer.cli.render import output; output.table(('a', 'b'), [('x' * 200, 1)])"
    env = {**os.environ, "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLUMNS": "20", "TTY_COMPATIBLE": "1"}
    told = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert told.stdout == f"A{' ' * 201}B\n{'x' * 200}  1\n"


def test_rich_is_loaded_by_the_first_columns_alone() -> None:
    code = (
        "import sys; import syncer.cli.main; from syncer.cli.render import output\n"
        "output.out('x'); output.structured({}, output.Format.JSON); output.table(('a',), [])\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'rich'))\n"
        "output.facts([('a', 1)])\n"
        "print('rich.table' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-3:] == ["[]", "a  1", "True"]


@pytest.mark.parametrize("arguments", [["--version"], ["config", "schema"]])
def test_a_disk_that_is_full_is_said_in_words(arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        code = "from syncer.cli.main import main; main()"
        call = [sys.executable, "-c", code, *arguments]
        told = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert told.stderr.splitlines() == [
        "error: the output cannot be written: No space left on device",
        "hint: Make room where it goes to, or send it somewhere else, and repeat the command.",
    ]
    assert told.returncode == 1
