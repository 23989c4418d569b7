"""Snapshots on schedule: the active daemon starts the job as a process of its own, and watches it.

The job works apart from the daemon: at low priority, one at a time, for a limited time, with a bound on its memory. It
writes the snapshot itself, whole or not at all, so its result stands whatever becomes of the daemon. What is known of
it lies in files beside it; a daemon that starts while a job runs finds it there, and watches it to its end.

    work/job.json    when it was begun
    work/process     its process
    work/progress    what the job says: lines of JSON
    work/errors      what it says on stderr
    work/exit        its exit status, once it is over
    work/last.json   how the last one ended
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import orjson
import structlog

from syncer.errors import PreconditionFailed, SyncerError
from syncer.model import Millis

log = structlog.get_logger()

LOOK_S: Final = 1.0
PATIENCE_S: Final = 15.0
"""How long a job that was asked to stop may take before it is killed."""
RETRY_MS: Final = 10 * 60_000
"""After a failure the next job begins after so long at the latest, or after the interval if that is shorter."""
TAIL_BYTES: Final = 64 * 1024
NICENESS: Final = 10
_DETAIL_CHARACTERS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan:
    """When and how snapshots are taken.

    Args:
        interval_ms: From the beginning of one to that of the next.
        time_limit_ms: A job that takes longer is stopped.
        work: Directory of this machine for what is known of the job.
        commands: What takes one, and what comes after it if it succeeds.
    """

    interval_ms: Millis
    time_limit_ms: Millis
    work: Path
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """How the last job ended."""

    began_at_ms: Millis
    ended_at_ms: Millis
    succeeded: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """A process. ``born``: what tells it from another one that gets the same number later."""

    pid: int
    born: str


class Schedule:
    """Takes snapshots while this daemon is the active one.

    Args:
        plan: When and how.
        active: Whether this daemon is its region's writer now.
        clock: The clock.
    """

    def __init__(self, plan: SchedulePlan, active: Callable[[], bool], clock: Callable[[], Millis]) -> None:
        self._plan = plan
        self._active = active
        self._clock = clock
        self._stopping_since_ms: Millis | None = None
        self._trouble = ""

    async def run(self) -> None:
        """Look every second, until cancelled. A job that runs then goes on."""
        while True:
            try:
                await anyio.to_thread.run_sync(self.look)
                self._trouble = ""
            except (OSError, SyncerError) as exc:
                if str(exc) != self._trouble:
                    log.warning("snapshot_not_begun", cause=str(exc))
                self._trouble = str(exc)[:_DETAIL_CHARACTERS]
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Do what is due: note the end of a job, stop one that takes too long, begin the next.

        Raises:
            OSError: The directory cannot be used.
            PreconditionFailed: The command cannot be started.
        """
        began_at_ms = self._began_at_ms()
        if began_at_ms is not None:
            self._watch(began_at_ms)
        elif self._active() and self._clock() >= self.next_at_ms:
            self._begin()

    @property
    def next_at_ms(self) -> Millis:
        """When the next job is due; at once when there was none."""
        last = self._last()
        if last is None:
            return Millis(0)
        pause = self._plan.interval_ms if last.succeeded else min(self._plan.interval_ms, RETRY_MS)
        return Millis((last.began_at_ms if last.succeeded else last.ended_at_ms) + pause)

    def report(self) -> dict[str, object]:
        """How it stands, as JSON."""
        with suppress(OSError):
            began_at_ms, last = self._began_at_ms(), self._last()
            said = self._said() if began_at_ms is not None else {}
            return {
                "running": began_at_ms is not None,
                "began_at_ms": began_at_ms,
                "phase": said.get("phase"),
                "rows": said.get("rows"),
                "rate": said.get("rate"),
                "eta_s": said.get("eta_s"),
                "last_began_at_ms": last.began_at_ms if last is not None else None,
                "last_ended_at_ms": last.ended_at_ms if last is not None else None,
                "last_succeeded": last.succeeded if last is not None else None,
                "trouble": self._trouble or (last.detail if last is not None and not last.succeeded else ""),
                "next_at_ms": self.next_at_ms,
            }
        return {"running": False, "trouble": self._trouble or f"{self._plan.work} cannot be read"}

    # -- one job

    def _begin(self) -> None:
        work = self._plan.work
        work.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("process", "exit", "progress", "errors"):
            (work / name).unlink(missing_ok=True)
        shell = shutil.which("sh")
        if shell is None:
            raise PreconditionFailed("there is no shell on the path to start a snapshot with")
        self._stopping_since_ms = None
        _write(work / "job.json", {"began_at_ms": self._clock()})  # before it is begun: nobody begins another one
        script = _script(work, self._plan.commands)
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        pid = os.posix_spawn(shell, [shell, "-c", script], os.environ, setsid=True, file_actions=[nothing])
        log.info("snapshot_begun", process=pid)

    def _watch(self, began_at_ms: Millis) -> None:
        process, now = self._process(), self._clock()
        status = self._exit()
        if status is None and process is None and now - began_at_ms < PATIENCE_S * 1000:
            return  # it has not said yet who it is
        if status is None and process is not None and _alive(process):
            if now - began_at_ms > self._plan.time_limit_ms:
                self._stop(process, now)
            return
        if status is None and (status := self._exit()) is None:  # it may have ended between the two looks
            detail = "its process has vanished: it was killed, or the machine was started anew"
            if process is not None:
                _sweep(process)
            self._end(began_at_ms, succeeded=False, detail=self._too_long() or detail)
        elif status:
            self._end(began_at_ms, succeeded=False, detail=self._too_long() or self._why(status))
        else:
            self._end(began_at_ms, succeeded=True)

    def _stop(self, process: Process, now: Millis) -> None:
        """Ask it to end, and end it if it does not."""
        if self._stopping_since_ms is None:
            self._stopping_since_ms = now
            log.warning("snapshot_takes_too_long", process=process.pid, limit_s=self._plan.time_limit_ms / 1000)
            _signal(process, signal.SIGTERM)
        elif now - self._stopping_since_ms > PATIENCE_S * 1000:
            _signal(process, signal.SIGKILL)

    def _end(self, began_at_ms: Millis, *, succeeded: bool, detail: str = "") -> None:
        last = Last(
            began_at_ms=began_at_ms,
            ended_at_ms=self._clock(),
            succeeded=succeeded,
            detail=detail[-_DETAIL_CHARACTERS:],
        )
        _write(self._plan.work / "last.json", asdict(last))
        (self._plan.work / "job.json").unlink(missing_ok=True)
        if succeeded:
            log.info("snapshot_taken", duration_s=(last.ended_at_ms - last.began_at_ms) / 1000)
        else:
            log.error("snapshot_failed", cause=last.detail)

    def _too_long(self) -> str:
        if self._stopping_since_ms is None:
            return ""
        return f"it took longer than {self._plan.time_limit_ms / 1000:g} s (snapshots.time_limit), and was stopped"

    def _why(self, status: int) -> str:
        text = " ".join(_tail(self._plan.work / "errors").decode(errors="replace").split("\n")).strip()
        return f"exit status {status}: {text}" if text else f"exit status {status}"

    # -- what is kept

    def _began_at_ms(self) -> Millis | None:
        """When the job was begun that is not known to have ended; ``None``: there is none."""
        raw = _read(self._plan.work / "job.json")
        return Millis(int(raw["began_at_ms"])) if raw is not None else None

    def _process(self) -> Process | None:
        """The job's own process, as it has told."""
        with suppress(OSError, ValueError):
            number, _, born = (self._plan.work / "process").read_text(encoding="ascii").strip().partition(" ")
            return Process(int(number), born)
        return None

    def _last(self) -> Last | None:
        raw = _read(self._plan.work / "last.json")
        with suppress(TypeError):
            if raw is not None:
                return Last(**raw)
        return None

    def _exit(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self._plan.work / "exit").read_text(encoding="ascii"))
        return None

    def _said(self) -> Mapping[str, Any]:
        """The last progress that the job has told."""
        for line in reversed(_tail(self._plan.work / "progress").splitlines()):
            with suppress(orjson.JSONDecodeError):
                said = orjson.loads(line)
                if isinstance(said, dict) and "phase" in said:
                    return said
        return {}


