"""The wheel, installed beside exactly what the daemon's lock pins into an environment of its own, is the daemon."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from syncer.waiting import WAIT_S

REPOSITORY = Path(__file__).resolve().parents[2]
CONTAINERFILE = REPOSITORY / "deploy" / "container" / "Containerfile"
LOCK = REPOSITORY / "requirements" / "daemon.lock"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

pytestmark = pytest.mark.xdist_group("wheel")


def run(*command: str | Path, cwd: Path, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command outside the checkout, where only what is installed can be imported."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), **pip_settings(), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def pip_settings() -> dict[str, str]:
    """Let pip find its index where the set-up found it."""
    return {
        key: value
        for key, value in os.environ.items()
        if key.startswith(("PIP_", "SSL_", "REQUESTS_")) or "proxy" in key.lower()
    }


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", directory, REPOSITORY, cwd=REPOSITORY
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (made,) = directory.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install as the container does: by the very commands of its build stage, at another prefix."""
    root = tmp_path_factory.mktemp("installation")
    prefix, build = root / "opt", root / "build"
    build.mkdir()
    (build / LOCK.name).write_bytes(LOCK.read_bytes())
    (build / wheel.name).write_bytes(wheel.read_bytes())
    for command in build_commands():
        here = command.replace("/opt/pulsar-syncer", str(prefix)).replace("/build/", f"{build}/")
        if here.startswith("python -m venv"):
            here = here.replace("python", shlex.quote(str(Path(sys.executable).resolve())), 1)
        done = run("/bin/sh", "-euc", here, cwd=root, timeout_s=300)
        assert done.returncode == 0, f"{here}\n{done.stdout}{done.stderr}"
    return prefix


def build_commands() -> list[str]:
    """Read the RUN lines of the build stage."""
    text = CONTAINERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    stages = re.split(r"^FROM .*$", text, flags=re.MULTILINE)
    commands = re.findall(r"^RUN (.*)$", stages[1], flags=re.MULTILINE)
    assert len(stages) == 3
    assert any("--require-hashes" in command for command in commands)
    return commands


def test_the_wheel_carries_the_three_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"pulsar_syncer-{PROJECT['version']}.dist-info"
    assert {name.split("/", 1)[0] for name in names} == {"syncer", "api", "spark_snapshot", info}
    assert {f"{package}/py.typed" for package in ("syncer", "api", "spark_snapshot")} <= names
    assert f"{info}/licenses/LICENSE" in names
    tracked = subprocess.run(
        ["git", "ls-files", "--", "syncer", "api", "spark_snapshot"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
    )
    missing = {name for name in tracked.stdout.split() if (REPOSITORY / name).exists()} - names
    assert missing == set(), "a file of the packages does not reach the wheel"


def test_the_command_says_its_version(installation: Path, tmp_path: Path) -> None:
    done = run(installation / "bin" / "syncer", "--version", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert PROJECT["version"] in done.stdout


def test_every_entry_point_can_be_loaded(installation: Path, tmp_path: Path) -> None:
    script = (
        "from importlib.metadata import distribution\n"
        "for point in distribution('pulsar-syncer').entry_points:\n"
        "    print(point.group, point.name, point.load().__name__)\n"
    )
    done = run(installation / "bin" / "python", "-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    declared = {("console_scripts", name) for name in PROJECT["scripts"]}
    declared |= {(group, name) for group, points in PROJECT["entry-points"].items() for name in points}
    assert {tuple(line.split()[:2]) for line in done.stdout.splitlines()} == declared


def test_the_installed_demo_converges(installation: Path, tmp_path: Path) -> None:
    done = run(installation / "bin" / "syncer", "demo", cwd=tmp_path, timeout_s=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_the_daemon_has_the_driver_of_a_shared_database_and_no_spark(installation: Path, tmp_path: Path) -> None:
    script = (
        "from importlib.util import find_spec\n"
        "print(*(name for name in ('psycopg', 'pyspark', 'pandas', 'pyarrow', 'matplotlib') if find_spec(name)))\n"
    )
    done = run(installation / "bin" / "python", "-c", script, cwd=tmp_path)
    assert done.stdout.split() == ["psycopg"], done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("snapshot", "take", "--folder", "pictures", "--config", "east.toml"),
        ("snapshot", "list", "--folder", "pictures"),
        ("snapshot", "diff", "east", "west", "--folder", "pictures"),
    ],
    ids=lambda words: words[1],
)
def test_snapshots_without_spark_name_what_to_install(
    installation: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    configured = run(
        installation / "bin" / "syncer",
        *("init", "--store", "sqlite", "--bus", "embedded", "--region", "east", "--config", "east.toml"),
        cwd=tmp_path,
    )
    assert configured.returncode == 0, configured.stderr
    (tmp_path / "pictures").mkdir()
    done = run(installation / "bin" / "syncer", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "is not installed here" in done.stderr
    assert "pulsar-syncer[spark]" in done.stderr
    assert "requirements/spark.lock" in done.stderr
    assert "Traceback" not in done.stderr
