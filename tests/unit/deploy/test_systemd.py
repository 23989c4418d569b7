"""The units are accepted by systemd itself, stay hardened, and agree with the program that they start."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from syncer.dispositions import ExitCode
from syncer.waiting import WAIT_S

REPOSITORY = Path(__file__).resolve().parents[3]
UNITS = REPOSITORY / "deploy" / "systemd"
PLAIN = UNITS / "pulsar-syncer.service"
TEMPLATE = UNITS / "pulsar-syncer@.service"
INSTALLED_BIN = "/opt/pulsar-syncer/bin"
MAX_EXPOSURE = 1.5
"""Score of 'systemd-analyze security', 0 (closed) to 10; a daemon that needs the network cannot come below 1."""


@pytest.fixture(scope="module")
def systemd_analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have systemd-analyze")
        pytest.skip("systemd-analyze is not installed")
    return found


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=WAIT_S, check=False)


def settings(unit: Path) -> dict[str, dict[str, str]]:
    """Read a unit; of a repeated key the last value counts here."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",), delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys of units are case sensitive
    parser.read(unit, encoding="utf-8")
    return {section: dict(parser[section]) for section in parser.sections()}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as on a host, but starting a program that exists here."""
    program = tmp_path / "bin" / "syncer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    for unit in (PLAIN, TEMPLATE):
        text = unit.read_text(encoding="utf-8")
        assert f"ExecStart={INSTALLED_BIN}/syncer " in text
        (tmp_path / unit.name).write_text(text.replace(INSTALLED_BIN, str(program.parent)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["pulsar-syncer.service", "pulsar-syncer@us-east.service"])
def test_systemd_accepts_the_unit_without_a_word(systemd_analyze: str, installed: Path, name: str) -> None:
    if "@us-east" in name:
        (installed / name).symlink_to(installed / TEMPLATE.name)
    result = analyze(systemd_analyze, "verify", "--man=no", str(installed / name))
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_a_wrong_unit_would_be_noticed(systemd_analyze: str, installed: Path) -> None:
    wrong = installed / PLAIN.name
    wrong.write_text(wrong.read_text(encoding="utf-8").replace("WatchdogSec", "WatchDogSec"), encoding="utf-8")
    result = analyze(systemd_analyze, "verify", "--man=no", str(wrong))
    assert "WatchDogSec" in result.stderr


def test_the_unit_stays_hardened(systemd_analyze: str) -> None:
    result = analyze(systemd_analyze, "security", "--offline=true", "--no-pager", str(PLAIN))
    found = re.search(r"Overall exposure level for pulsar-syncer\.service: ([0-9.]+)", result.stdout)
    assert found is not None, result.stderr
    assert float(found[1]) <= MAX_EXPOSURE


def test_the_template_differs_by_its_instance_alone() -> None:
    derived = (
        PLAIN.read_text(encoding="utf-8")
        .split("[Unit]", 1)[1]
        .replace("metadata syncer\n", "metadata syncer of region %i\n", 1)
        .replace("/etc/pulsar-syncer/", "/etc/pulsar-syncer/%i/")
        .replace("Directory=pulsar-syncer\n", "Directory=pulsar-syncer/%i\n")
    )
    assert TEMPLATE.read_text(encoding="utf-8").split("[Unit]", 1)[1] == derived


def test_the_service_is_supervised_as_the_program_expects() -> None:
    service = settings(PLAIN)["Service"]
    assert service["Type"] == "notify"
    assert service["NotifyAccess"] == "main"
    assert int(service["WatchdogSec"].removesuffix("s")) >= 10
    assert service["RestartPreventExitStatus"] == f"{int(ExitCode.BAD_CONFIG)} {int(ExitCode.REFUSED)}"
    assert settings(PLAIN)["Unit"]["StartLimitIntervalSec"] == "0", "stores may be away for hours"


def test_the_daemon_owns_its_state_and_its_secrets_alone() -> None:
    service = settings(PLAIN)["Service"]
    assert service["User"] == service["StateDirectory"] == "pulsar-syncer"
    assert (service["UMask"], service["StateDirectoryMode"]) == ("0077", "0700")
    assert service["LoadCredential"] == "credentials:/etc/pulsar-syncer/credentials"
    sysusers = (UNITS / "pulsar-syncer.sysusers.conf").read_text(encoding="utf-8").splitlines()
    assert [line.split()[:2] for line in sysusers if not line.startswith("#")] == [["u", service["User"]]]
    assert not any("PASSWORD" in value.upper() or "TOKEN=" in value.upper() for value in service.values())
