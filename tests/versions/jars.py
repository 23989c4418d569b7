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
from deploy.lab.software import (
    PULSAR_VERSION,
    SoftwareMissing,
    cache_directory,
    fetch_lock,
    java,
    java_compiler,
    pulsar_home,
    run_maven,
)
from syncer.conflict.fields.table import BrokerVersion, parse_version

SOURCE: Final = Path(__file__).with_name("FieldsOfClasses.java")
RUN_TIMEOUT_S: Final = 600.0
HEAP_MB: Final = 512
FIRST_WITH_DEPENDENCIES: Final = BrokerVersion((5, 0, 0, 0), 0)
"""Since then the parent manages no versions; an artifact of its own does."""
FIRST_WITH_BOM: Final = BrokerVersion((5, 0, 0, 0))
"""Since then that artifact is another one, and does not manage Jackson."""
_IMPORT: Final = """
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
      <type>pom</type><scope>import</scope>
    </dependency>"""
_NO_NETTY: Final = """
    <exclusions><exclusion><groupId>io.netty</groupId><artifactId>*</artifactId></exclusion></exclusions>"""
"""Not every repository serves the native libraries of 5.0's; its classes of documents need none of it."""
# No XML name space: Maven needs none.
_POM: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lab</groupId><artifactId>pulsar-classes</artifactId><version>1</version><packaging>pom</packaging>
  <dependencyManagement><dependencies>{managing}
  </dependencies></dependencyManagement>
  <dependencies><dependency>
    <groupId>org.apache.pulsar</groupId><artifactId>pulsar-common</artifactId><version>{version}</version>{excluded}
  </dependency></dependencies>
</project>
"""
Documents = Mapping[str, Any]
"""By the kinds of documents."""


def ask(version: str, question: str = "table", documents: Documents | None = None) -> dict[str, Any]:
    """Ask the classes of a version.

    Args:
        version: As Maven names it.
        question: ``table``, ``fill``, ``keep`` or ``judge``: see the program.
        documents: To be kept, or judged; every kind.

    Raises:
        SoftwareMissing: Java, its compiler, Maven or the version cannot be had.
        CalledProcessError: The classes refuse a document, or are not what they were; stderr says why.
    """
    jars = ":".join(str(jar) for jar in sorted(class_jars(version).glob("*.jar")))
    with tempfile.TemporaryDirectory() as work:
        compiler = [str(java()), "-jar", str(java_compiler()), "-17", "-nowarn", "-cp", jars, "-d", work, str(SOURCE)]
        subprocess.run(compiler, check=True, timeout=RUN_TIMEOUT_S)
        quiet = "-Dslf4j.internal.verbosity=ERROR"
        command = [str(java()), *Jvm(heap_mb=HEAP_MB).flags(), quiet, "-cp", f"{work}:{jars}", SOURCE.stem, question]
        asked = json.dumps(documents or {})
        done = subprocess.run(
            command, input=asked, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True, timeout=RUN_TIMEOUT_S
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def class_jars(version: str) -> Path:
    """The directory of the jars with the classes of documents, and all that they need; fetched when it is not there.

    Of the version that the lab has as a whole, these are the broker's own.

    Args:
        version: As Maven names it.

    Raises:
        SoftwareMissing: It cannot be fetched.
    """
    parsed = parse_version(version)
    if parsed is None:
        raise SoftwareMissing(f"{version!r} is no version of Pulsar")
    if version == PULSAR_VERSION:
        return pulsar_home() / "lib"
    home = cache_directory() / f"pulsar-classes-{version}"
    with fetch_lock():
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=home.parent) as work:
                _fetch(version, parsed, Path(work)).replace(home)
    return home


def _fetch(version: str, parsed: BrokerVersion, work: Path) -> Path:
    (work / "pom.xml").write_text(_pom(version, parsed), encoding="utf-8")
    jars = work / "jars"
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}")
    run_maven(*goal, wanted=f"the classes of Pulsar {version}", directory=work)
    if not jars.is_dir():
        raise SoftwareMissing(f"mvn fetched no jars for Pulsar {version}")
    return jars


def _pom(version: str, parsed: BrokerVersion) -> str:
    """The project whose dependencies are the classes of documents and what these need."""
    if parsed < FIRST_WITH_DEPENDENCIES:
        managing = [("org.apache.pulsar", "pulsar", version)]
    elif parsed < FIRST_WITH_BOM:
        managing = [("org.apache.pulsar", "pulsar-dependencies", version)]
    else:
        managing = [("com.fasterxml.jackson", "jackson-bom", "2.21.7"), ("org.apache.pulsar", "pulsar-bom", version)]
    imports = "".join(_IMPORT.format(group=group, artifact=name, version=of) for group, name, of in managing)
    excluded = "" if parsed < FIRST_WITH_BOM else _NO_NETTY
    return _POM.format(managing=imports, version=version, excluded=excluded)
