"""Command lines of jobs: a picture of this region's store, or a comparison of those in the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from syncer.jobs.plans import plan_file
from syncer.jobs.wishes import options_of
from syncer.state.contract.jobs import JobKind, JobRow

Commands = tuple[tuple[str, ...], ...]


def commands_of(
    python: str, config: Path, folder: str, work: Path, *, region: str, keep: int, memory: str
) -> Callable[[JobRow], Commands]:
    """What performs a job: command after command, as long as they succeed.

    Args:
        python: Its interpreter.
        config: File of the configuration.
        folder: Where snapshots lie.
        work: Directory of this machine for the files of jobs.
        region: Whose old snapshots are removed after a new one.
        keep: So many of the newest stay, of each extent.
        memory: Heap of Spark, like ``2g``.
    """
    program = (python, "-m", "spark_snapshot", "--config", str(config.absolute()))
    spark = ("--folder", folder, "--memory", memory)

    def commands(job: JobRow) -> Commands:
        if job.kind is JobKind.DIFF:
            plan = (f"--plan={plan_file(work, job.run).absolute()}",) if job.arguments.get("plan") is True else ()
            return ((*program, "diff", *spark, *plan, *options_of(job)),)
        prune = (*program, "prune", "--folder", folder, "--region", region, "--keep", str(keep))
        return ((*program, "take", *spark, *options_of(job)), prune)

    return commands
