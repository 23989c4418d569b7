"""README and documentation say what is so: tests, targets, commands, links and reasons that they name exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.pages import MARK, PARTS, commands
from syncer.cli.main import app
from syncer.conflict.register import HoldReason
from syncer.dispositions import DISPOSITIONS
from syncer.metrics import FAMILIES
from syncer.operations.decisions import FUTURE
from syncer.waiting import WAIT_S
from tests.suites import REPOSITORY

README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
PAGES = (README, *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts))
TEST_ID = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
BLOCK = re.compile(r"```(?:console|bash)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


def name_of(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def lines_of(page: Path) -> list[str]:
    """The commands that a page tells to type, continued lines joined, prompts and comments taken off."""
    found: list[str] = []
    for indented in BLOCK.findall(re.sub(r"^ {2,3}", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)):
        lines = indented.replace("\\\n", " ").splitlines()
        found += [re.sub(r"^(\$|#) ", "", line.strip()) for line in lines]
    return found


@cache
def options() -> dict[tuple[str, ...], set[str]]:
    """Command → its options, those of every command included."""
    everywhere = {"--config", "-c", "--output", "-o", "--server", "--context", "--help"}
    return {
        words: everywhere | {each for option in command.params for each in (*option.opts, *option.secondary_opts)}
        for words, command in commands()
    }


def called(line: str) -> list[str] | None:
    """The words after ``syncer`` in a shell line, up to a redirection or the next command; None where there is none."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None  # half of a shell function
    starts = [at for at, word in enumerate(words) if word == "syncer" or word.endswith("/bin/syncer")]
    if not starts or "podman" in words[0]:
        return None
    rest = words[starts[0] + 1 :]
    while rest[:1] and rest[0] in {"-c", "--config", "-o", "--output", "--server", "--context"}:
        rest = rest[2:]
    ends = [at for at, word in enumerate(rest) if word in {"&", "|", "2>", "2>>", ";"}]
    return rest[: ends[0]] if ends else rest


def test_the_readme_names_a_test_in_every_line_of_its_tables() -> None:
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [line for line in lines if not line.startswith(("| | ", "| --- "))]
    assert len(lines) - len(rows) == 4, "a table has one line that names its columns, and one below it"
    assert len(rows) > 20
    assert [row for row in rows if not TEST_ID.search(row)] == []


def test_every_test_that_the_readme_names_is_collected() -> None:
    named = set(TEST_ID.findall(README.read_text(encoding="utf-8")))
    files = sorted({file for file, _ in named})
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *files],
        cwd=REPOSITORY,
        env={**os.environ, "PYTEST_ADDOPTS": ""},  # whoever runs the tests may have asked for another listing
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    collected = set(re.findall(r"^(tests/[\w/]+\.py)::(\w+)", answer.stdout, re.MULTILINE))
    assert collected, answer.stdout + answer.stderr
    assert sorted(named - collected) == []


def test_every_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = {words[1] for line in lines_of(page) if (words := line.split())[:1] == ["make"] and len(words) > 1}
        assert named <= targets, name_of(page)


@every_page
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    for line in lines_of(page):
        words = called(line)
        if not words:
            continue
        command = next((words[:length] for length in (3, 2, 1) if tuple(words[:length]) in options()), None)
        assert command is not None, f"no such command: {line}"
        given = {word.partition("=")[0] for word in words[len(command) :] if word.startswith("-")}
        assert given <= options()[tuple(command)], line


@every_page
def test_every_link_leads_to_a_file(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), f"{name_of(page)}: {target}"


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^((?:tutorial|how-to|explanation|reference)/[\w-]+)$", index, re.MULTILINE))
    present = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES[1:]} - {"index"}
    assert listed == present


def test_every_reason_of_a_hold_is_explained() -> None:
    page = (DOCS / "how-to" / "decide-a-hold.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert explained == {*(reason.value for reason in HoldReason), FUTURE}


def test_troubleshooting_names_codes_and_commands_that_exist() -> None:
    page = (DOCS / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    status = (DOCS / "how-to" / "read-status.md").read_text(encoding="utf-8")
    conditions = set(re.findall(r"^\| `([a-z-]+)` \|", status, re.MULTILINE))
    known = conditions | {cls.code for cls in DISPOSITIONS} | {*(reason.value for reason in HoldReason), FUTURE}
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", page))
    assert named
    assert named <= known
    commands_shown = re.findall(r"`(?:runuser [^`]*)?(syncer [^`]+)`", page)
    assert len(commands_shown) > 20
    for line in commands_shown:
        words = line.split()[1:]
        command = next((words[:length] for length in (2, 1, 0) if tuple(words[:length]) in options()), None)
        assert command is not None or words == ["--version"], line
        given = {word for word in words if word.startswith("--")}
        assert given <= (options()[tuple(command)] if command is not None else {"--version"}), line


def test_alerts_name_metrics_that_are_exported() -> None:
    page = (DOCS / "how-to" / "alert.md").read_text(encoding="utf-8")
    exported = {family.name for family in FAMILIES}
    named = {re.sub(r"_(total|bucket|sum)$", "", name) for name in re.findall(r"\bsyncer_\w+", page)}
    assert named
    assert named <= exported


@pytest.mark.parametrize("name", PARTS)
def test_every_part_from_the_code_is_made_and_stands_on_one_page(name: str) -> None:
    assert PARTS[name]().strip()
    assert [name_of(page) for page in PAGES if name in MARK.findall(page.read_text(encoding="utf-8"))] != []


@every_page
def test_every_mark_names_a_part(page: Path) -> None:
    assert set(MARK.findall(page.read_text(encoding="utf-8"))) <= set(PARTS)


def test_the_reference_has_every_command() -> None:
    page = PARTS["command-line"]()
    assert CliRunner().invoke(app, ["--help"]).exit_code == 0
    for words in options():
        assert f"## `syncer {' '.join(words)}`" in page
