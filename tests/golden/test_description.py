"""The committed description of the HTTP surface breaks no client of what was committed before, or says a new version.

Releases are compared in :mod:`tests.golden.test_wire`; here it is what git has: the last commit, the one before the
description was last changed, and where this branch left the main one. An archive without git has none of them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from syncer.waiting import WAIT_S
from tests.golden.compatibility import breaking
from tests.suites import REPOSITORY

FILE: Final = "docs/reference/openapi.json"
AGREED: Final = frozenset(
    f"POST /api/v1/{route}: 200.sha256 need not be there any more"
    for route in ("snapshot-syncs", "snapshot-syncs-by-force")
)
"""Lines of :func:`breaking` about what no release has, agreed upon; struck out with the release that comes next."""


def git(folder: Path, *words: str) -> str:
    """What git says; nothing where it has no answer."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=WAIT_S)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def before(folder: Path) -> Iterator[str]:
    """Commits whose description must not be broken."""
    yield "HEAD"
    yield from git(folder, "rev-list", "--max-count=2", "HEAD", "--", FILE).split()[1:]
    for main in ("main", "origin/main"):
        yield from git(folder, "merge-base", "HEAD", main).split()


def broken(folder: Path) -> dict[str, list[str]]:
    """By commit: what the description in the folder breaks of it."""
    now: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
    found = {each: git(folder, "show", f"{each}:{FILE}") for each in before(folder)}
    return {each: breaking(json.loads(text), now) for each, text in found.items() if text}


def test_nothing_that_was_committed_is_broken() -> None:
    found = {line for lines in broken(REPOSITORY).values() for line in lines}
    assert found - AGREED == set(), (
        "this breaks a client of before: leave it as it was, or raise the version of the API in api.app.openapi_text "
        "and in the paths; what no release has may be agreed upon in AGREED"
    )


def described(version: str, *paths: str) -> str:
    return json.dumps({"info": {"version": version}, "paths": {each: {"get": {}} for each in paths}})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One whose main branch describes two routes, and whose branch has left it with a third."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for branch, text in (("main", described("1", "/a", "/b")), ("work", described("1", "/a", "/b", "/c"))):
        git(tmp_path, "checkout", "--quiet", "-B", branch)
        commit(tmp_path, text)
    return tmp_path


def commit(folder: Path, text: str) -> None:
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(text, encoding="utf-8")
    git(folder, "add", FILE)
    git(folder, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message=x")


def test_a_broken_route_is_found_before_and_after_its_commit_and_after_the_next_one(repository: Path) -> None:
    assert not any(broken(repository).values())
    (repository / FILE).write_text(described("1", "/a"), encoding="utf-8")
    assert broken(repository)["HEAD"] == ["GET /b is gone", "GET /c is gone"]
    commit(repository, described("1", "/a"))
    assert broken(repository)["HEAD"] == []
    assert ["GET /b is gone", "GET /c is gone"] in broken(repository).values()
    commit(repository, described("1", "/a", "/d"))
    assert [each for each in broken(repository).values() if each] == [["GET /b is gone"]], "it was in the main branch"
    commit(repository, described("2", "/a"))
    assert [each for each in broken(repository).values() if each] == [], "another version may be another one"


def test_without_git_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(described("1"), encoding="utf-8")
    assert broken(tmp_path) == {}
