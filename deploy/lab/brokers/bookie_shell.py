"""BookKeeper's own shell, bounded in time, and what it prints, read."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.lab.jvm import Jvm
from deploy.lab.process import Command, ServerFailed
from deploy.lab.pulsar import pulsar_environment
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import PULSAR_VERSION
from syncer.waiting import WAIT_S

# All that it prints are lines of a log; those of its commands are its answer.
_SAID: Final = re.compile(r"^\S+ \[[^\]]*\] \w+ +org\.apache\.bookkeeper\.tools\.cli\.\S+ - (.*)$", re.MULTILINE)
_LEDGER: Final = re.compile(r"ledgerID: (\d+)")
_FIELD: Final = re.compile(r"(\w+)=(\S*?)(?=[,}])")
_ENSEMBLE: Final = re.compile(r"(-?\d+)=\[([^\]]*)\]")
_CUSTOM: Final = re.compile(r"([^\s{=]+)=base64:([^,}]*)")
_TO_MOVE: Final = re.compile(r"Count of Ledgers which need to be rereplicated: (\d+)")


@dataclass(frozen=True, slots=True)
class PrintedLedger:
    """Metadata of a ledger as BookKeeper prints it; ``fields`` are those with one value, by Java's names."""

    fields: Mapping[str, str]
    ensembles: Mapping[int, tuple[str, ...]]
    custom: Mapping[str, bytes]


def printed_ids(output: str) -> list[int]:
    """Ids of the ledgers that were listed, in their order."""
    return [int(found[1]) for line in _said(output) if (found := _LEDGER.fullmatch(line))]


def printed_ledgers(output: str) -> dict[int, PrintedLedger]:
    """Metadata that were printed, each after its id."""
    lines = list(_said(output))
    return dict(zip(printed_ids(output), map(_ledger, (each for each in lines if each.startswith("Led"))), strict=True))


def printed_marks(output: str) -> dict[int, tuple[str, ...]]:
    """Ledgers that are marked under-replicated, each with its missing bookies.

    Raises:
        ServerFailed: There are not as many as it says.
    """
    marks: dict[int, tuple[str, ...]] = {}
    count = None
    for line in _said(output):
        word, _, value = line.strip().rpartition(": ")
        if line.isdecimal():
            marks[int(line)] = ()
        elif word.strip() == "MissingReplica":
            marks[next(reversed(marks))] += (value,)
        elif word == "Under replicated ledger count":
            count = int(value)
    if count != len(marks):
        raise ServerFailed(f"the shell counts {count} marks, and prints {sorted(marks)}")
    return marks


def printed_auditor(output: str) -> str | None:
    """The bookie that audits; ``None`` where none was elected."""
    said = [line.removeprefix("Auditor: ") for line in _said(output) if line.startswith("Auditor: ")]
    return said[-1] if said else None


def printed_to_move(output: str) -> list[int]:
    """Ledgers that still name a bookie which is decommissioned, count by count."""
    return [int(count) for count in _TO_MOVE.findall(output)]


def _said(output: str) -> Iterator[str]:
    return (found[1] for found in _SAID.finditer(output))


def _ledger(line: str) -> PrintedLedger:
    plain, _, rest = line.removeprefix("LedgerMetadata{").partition("ensembles={")
    ensembles, _, custom = rest.partition("}")
    return PrintedLedger(
        dict(_FIELD.findall(plain)),
        {int(first): tuple(bookies.split(", ")) for first, bookies in _ENSEMBLE.findall(ensembles)},
        {key: base64.b64decode(value) for key, value in _CUSTOM.findall(custom)},
    )


class BookieShell:
    """The shell with the settings of one bookie. Its answers are read as versions before 5.0 print them.

    Args:
        directory: Of its cluster.
        configuration: Settings of a bookie.
        version: Version of Pulsar.
    """

    def __init__(self, directory: Path, configuration: Path, *, version: str = PULSAR_VERSION) -> None:
        self._directory = directory
        self._configuration = configuration
        self._version = version

    def run(self, *words: str, timeout_s: float = WAIT_S) -> str:
        """Run a command; all that it prints.

        Raises:
            ServerFailed: It failed, or did not end in time.
        """
        environment = pulsar_environment(self._directory, Jvm(heap_mb=192, direct_mb=64))
        command = Command(
            words=(str(home_of(self._version) / "bin" / "bookkeeper"), "shell", *words),
            directory=self._directory,
            environment={**environment, "BOOKIE_CONF": str(self._configuration)},
        )
        try:
            tool = subprocess.run(
                command.words,
                cwd=command.directory,
                env=command.full_environment(),
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise ServerFailed(f"bookkeeper shell {' '.join(words)} did not end in {timeout_s:.0f} s") from exc
        if tool.returncode != 0:
            lines = (tool.stdout + tool.stderr).splitlines()
            said = "\n".join(line for line in lines if " INFO " not in line and not line.startswith("\tat "))[-800:]
            raise ServerFailed(f"bookkeeper shell {' '.join(words)} failed: {said}")
        return tool.stdout

    def ids(self) -> list[int]:
        """Ids of all ledgers."""
        return printed_ids(self.run("listledgers"))

    def ledgers(self) -> dict[int, PrintedLedger]:
        """All ledgers, by their ids."""
        return printed_ledgers(self.run("listledgers", "-meta"))

    def ledger(self, ledger_id: int) -> PrintedLedger:
        """One ledger."""
        return printed_ledgers(self.run("ledgermetadata", "-ledgerid", str(ledger_id)))[ledger_id]

    def under_replicated(self) -> dict[int, tuple[str, ...]]:
        """Ledgers that are marked under-replicated, each with its missing bookies."""
        return printed_marks(self.run("listunderreplicated", "-printmissingreplica"))

    def auditor(self) -> str | None:
        """The bookie that audits."""
        return printed_auditor(self.run("whoisauditor"))

    def decommission(self, bookie: str, *, timeout_s: float) -> list[int]:
        """Wait until nothing is on a bookie that was stopped, and delete its cookie; the ledgers to move, each time."""
        return printed_to_move(self.run("decommissionbookie", "-bookieid", bookie, timeout_s=timeout_s))
