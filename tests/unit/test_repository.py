"""Rules of the repository that no other tool looks at."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
import shlex
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

from syncer.waiting import WAIT_S
from tests.suites import REPOSITORY, Suite, load

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
TABLE = load(REPOSITORY / "tests" / "suites.toml")
SUITES, ALLOWED_SKIPS = TABLE.suites, TABLE.allowed_skips
PACKAGES = ("syncer", "api", "spark_snapshot", "deploy", "tests")
LOCKS = ("dev.lock", "spark.lock", "daemon.lock")
BANNED_MODULES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
MAX_LINES = 500

# One letter of each stands in brackets, so that this file does not hold what it looks for.
INDEX_ADDRESSES = re.compile(
    r"index[-_]ur[l]\s*[= ]\s*[\"']?\w+:[/]{2}|pyp[i]\.(?:org|python)|pythonhoste[d]\."
    r"|mave[n]\.(?:org|apache\.org)|npmj[s]\."
    r"|artifactor[y]",
    re.IGNORECASE,
)
MACHINE_PATHS = re.compile(r"(?<![\w./-])/(?:home|root|work|Users|tm[p])/\w")
GOLDEN = re.compile(r"tests/golden/\d")  # what a release has written stays as it wrote it
MARKERS = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b")


@cache
def tracked() -> tuple[Path, ...]:
    """List the files of the repository that exist."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    return tuple(path for name in listed.stdout.split("\0") if name and (path := REPOSITORY / name).is_file())


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@cache
def texts(*suffixes: str) -> list[tuple[str, str]]:
    """Read the text files with one of the suffixes; all text files when none is given."""
    found = []
    for path in tracked():
        if suffixes and path.suffix not in suffixes:
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            found.append((name_of(path), data.decode("utf-8")))
    assert found, f"no file with {suffixes}"
    return found


def offenders(pattern: re.Pattern[str], files: list[tuple[str, str]]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in files
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_package_index_address_is_recorded() -> None:
    assert offenders(INDEX_ADDRESSES, texts()) == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install --index-" + "url=https://packages.example/simple",
        "UV_INDEX_" + "URL = 'http://localhost:3141'",
        "https://files.python" + "hosted.org/packages/a.whl",
        "https://repo1.maven" + ".org/maven2",
    ],
)
def test_the_search_for_addresses_finds_them(line: str) -> None:
    assert INDEX_ADDRESSES.search(line)


def test_no_path_of_one_machine_is_recorded() -> None:
    assert offenders(MACHINE_PATHS, texts()) == []


def test_nothing_is_left_for_later() -> None:
    files = [(name, text) for name, text in texts(".py", ".pyi", ".toml", ".sh", ".md", ".yaml", ".yml")]
    assert offenders(MARKERS, files) == []


def test_every_python_file_begins_as_agreed() -> None:
    wrong = []
    for name, text in texts(".py"):
        body = ast.parse(text).body
        if not body:
            continue
        documented = ast.get_docstring(ast.Module(body, [])) is not None
        code = body[documented:]
        future = bool(code) and isinstance(code[0], ast.ImportFrom) and code[0].module == "__future__"
        if not documented or (code and not future):
            wrong.append(name)
    assert wrong == []


def test_modules_are_nouns_of_a_readable_size() -> None:
    names = [name for name, _ in texts(".py") if name.split("/", 1)[0] in PACKAGES]
    assert [name for name in names if Path(name).stem in BANNED_MODULES] == []
    product = [(name, text) for name, text in texts(".py") if not name.startswith("tests/")]
    assert [f"{name}: {text.count(chr(10))}" for name, text in product if text.count("\n") > MAX_LINES] == []


def test_text_files_end_with_one_newline_and_have_no_trailing_space() -> None:
    wrong = [
        name
        for name, text in texts()
        if text
        and not GOLDEN.match(name)
        and (
            not text.endswith("\n") or text.endswith("\n\n") or "\r" in text or re.search(r"[ \t]$", text, re.MULTILINE)
        )
    ]
    assert wrong == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_is_pinned_with_hashes(lock: str) -> None:
    text = (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) > 30
    assert [
        line
        for line in lines
        if not re.match(r"[a-z0-9.-]+(?:\[[a-z0-9,-]+\])?==\S+( ;.*?)?\s+--hash=sha256:[0-9a-f]{64}", line)
    ] == []


