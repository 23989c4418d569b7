"""The container file installs locked packages and the wheel, and runs as nobody special."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.unit.deploy.test_systemd import PLAIN, settings

REPOSITORY = Path(__file__).resolve().parents[3]
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in (REPOSITORY / "deploy" / "container" / "Containerfile")
    .read_text(encoding="utf-8")
    .replace("\\\n", " ")
    .splitlines()
    if line and not line.startswith("#")
]
FINAL = INSTRUCTIONS[[index for index, line in enumerate(INSTRUCTIONS) if line[0] == "FROM"][-1] :]


def of(instruction: str, stage: list[list[str]]) -> list[str]:
    return [line[1] for line in stage if line[0] == instruction]


def test_the_final_stage_takes_only_the_environment_from_the_build() -> None:
    assert of("COPY", FINAL) == ["--from=build /opt/pulsar-syncer /opt/pulsar-syncer"]
    assert not any("pip install" in command for command in of("RUN", FINAL))


def test_every_package_comes_from_the_lock() -> None:
    installs = re.findall(r"pip install ([^&\n]*)", "\n".join(of("RUN", INSTRUCTIONS)))
    assert len(installs) == 2
    assert all("--require-hashes" in command or "--no-deps" in command for command in installs)


def test_it_runs_as_an_unprivileged_user_by_number() -> None:
    (user,) = of("USER", FINAL)
    uid, gid = user.split(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert f"--uid {uid}" in of("RUN", FINAL)[0]


def test_service_and_container_start_the_same_command() -> None:
    (entry,), (command,) = of("ENTRYPOINT", FINAL), of("CMD", FINAL)
    started = settings(PLAIN)["Service"]["ExecStart"].split()
    assert json.loads(entry) + json.loads(command) == [Path(started[0]).name, *started[1:]]
    assert of("VOLUME", FINAL) == ["/var/lib/pulsar-syncer"] == of("WORKDIR", FINAL)


def test_the_build_context_is_the_wheel_and_the_lock() -> None:
    ignore = (REPOSITORY / ".containerignore").read_text(encoding="utf-8").splitlines()
    kept = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copied = {word for line in of("COPY", INSTRUCTIONS) for word in line.split()[:-1] if not line.startswith("--from")}
    assert "*" in ignore
    assert kept == copied
