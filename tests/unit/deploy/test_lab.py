"""The lab's parts that need no server: what it says when software is missing, and how it is told what to start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.lab import __main__ as command_line
from deploy.lab import software
from deploy.lab.jvm import Jvm
from deploy.lab.ports import free_ports
from deploy.lab.process import FAVOUR, Command, ServerFailed, ServerProcess, freeze, start_time
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind
from syncer.waiting import NeedEnded, WaitTimedOut, wait_until


@pytest.fixture(autouse=True)
def _fresh_look() -> None:
    for each in (software.java, software.pulsar_home, software.etcd_binary):
        each.cache_clear()


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(software.SoftwareMissing, match="install a JRE, version 17"):
        software.java()


def test_an_old_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(software.SoftwareMissing, match="not Java 17"):
        software.java()


def test_without_maven_it_says_how_to_do_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PULSAR_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(software.SoftwareMissing, match=r"install Maven, or, if .* unpack .* PULSAR_HOME"):
        software.pulsar_home()


def test_a_distribution_with_another_checksum_is_not_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maven = tmp_path / "mvn"
    maven.write_text(
        '#!/bin/sh\nfor word; do case $word in -DoutputDirectory=*) echo bad > "${word#*=}/a.tar.gz";; esac; done\n'
    )
    maven.chmod(0o755)
    monkeypatch.delenv("PULSAR_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(software.SoftwareMissing, match="SHA-512"):
        software.pulsar_home()
    assert list((tmp_path / "cache" / "pulsar-syncer").iterdir()) == [
        tmp_path / "cache" / "pulsar-syncer" / "fetch.lock"
    ]


def test_an_explicit_distribution_must_be_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULSAR_HOME", str(tmp_path))
    with pytest.raises(software.SoftwareMissing, match="holds no bin/pulsar"):
        software.pulsar_home()


def test_free_ports_differ_and_lie_below_those_of_outgoing_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert max(ports) < 32_768


def test_measurements_run_with_the_optimising_compiler() -> None:
    assert "-XX:TieredStopAtLevel=1" in Jvm(heap_mb=64).flags()
    assert "-XX:TieredStopAtLevel=1" not in Jvm(heap_mb=64, quick_start=False).flags()


def test_a_cluster_is_found_again_with_its_settings_and_ports(tmp_path: Path) -> None:
    settings = ClusterSettings(
        name="east", store=StoreKind.ETCD, separate_configuration=True, broker={"a": "1"}, quick_start=False
    )
    made = PulsarCluster(tmp_path, settings)
    made.set_broker({"b": "2"})
    found = PulsarCluster(tmp_path)
    assert found.ports == made.ports
    assert found.settings == made.settings
    assert found.settings.broker == {"a": "1", "b": "2"}
    assert found.store_config == {"kind": "etcd", "endpoints": [found.configuration_store.endpoint]}
    assert found.configuration_store.endpoint != found.store.endpoint


def test_a_process_is_known_by_its_file_and_ended_by_its_id_only(tmp_path: Path) -> None:
    sleeper = Command(words=(sys.executable, "-c", "import time; time.sleep(60)"), directory=tmp_path)
    process = ServerProcess(name="sleeper", directory=tmp_path, leashed=True)
    process.start(sleeper)
    pid = process.pid()
    assert pid is not None
    process.start(sleeper)
    assert process.pid() == pid, "starting twice is starting once"

    other = ServerProcess(name="sleeper", directory=tmp_path, leashed=True)
    assert other.pid() == pid
    assert (process.own, other.own) == (True, False)
    process.stop()
    assert not process.own
    assert start_time(pid) is None
    assert other.pid() is None


@pytest.mark.parametrize("favoured", [False, True])
def test_a_server_has_its_share_of_the_processor(favoured: bool, tmp_path: Path) -> None:
    sleeps = (sys.executable, "-c", "import time; time.sleep(60)")
    process = ServerProcess(name="sleeper", directory=tmp_path, leashed=True)
    process.start(Command(words=sleeps, directory=tmp_path, favoured=favoured))
    pid = process.pid()
    assert pid is not None
    found, group = os.getpriority(os.PRIO_PROCESS, pid), Path(f"/proc/{pid}/autogroup")
    weight = group.read_text(encoding="ascii") if group.exists() else ""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, FAVOUR)
        nice = FAVOUR if favoured else os.nice(0)
    except PermissionError:
        nice = os.nice(0)
    process.kill()
    assert found == nice
    assert not weight or f"nice {nice}\n" in weight


_COUNTING = """
import mmap, sys, threading
with open(sys.argv[1], "r+b") as file:
    numbers = memoryview(mmap.mmap(file.fileno(), 32)).cast("Q")
    def count(place):
        while True:
            numbers[place] += 1
    for place in range(4):
        threading.Thread(target=count, args=(place,)).start()
    print("counting", flush=True)
    threading.Event().wait()
"""


def test_a_frozen_process_has_stopped_in_all_threads(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.write_bytes(bytes(32))
    words = [sys.executable, "-c", _COUNTING, str(counts)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as counting:
        try:
            assert counting.stdout is not None
            assert counting.stdout.readline() == "counting\n"
            for _ in range(20):
                freeze(counting.pid)
                now = counts.read_bytes()
                time.sleep(0.01)
                assert counts.read_bytes() == now
                counting.send_signal(signal.SIGCONT)
        finally:
            counting.kill()


def test_what_has_ended_is_frozen_enough() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    freeze(ended.pid)


def test_a_reused_process_id_is_not_taken_for_the_server(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        file = tmp_path / "pids" / "server.json"
        file.parent.mkdir()
        file.write_text(f'{{"pid": {stranger.pid}, "started": "1"}}')
        process = ServerProcess(name="server", directory=tmp_path, leashed=True)
        assert process.pid() is None
        process.kill()
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_a_server_that_ends_at_start_shows_its_log(tmp_path: Path) -> None:
    process = ServerProcess(name="broken", directory=tmp_path, leashed=True)
    process.start(Command(words=(sys.executable, "-c", "raise SystemExit('no such luck')"), directory=tmp_path))
    with pytest.raises(ServerFailed, match="no such luck"):
        process.wait_until(lambda: False)
    process.stop()


def test_a_server_that_ends_by_itself_ends_every_wait_until_it_is_let_go(tmp_path: Path) -> None:
    process = ServerProcess(name="broken", directory=tmp_path, leashed=True)
    process.start(Command(words=(sys.executable, "-c", "input(); raise SystemExit('gave up')"), directory=tmp_path))
    with pytest.raises(NeedEnded, match=r"(?s)broken has ended: .*"):
        wait_until(lambda: False, "something else")
    process.stop()
    with pytest.raises(WaitTimedOut):
        wait_until(lambda: False, "something else", within_s=0.01)


def test_a_server_that_is_stopped_ends_no_wait(tmp_path: Path) -> None:
    process = ServerProcess(name="idle", directory=tmp_path, leashed=True)
    process.start(Command(words=(sys.executable, "-c", "import time; time.sleep(600)"), directory=tmp_path))
    assert process.ended() is None
    process.kill()
    with pytest.raises(WaitTimedOut):
        wait_until(lambda: False, "something", within_s=0.01)


@pytest.mark.parametrize(
    "words", [["up", "a:mysql"], ["up", "--set", "novalue"], ["stop"], ["stop", "a", "bookie"], []]
)
def test_a_wrong_command_line_is_a_usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.main(words)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_an_unknown_cluster_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--directory", str(tmp_path), "stop", "east"]) == 1
    assert "no cluster 'east'" in capsys.readouterr().err