def pins(lock: str) -> dict[str, tuple[str, ...]]:
    """Read a lock: each package with its version and its hashes. Platforms are left out: each extra adds to them."""
    text = (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(r"^([a-z0-9.-]+)(?:\[[a-z0-9,-]+\])?==(\S+)(.*)$", text, flags=re.MULTILINE)
    return {name: (version, *re.findall(r"--hash=(\S+)", rest)) for name, version, rest in found}


def normalized(requirement: str) -> str:
    return re.split(r"[\s\[<>=~!;]", requirement, maxsplit=1)[0].lower().replace("_", "-").replace(".", "-")


def test_the_locks_agree_and_hold_every_declared_dependency() -> None:
    development, with_spark, daemon = map(pins, LOCKS)
    assert daemon.items() <= with_spark.items() <= development.items()
    extras = PROJECT["project"]["optional-dependencies"]
    declared = [*PROJECT["project"]["dependencies"], *extras["postgresql"]]
    assert [name for name in map(normalized, declared) if name not in daemon] == []
    assert [name for name in map(normalized, extras["spark"]) if name not in with_spark] == []
    groups = [line for group in PROJECT["dependency-groups"].values() for line in group if isinstance(line, str)]
    assert [name for name in map(normalized, groups) if name not in development] == []


def test_what_a_locked_package_demands_with_extras_is_locked_with_them() -> None:
    """Else pip looks at newer releases of it first, and refuses to install anything as soon as there is one."""
    text = (REPOSITORY / "requirements" / "dev.lock").read_text(encoding="utf-8")
    locked = {name: set(extras.split(",")) for name, extras in re.findall(r"(?m)^([a-z0-9.-]+)\[(.+?)\]==", text)}
    demanded = {
        (normalized(line), extra)
        for each in importlib.metadata.distributions()
        if normalized(each.name) in pins("dev.lock")
        for line in each.requires or ()
        if "extra ==" not in line and (found := re.match(r"[\w.-]+\[(.+?)\]", line))
        for extra in found[1].split(",")
    }
    assert demanded
    assert [f"{name}[{extra}]" for name, extra in sorted(demanded) if extra not in locked.get(name, set())] == []


def test_the_daemons_lock_has_the_driver_of_postgresql_and_nothing_of_spark() -> None:
    daemon = pins("daemon.lock")
    assert {"psycopg", "psycopg-binary"} <= daemon.keys()
    spark = {normalized(line) for line in PROJECT["project"]["optional-dependencies"]["spark"]}
    assert daemon.keys() & spark == set()


def test_the_audit_reads_every_lock_that_is_installed_by_operators() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (audit,) = re.findall(r"^\t.*pip-audit.*$", makefile, flags=re.MULTILINE)
    assert set(re.findall(r"-r requirements/(\S+)", audit)) == {"spark.lock", "daemon.lock"}


def collected(suite: Suite) -> set[str]:
    """List the test files that the pytest steps of a suite take."""
    files: set[str] = set()
    every = {name_of(path) for path in tracked() if path.match("test_*.py")}
    for step in suite.steps:
        taken = {name for name in every if step.takes(name)}
        assert not files & taken, f"{suite.name}: two steps run {files & taken}"
        files |= taken
    return files


def test_every_test_file_belongs_to_exactly_one_suite() -> None:
    per_suite = [collected(suite) for suite in SUITES]
    everything = {name_of(path) for path in tracked() if path.match("test_*.py")}
    assert set().union(*per_suite) == everything
    assert sum(map(len, per_suite)) == len(everything)


def test_no_skip_is_allowed_under_ci_without_being_discussed_here() -> None:
    assert ALLOWED_SKIPS == ()


def targets() -> dict[str, str]:
    """Read the targets of the Makefile with their prerequisites."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z-]+):([^#\n=]*)##", makefile, flags=re.MULTILINE))


def test_the_makefile_has_what_people_look_for() -> None:
    wanted = "help setup servers demo demo-pulsar check test test-all test-long bench docs lock fmt wheel clean"
    assert set(wanted.split()) <= set(targets())
    listed = subprocess.run(
        ["make", "-s"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
        env=outer_environment(),
    ).stdout
    assert {line.split()[0] for line in listed.splitlines()} == set(targets())


def outer_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}


def test_every_target_goes_through_the_one_set_up_path() -> None:
    def reaches_setup(target: str) -> bool:
        return target == "setup" or any(reaches_setup(before) for before in targets()[target].split())

    by_runner = {"test", "test-all", "test-long"}  # their first suite is 'setup', so that its minutes are counted
    assert SUITES[0].name == "setup"
    assert SUITES[0].steps[0].run == ("make", "setup")
    assert SUITES[0].steps[0].essential
    assert [name for name in targets() if not reaches_setup(name)] == [
        name for name in targets() if name in by_runner | {"help", "clean"}
    ]


def test_ci_only_calls_make_test_all() -> None:
    script = REPOSITORY / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = [line for line in script.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec make test-all"]


def test_pre_commit_runs_the_tools_of_the_environment_and_downloads_nothing() -> None:
    table = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in table["repos"]] == ["local"]
    hooks = table["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert all(shlex.split(hook["entry"])[0].startswith(".venv/bin/") for hook in hooks)
    assert {"ruff-format", "ruff-check", "mypy", "import-linter", "deptry"} <= {hook["id"] for hook in hooks}


def test_the_licence_is_the_declared_one() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    text = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_every_adapter_is_held_apart_from_the_others() -> None:
    points = PROJECT["project"]["entry-points"]
    declared = {
        ".".join(point.split(":")[0].split(".")[:3])
        for group in ("syncer.stores", "syncer.buses")
        for point in points[group].values()
    }
    adapters = {name for name in declared if importlib.util.find_spec(name) is not None}
    contracts = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    assert set(contracts["adapters"]["modules"]) == adapters
    assert set(contracts["shell"]["forbidden_modules"]) == adapters


def test_the_revisions_of_the_database_are_one_chain() -> None:
    """Two that follow the same one leave no database that can be opened."""
    files = sorted((REPOSITORY / "syncer" / "state" / "migrations" / "versions").glob("r*.py"))
    found = [
        dict(
            re.findall(
                r'^(revision|down_revision): Final = (?:"(\d+)"|None)$', file.read_text(encoding="utf-8"), re.MULTILINE
            )
        )
        for file in files
    ]
    assert [each["revision"] for each in found] == [f"{number:04}" for number in range(1, len(files) + 1)]
    assert [each["down_revision"] for each in found] == ["", *(each["revision"] for each in found[:-1])]
    assert [file.name[1:5] for file in files] == [each["revision"] for each in found]
