"""Classes of one version of Pulsar: their jars, fetched once, and the program that asks them.

Needs Java and Maven, and no server: 20 MB for each version.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from deploy.lab.jvm import Jvm
from deploy.lab.releases.assembled import pom
from deploy.lab.software import SoftwareMissing, cache_directory, fetch_lock, java, java_compiler, run_maven
from syncer.conflict.fields.table import BrokerVersion, parse_version

SOURCE: Final = Path(__file__).with_name("FieldsOfClasses.java")
RUN_TIMEOUT_S: Final = 600.0
FIRST_WITH_DEPENDENCIES: Final = BrokerVersion((5, 0, 0, 0), 0)
"""Since then the parent manages no versions; an artifact of its own does."""
Documents = Mapping[str, Any]
"""By the kinds of documents."""


def ask(version: str, question: str = "table", documents: Documents | None = None) -> dict[str, Any]:
    """Ask the classes of a version.

    Args:
        version: As Maven names it.
        question: ``table``, ``fill`` or ``keep``: see the program.
        documents: To be kept; every kind.

    Raises:
        SoftwareMissing: Java, its compiler, Maven or the version cannot be had.
        CalledProcessError: The classes refuse a document, or are not what they were; stderr says why.
    """
    jars = ":".join(str(jar) for jar in sorted(class_jars(version).glob("*.jar")))
    with tempfile.TemporaryDirectory() as work:
        compiler = [str(java()), "-jar", str(java_compiler()), "-17", "-nowarn", "-cp", jars, "-d", work, str(SOURCE)]
        subprocess.run(compiler, check=True, timeout=RUN_TIMEOUT_S)
        quiet = "-Dslf4j.internal.verbosity=ERROR"
        command = [str(java()), *Jvm(heap_mb=256).flags(), quiet, "-cp", f"{work}:{jars}", SOURCE.stem, question]
        asked = json.dumps(documents or {})
        done = subprocess.run(
            command, input=asked, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True, timeout=RUN_TIMEOUT_S
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def class_jars(version: str) -> Path:
    """The directory of the jars with the classes of documents, and all that they need; fetched when it is not there.

    Args:
        version: As Maven names it.

    Raises:
        SoftwareMissing: It cannot be fetched.
    """
    parsed = parse_version(version)
    if parsed is None:
        raise SoftwareMissing(f"{version!r} is no version of Pulsar")
    home = cache_directory() / f"pulsar-classes-{version}"
    with fetch_lock():
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=home.parent) as work:
                _fetch(version, parsed, Path(work)).replace(home)
    return home


def _fetch(version: str, parsed: BrokerVersion, work: Path) -> Path:
    managing = "pulsar" if parsed < FIRST_WITH_DEPENDENCIES else "pulsar-dependencies"
    (work / "pom.xml").write_text(pom(version, managing, "pulsar-common"), encoding="utf-8")
    jars = work / "jars"
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}")
    run_maven(*goal, wanted=f"the classes of Pulsar {version}", directory=work)
    if not jars.is_dir():
        raise SoftwareMissing(f"mvn fetched no jars for Pulsar {version}")
    return jars
