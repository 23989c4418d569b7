"""The referee: a Java process that plays rounds of shedding and placement with Pulsar's own classes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from deploy.lab.jvm import Jvm
from deploy.lab.software import java, java_compiler, pulsar_home

SOURCE: Final = Path(__file__).with_name("Referee.java")
COMPILE_TIMEOUT_S: Final = 120.0
LOGGING: Final = "rootLogger.level = error\n"
"""Without an appender: strategies tell of every broker and bundle, gigabytes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What Pulsar decided in a round, and what its shedder remembers.

    ``brokers``, ``bundles`` and ``candidates`` are in the order in which Pulsar walked them; ``nanos`` is the time that
    the choice of what is shed took.
    """

    unloads: Mapping[str, list[str]]
    memory: Mapping[str, Mapping[str, float]]
    brokers: Sequence[str]
    bundles: Sequence[str]
    averages: Mapping[str, list[float]]
    broker_rates: Mapping[str, float]
    placed: Sequence[tuple[str, str | None]]
    candidates: Sequence[str]
    nanos: int


class Referee:
    """Asks the process; a fleet at a time."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers

    def round(self, asked: Mapping[str, Any]) -> Verdict:
        """Let Pulsar play a round; one with ``conf`` begins a fleet."""
        self._questions.write(json.dumps(asked) + "\n")
        self._questions.flush()
        line = self._answers.readline()
        assert line, "the referee ended: see what it said on stderr"
        told = json.loads(line)
        return Verdict(
            unloads=told["unloads"],
            memory=told["memory"],
            brokers=told["brokers"],
            bundles=told["bundles"],
            averages=told["averages"],
            broker_rates=told["brokerRates"],
            placed=[(bundle, broker) for bundle, broker in told["placed"]],
            candidates=told["candidates"],
            nanos=told["nanos"],
        )


@contextmanager
def referee(work: Path, heap_mb: int = 512) -> Iterator[Referee]:
    """Compile the referee against Pulsar's jars, and let it run.

    Args:
        work: Where the compiled class goes.
        heap_mb: Of the process.

    Raises:
        SoftwareMissing: Java, its compiler or Pulsar is not here.
        CalledProcessError: The compiler refused the source; it says why on stderr.
    """
    jars = ":".join(str(jar) for jar in sorted((pulsar_home() / "lib").glob("*.jar")))
    compiler = [str(java()), "-jar", str(java_compiler()), "-17", "-nowarn", "-cp", jars, "-d", str(work), str(SOURCE)]
    subprocess.run(compiler, check=True, timeout=COMPILE_TIMEOUT_S)
    (work / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
    command = [str(java()), *Jvm(heap_mb=heap_mb).flags(), "-cp", f"{work}:{jars}", "Referee"]
    # The process ends with its input.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Referee(process.stdin, process.stdout)
