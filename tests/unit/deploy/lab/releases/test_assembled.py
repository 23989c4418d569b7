"""Versions of Pulsar in the lab, without a server: what is fetched, how it is named, and what is refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deploy.lab import __main__ as command_line
from deploy.lab import demo, software
from deploy.lab.brokers.settings import BrokersSettings
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind
from deploy.lab.releases import assembled
from deploy.lab.releases.versions import RELEASES, VersionRefused, release
from deploy.lab.software import PULSAR_VERSION, SoftwareMissing

OLD, NEW = "3.0.7", "5.0.0-M1"

LISTING = """
The following files have been resolved:
   io.netty:netty-native-epoll:jar:linux-x86_64:4.1.136.Final:compile:/m/netty-native-epoll-4.1-linux-x86_64.jar
   org.apache.pulsar:zookeeper-with-patched-admin:jar:4.2.4:compile:/m/zookeeper-with-patched-admin-4.2.4.jar
   org.apache.zookeeper:zookeeper-jute:jar:3.9.5:compile:/m/zookeeper-jute-3.9.5.jar -- module zookeeper.jute (auto)
   org.apache.zookeeper:zookeeper:test-jar:tests:3.9.5:runtime:/m/zookeeper-3.9.5-tests.jar

"""

# A Maven that lists one jar, which it makes where it stands.
MAVEN = """\
#!/bin/sh
test -f pom.xml || exit 3
echo run >> "{log}"
for word; do case $word in -DoutputFile=*) list="${{word#*=}}";; esac; done
echo broker > "{folder}/broker.jar"
echo "   org.apache.pulsar:pulsar-broker:jar:{version}:compile:{folder}/broker.jar" > "$list"
"""


@pytest.fixture(autouse=True)
def _fresh_look() -> Iterator[None]:
    for each in (assembled.home_of, software.pulsar_home):
        each.cache_clear()
    yield
    for each in (assembled.home_of, software.pulsar_home):
        each.cache_clear()


@pytest.fixture
def distribution(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = tmp_path / "distribution"
    for each in ("bin/pulsar", "conf/standalone.conf", "conf/log4j2.yaml", "lib/old.jar"):
        (home / each).parent.mkdir(parents=True, exist_ok=True)
        (home / each).write_text("of the distribution")
    monkeypatch.setenv("PULSAR_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return home


def maven(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    folder.mkdir()
    (folder / "mvn").write_text(script)
    (folder / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_a_project_asks_for_the_broker_and_has_the_versions_of_its_dependencies_settled() -> None:
    project = ElementTree.fromstring(assembled.pom(NEW, "pulsar-dependencies"))
    path = "dependencyManagement/dependencies/dependency"
    settled = {each.tag: each.text for each in project.findall(f"{path}/*")}
    assert settled == {
        "groupId": "org.apache.pulsar",
        "artifactId": "pulsar-dependencies",
        "version": NEW,
        "type": "pom",
        "scope": "import",
    }
    wanted = [each.text for each in project.findall("dependencies/dependency/*")]
    assert wanted == ["org.apache.pulsar", "pulsar-broker", NEW]


def test_jars_are_named_as_the_distribution_names_them() -> None:
    named = assembled.named_jars(LISTING)
    assert {name: file.name for name, file in named.items()} == {
        "io.netty-netty-native-epoll-4.1-linux-x86_64.jar": "netty-native-epoll-4.1-linux-x86_64.jar",
        "org.apache.zookeeper-zookeeper-3.9.5.jar": "zookeeper-with-patched-admin-4.2.4.jar",
        "org.apache.zookeeper-zookeeper-jute-3.9.5.jar": "zookeeper-jute-3.9.5.jar",
    }


def test_a_home_is_assembled_once_from_new_jars_and_the_scripts_of_the_distribution(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, distribution: Path
) -> None:
    log, folder = tmp_path / "runs", tmp_path / "maven"
    maven(monkeypatch, folder, MAVEN.format(log=log, folder=folder, version=NEW))
    home = assembled.home_of(NEW)
    assembled.home_of.cache_clear()
    assert assembled.home_of(NEW) == home
    assert log.read_text() == "run\n"
    assert home.parent == software.cache_directory()
    assert [jar.name for jar in (home / "lib").iterdir()] == ["org.apache.pulsar-broker.jar"]
    (folder / "broker.jar").unlink()
    assert (home / "lib" / "org.apache.pulsar-broker.jar").read_text() == "broker\n", "stays without Maven's own"
    for each in ("bin/pulsar", "conf/standalone.conf"):
        assert (home / each).read_text() == (distribution / each).read_text()
    assert "Prometheus" not in (home / "conf" / "log4j2.yaml").read_text()
    assert (home / "instances" / "java-instance.jar").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'no such artifact'; exit 1", "could not fetch the jars of Pulsar 5.0.0-M1 .*no such artifact"),
        ('for word; do case $word in -DoutputFile=*) : > "${word#*=}";; esac; done', "named no files"),
    ],
)
def test_a_home_is_whole_or_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, distribution: Path, script: str, said: str
) -> None:
    maven(monkeypatch, tmp_path / "maven", f"#!/bin/sh\n{script}\n")
    with pytest.raises(SoftwareMissing, match=said):
        assembled.home_of(NEW)
    assert [file.name for file in software.cache_directory().iterdir()] == ["fetch.lock"]
    assert distribution.exists()


def test_without_maven_no_version_is_assembled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, distribution: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SoftwareMissing, match=r"no mvn to fetch the jars of Pulsar 4\.2\.4 with: install Maven"):
        assembled.home_of("4.2.4")
    assert assembled.home_of(PULSAR_VERSION) == distribution, "the distribution needs none"


def test_a_cluster_keeps_its_version(tmp_path: Path) -> None:
    made = PulsarCluster(tmp_path, ClusterSettings(name="east", version="4.2.4", store=StoreKind.ETCD))
    assert PulsarCluster(tmp_path).settings == made.settings
    assert made.status()["version"] == "4.2.4"


def test_a_cluster_of_before_versions_has_the_distributions(tmp_path: Path) -> None:
    PulsarCluster(tmp_path, ClusterSettings(name="east"))
    file = tmp_path / "cluster.json"
    kept = json.loads(file.read_text())
    assert kept["settings"].pop("version") == PULSAR_VERSION
    file.write_text(json.dumps(kept))
    assert PulsarCluster(tmp_path).settings.version == PULSAR_VERSION


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("kind", [ClusterSettings, BrokersSettings])
def test_a_store_that_a_version_cannot_use_is_refused_with_the_reason(
    kind: type[ClusterSettings | BrokersSettings], version: str
) -> None:
    why = re.escape(RELEASES[version].no_etcd)
    with pytest.raises(VersionRefused, match=rf"^Pulsar {version} {why}: take ZooKeeper$"):
        kind(name="east", version=version, store=StoreKind.ETCD)


@pytest.mark.parametrize("kind", [ClusterSettings, BrokersSettings])
def test_a_version_that_the_lab_has_not_is_refused(kind: type[ClusterSettings | BrokersSettings]) -> None:
    with pytest.raises(VersionRefused, match=r"no Pulsar '5.0.1'; it has 3.0.7, 4.0.8, 4.2.4, 5.0.0-M1"):
        kind(name="east", version="5.0.1")
    for version in RELEASES:
        assert kind(name="east", version=version).version == version


@pytest.mark.parametrize("word", ["a:zookeeper:9", f"a:etcd:{NEW}", f"a:zookeeper:{NEW}:x", f"a::{NEW}"])
def test_a_cluster_that_cannot_be_is_a_usage_error(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.main(["up", word])
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["9", "4.2.4,4.2.4,4.2.4", ""])
def test_the_story_is_played_on_versions_that_are_there(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main(["--versions", word])
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_only_the_versions_with_a_distribution_are_not_assembled() -> None:
    assert [version for version in RELEASES if release(version).bom is None] == [PULSAR_VERSION]
