"""The homes of Pulsar's versions: the distribution, or one that is assembled where Maven has the jars alone.

An assembled home has the jars of the broker and of all that it needs, named as a distribution names them, and the
scripts and configuration files of the distribution. It has no ``pulsar-admin`` of its own: those jars are not there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from deploy.lab.releases.versions import release
from deploy.lab.software import SoftwareMissing, cache_directory, fetch_lock, pulsar_home, run_maven

_LAYOUT: Final = 1
"""Counts up when homes are put together in another way: one of before is not taken for one of now."""

# Without the management of versions there are two of some libraries, or one that is too old for another.
# No XML name space: Maven needs none.
_POM: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lab</groupId>
  <artifactId>pulsar-server</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>org.apache.pulsar</groupId>
        <artifactId>{bom}</artifactId>
        <version>{version}</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>org.apache.pulsar</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
# The distribution's also counts log lines, by a class that is not among these jars; without it nothing is logged. Since
# 5.0 a message is a few fixed words, and what it speaks of stands in the context, here at the end of the line.
_LOGGING: Final = """\
Configuration:
  status: ERROR
  name: pulsar
  Appenders:
    Console:
      name: Console
      target: SYSTEM_OUT
      PatternLayout:
        Pattern: "%d{ISO8601_OFFSET_DATE_TIME_HHMM} [%t] %-5level %logger{36} - %msg%replace{ %X}{^ \\\\{\\\\}$}{}%n"
  Loggers:
    Root:
      level: info
      AppenderRef:
        - ref: Console
"""
_PATCHED_ZOOKEEPER: Final = ("org.apache.pulsar", "zookeeper-with-patched-admin")
_JUTE: Final = ("org.apache.zookeeper", "zookeeper-jute")
"""Released with ZooKeeper, so it tells the version of a ZooKeeper that bears Pulsar's."""


class _Jar(NamedTuple):
    group: str
    artifact: str
    kind: str
    version: str
    file: Path


@cache
def home_of(version: str) -> Path:
    """The home of a version; the first time it is fetched or assembled (300 MB, a minute or some).

    Raises:
        VersionRefused: The lab does not have it.
        SoftwareMissing: It cannot be fetched.
    """
    bom = release(version).bom
    if bom is None:
        return pulsar_home()
    home = cache_directory() / f"apache-pulsar-{version}-assembled-{_LAYOUT}"
    if not home.exists():
        distribution = pulsar_home()  # before the lock, which it takes itself
        with fetch_lock():
            if not home.exists():
                _assemble(home, pom(version, bom), distribution, f"the jars of Pulsar {version}")
    return home


def pom(version: str, bom: str, artifact: str = "pulsar-broker") -> str:
    """The project whose dependencies are all that an artifact of Pulsar needs.

    Args:
        version: Of Pulsar.
        bom: Artifact of Pulsar that settles the versions of its dependencies.
        artifact: Which; the default is all that a server needs.
    """
    return _POM.format(version=version, bom=bom, artifact=artifact)


def named_jars(listing: str) -> dict[str, Path]:
    """The jars of a listing of Maven's ``dependency:list``, by the names that a distribution gives them.

    Args:
        listing: With the absolute names of files.
    """
    jars = list(_listed(listing))
    zookeeper = next((jar.version for jar in jars if (jar.group, jar.artifact) == _JUTE), "")
    named = {}
    for jar in jars:
        if jar.kind != "jar":
            continue  # ZooKeeper's own tests
        if (jar.group, jar.artifact) == _PATCHED_ZOOKEEPER:
            named[f"org.apache.zookeeper-zookeeper-{zookeeper}.jar"] = jar.file
        else:
            named[f"{jar.group}-{jar.file.name}"] = jar.file
    return named


def _listed(listing: str) -> Iterator[_Jar]:
    """Read lines of ``group:artifact:kind[:classifier]:version:scope:file``; newer plugins add `` -- module …``."""
    for line in listing.splitlines():
        words = line.partition(" -- ")[0].strip().split(":")
        if len(words) >= 6:
            group, artifact, kind, *_, version, _, file = words
            yield _Jar(group, artifact, kind, version, Path(file))


def _assemble(home: Path, project: str, distribution: Path, wanted: str) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        work = Path(name)
        listing, made = work / "jars.txt", work / home.name
        (work / "pom.xml").write_text(project)
        words = ("dependency:list", "-DincludeScope=runtime", "-DoutputAbsoluteArtifactFilename=true")
        run_maven(*words, f"-DoutputFile={listing}", wanted=wanted, directory=work)
        jars = named_jars(listing.read_text())
        if not jars:
            raise SoftwareMissing(f"mvn named no files for {wanted}: its plugin 'dependency' is too old or too new")
        for each in ("bin", "conf"):
            shutil.copytree(distribution / each, made / each)
        (made / "conf" / "log4j2.yaml").write_text(_LOGGING)
        for each in ("lib", "instances"):
            (made / each).mkdir()
        for jar_name, file in jars.items():
            _place(file, made / "lib" / jar_name)
        (made / "instances" / "java-instance.jar").touch()  # the scripts look for it, and functions alone use it
        made.replace(home)


def _place(file: Path, target: Path) -> None:
    """Have a file in a second place, which stays when the first is cleaned away."""
    try:
        os.link(file, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(file, target)
