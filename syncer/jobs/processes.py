"""Processes of jobs: begun apart from the daemon, watched by files, ended with all that they have started.

    WORK/RUN/job.json    whose job it is, and when its directory was made
    WORK/RUN/process     its process
    WORK/RUN/progress    what it says: lines of JSON
    WORK/RUN/errors      what it says on stderr
    WORK/RUN/exit        its exit status, once it is over

A process finds its directory or does not begin: a directory that was removed keeps its process from ever beginning.
A version before this one has kept its only job's files in WORK itself; that job is the run of the name ``.``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from syncer.errors import PreconditionFailed
from syncer.jobs.queue import DETAIL_CHARACTERS, ProcessState, RunSeen
from syncer.model import Millis

TAIL_BYTES: Final = 64 * 1024
OUTPUT_BYTES: Final = 256 * 1024
"""Of what a job says at its end so much is kept; a longer document is left out."""
NICENESS: Final = 10
FORMER: Final = "."
"""Run of a job that a version before jobs were kept in the database has begun."""
_STDERR: Final = 2
_FILES: Final = ("job.json", "process", "progress", "errors", "exit", "exit.new")


@dataclass(frozen=True, slots=True)
class Process:
    """A process. ``born``: what tells it from another one that gets the same number later."""

    pid: int
    born: str


class RunFiles:
    """The files of one run.

    Args:
        work: Directory of this machine for all runs.
        run: Name of its own directory there.
    """

    def __init__(self, work: Path, run: str) -> None:
        self.run: Final = run
        self._place: Final = work / run

    def prepare(self, facts: Mapping[str, object]) -> None:
        """Make the directory, and say whose it is.

        Raises:
            OSError: It cannot be written.
        """
        self._place.mkdir(parents=True, mode=0o700)
        fresh = self._place / "job.new"
        fresh.write_bytes(orjson.dumps(facts))
        fresh.replace(self._place / "job.json")

    def begin(self, commands: Sequence[Sequence[str]]) -> int:
        """Start the commands, one after the other, as a session of their own; the process.

        Raises:
            OSError: It cannot be started.
            PreconditionFailed: There is no shell.
        """
        shell = shutil.which("sh")
        if shell is None:
            raise PreconditionFailed("there is no shell on the path to start a job with")
        script = script_of(self._place, commands)
        return os.posix_spawn(shell, [shell, "-c", script], os.environ, setsid=True, file_actions=_nothing_of_ours())

    def facts(self) -> dict[str, Any] | None:
        """Whose it is; ``None``: there is no such run."""
        with suppress(FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
            found = orjson.loads((self._place / "job.json").read_bytes())
            return found if isinstance(found, dict) else None
        return None

    def look(self) -> RunSeen | None:
        """How it is; what has ended without a word is swept away. ``None``: there is no such run."""
        facts = self.facts()
        if facts is None:
            return None
        prepared_at_ms = Millis(int(facts.get("prepared_at_ms", facts.get("began_at_ms", 0))))
        process = self.process()
        alive = process is not None and _alive(process)
        status = self._exit()
        if status is not None:
            return RunSeen(
                process=ProcessState.EXITED,
                prepared_at_ms=prepared_at_ms,
                status=status,
                errors=self._errors(),
                output=self.output(),
            )
        if process is None:
            return RunSeen(process=ProcessState.SILENT, prepared_at_ms=prepared_at_ms)
        if not alive:
            _sweep(process)
        state = ProcessState.ALIVE if alive else ProcessState.VANISHED
        return RunSeen(process=state, prepared_at_ms=prepared_at_ms)

    def process(self) -> Process | None:
        """Its process, as it has told."""
        with suppress(OSError, ValueError):
            number, _, born = (self._place / "process").read_text(encoding="ascii").strip().partition(" ")
            return Process(int(number), born)
        return None

    def signal(self, number: signal.Signals) -> None:
        """Signal the process with all that it has started, if it lives and is still the same."""
        process = self.process()
        if process is not None and _alive(process):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def keep_from_beginning(self) -> bool:
        """Have a process that has not begun yet never begin; ``False``: it has begun meanwhile, and lives.

        Raises:
            OSError: The directory cannot be written.
        """
        with suppress(FileExistsError, FileNotFoundError):
            (self._place / "process").mkdir()  # where it would write who it is
        process = self.process()
        return process is None or not _alive(process)

    def clear(self) -> None:
        """Remove the files.

        Raises:
            OSError: They cannot be removed.
        """
        if self.run == FORMER:
            for name in _FILES:
                file = self._place / name
                if file.is_dir():
                    file.rmdir()
                file.unlink(missing_ok=True)
        elif self._place.exists():
            shutil.rmtree(self._place)

    def progress(self) -> Mapping[str, Any]:
        """The last progress that it has told."""
        return next((each for each in self._said(TAIL_BYTES) if "phase" in each), {})

    def output(self) -> Mapping[str, Any]:
        """The document that its first command said at its end; empty where there is none, or it is too long."""
        documents = [each for each in self._said(OUTPUT_BYTES) if "phase" not in each]
        return documents[-1] if documents else {}

    def _said(self, size_bytes: int) -> Iterator[dict[str, Any]]:
        """Lines that are objects, the last one first."""
        for line in reversed(_tail(self._place / "progress", size_bytes).splitlines()):
            with suppress(orjson.JSONDecodeError):
                said = orjson.loads(line)
                if isinstance(said, dict):
                    yield said

    def _errors(self) -> str:
        text = _tail(self._place / "errors", TAIL_BYTES).decode(errors="replace")
        return " ".join(text.split("\n")).strip()[-DETAIL_CHARACTERS:]

    def _exit(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self._place / "exit").read_text(encoding="ascii"))
        return None


def runs_in(work: Path) -> list[RunFiles]:
    """The runs of which there are files on this machine.

    Raises:
        OSError: The directory cannot be read.
    """
    with suppress(FileNotFoundError):
        names = sorted(each.parent.name for each in work.glob("*/job.json"))
        former = [FORMER] if (work / "job.json").exists() else []
        return [RunFiles(work, name) for name in (*former, *names)]
    return []


def script_of(place: Path, commands: Sequence[Sequence[str]]) -> str:
    """Runs the commands, and leaves its process and its exit status behind; nobody else may be there to know them."""
    jobs = " && ".join(map(shlex.join, commands))
    file = {name: shlex.quote(str(place / name)) for name in _FILES}
    return (
        "trap : TERM; "  # whoever stops the job stops the commands; how they end is told all the same
        f"renice -n {NICENESS} -p $$ >/dev/null 2>&1; "
        f"echo $$ $(cut -d' ' -f22 /proc/$$/stat 2>/dev/null) >{file['process']} || exit 1; "
        f"{{ {jobs}; }} >{file['progress']} 2>{file['errors']}; "
        f"echo $? >{file['exit.new']}; mv {file['exit.new']} {file['exit']}"
    )


def _nothing_of_ours() -> list[tuple[object, ...]]:
    """Has a process begin without our files and connections: a broker would take us to live as long as it does."""
    files: list[int] = []
    with suppress(OSError):  # where nobody can tell, all are left
        files = [int(each.name) for each in Path("/dev/fd").iterdir()]
    nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return [nothing, *((os.POSIX_SPAWN_CLOSE, each) for each in files if each > _STDERR)]


def _alive(process: Process) -> bool:
    """Whether it runs still; one that has ended and that nobody has asked for yet does not."""
    _reap(process.pid)
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # somebody else's: it has our number
    return _born(process.pid) == process.born


def _born(pid: int) -> str:
    """When a process was started, in the kernel's own words; empty where that cannot be told."""
    with suppress(OSError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[19]
    return ""


def _reap(pid: int) -> None:
    """Let a child of ours go that has ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _sweep(process: Process) -> None:
    """End what a job has left behind that is no more; as long as any of that lives, nobody else gets its number."""
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    except PermissionError:
        return


def _tail(path: Path, size_bytes: int) -> bytes:
    """The end of a file, however long it is; empty when there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size_bytes))
        return file.read()
    return b""