def commands(
    python: str, config: Path, folder: str, *, region: str, keep: int, memory: str
) -> tuple[tuple[str, ...], ...]:
    """What takes a snapshot, and what removes old ones after it.

    Args:
        python: Its interpreter.
        config: File of the configuration.
        folder: Where snapshots lie.
        region: Whose are removed.
        keep: So many of the newest stay.
        memory: Heap of Spark, like ``2g``.
    """
    job = (python, "-m", "spark_snapshot", "--config", str(config.absolute()))
    return (
        (*job, "take", "--folder", folder, "--memory", memory),
        (*job, "prune", "--folder", folder, "--region", region, "--keep", str(keep)),
    )


def _script(work: Path, commands: Sequence[Sequence[str]]) -> str:
    """Runs the commands, and leaves its process and its exit status behind; nobody else may be there to know them."""
    place = {name: shlex.quote(str(work / name)) for name in ("process", "progress", "errors", "exit.new", "exit")}
    jobs = " && ".join(map(shlex.join, commands))
    return (
        "trap : TERM; "  # whoever stops the job stops the commands; how they end is told all the same
        f"renice -n {NICENESS} -p $$ >/dev/null 2>&1; "
        f"echo $$ $(cut -d' ' -f22 /proc/$$/stat 2>/dev/null) >{place['process']} || exit 1; "
        f"{{ {jobs}; }} >{place['progress']} 2>{place['errors']}; "
        f"echo $? >{place['exit.new']}; mv {place['exit.new']} {place['exit']}"
    )


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


def _signal(process: Process, number: signal.Signals) -> None:
    """Signal the job with all that it has started."""
    if _alive(process):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file beside another one that takes its place at the end."""
    fresh = path.with_suffix(".new")
    yield fresh
    fresh.replace(path)


def _write(path: Path, document: Mapping[str, object]) -> None:
    with _beside(path) as fresh:
        fresh.write_bytes(orjson.dumps(document))


def _read(path: Path) -> dict[str, Any] | None:
    with suppress(FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
        found = orjson.loads(path.read_bytes())
        return found if isinstance(found, dict) else None
    return None


def _tail(path: Path) -> bytes:
    """The end of a file, however long it is; empty when there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        return file.read()
    return b""
