"""Shared steps of the commands of snapshots: their options, sessions of Spark, and the snapshots that are meant."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.planning_calls import now_ms
from syncer.cli.render.output import say
from syncer.cli.render.snapshots import snapshot_document, snapshot_facts
from syncer.cli.session import CommandSession
from syncer.documents.words import moment
from syncer.errors import PreconditionFailed, SparkMissing
from syncer.model import MetaPath
from syncer.version import made_by

if TYPE_CHECKING:
    from spark_snapshot.format.layout import Snapshot
    from spark_snapshot.format.places import Place
    from spark_snapshot.format.selection import Selection
    from spark_snapshot.jobs.compare import Compared
    from spark_snapshot.report.page import Page
    from spark_snapshot.runtime.phases import Job

PROGRESS_FORM: Final = "pulsar-syncer.progress"
"""Where an entry point says how progress is shown when nobody says it on the command line."""

_BULK: Final = frozenset({"pandas", "py4j", "pyarrow", "pyspark"})


class ProgressForm(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    BARS = "bars"
    JSON = "json"
    NONE = "none"


Folder = Annotated[
    str | None,
    typer.Option("--folder", metavar="DIR|URI", help="Where snapshots lie; 'snapshots.folder' of the configuration."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        envvar="SPARK_MASTER",
        help="Where Spark works: local[*] (as if not given), spark://HOST:PORT, yarn.",
    ),
]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Heap of Spark here, like 2g or 800m.")]
Pages = Annotated[
    bool, typer.Option("--ui", help="Serve Spark's own pages while it works; for a local master on 127.0.0.1:4040.")
]
Scratch = Annotated[
    Path | None, typer.Option("--scratch", metavar="DIR", help="Where Spark puts what does not fit into memory.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark, as for spark-submit; may be repeated."),
]
ShowProgress = Annotated[
    ProgressForm | None,
    typer.Option("--progress", help="auto: bars on a terminal; json: lines on stdout.", show_default="auto"),
]
AcceptShrunken = Annotated[
    bool,
    typer.Option("--accept-shrunken", help="However much of what was held before is gone; see the table snapshots."),
]
Tenants = Annotated[
    list[str] | None, typer.Option("--tenant", metavar="NAME", help="Only what belongs to it; may be repeated.")
]
Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", metavar="TENANT/NAME", help="Only it and its topics; repeatable.")
]
Paths = Annotated[
    list[str] | None, typer.Option("--path", metavar="PATH", help="Only it and what lies below; may be repeated.")
]


@contextlib.contextmanager
def bulk() -> Iterator[None]:
    """Say how to install what is not there.

    Raises:
        SparkMissing: A package of the bulk jobs is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in _BULK:
            raise
        raise SparkMissing(f"{exc.name} is not installed here") from exc


@contextlib.contextmanager
def job_of(
    context: typer.Context,
    name: str,
    progress: ProgressForm | None,
    master: str | None,
    memory: str,
    *,
    ui: bool,
    scratch: Path | None,
    conf: list[str] | None,
) -> Iterator[Job]:
    """A session of Spark for one job, watched as the command line wishes; signals cancel it."""
    from spark_snapshot.runtime import session as spark
    from spark_snapshot.runtime.phases import Job, listening
    from spark_snapshot.runtime.showing import Form, reporting

    settings = spark.SessionSettings(
        name=f"pulsar-syncer: {name}",
        master=master,
        memory=memory,
        ui=ui,
        scratch=scratch,
        options=dict(map(_setting, conf or ())),
    )
    form = Form((progress or context.meta.get(PROGRESS_FORM, ProgressForm.AUTO)).value)
    with listening() as cancel, reporting(form) as report, spark.opened(settings) as running:
        if ui and running.sparkContext.uiWebUrl:
            say(f"Spark's own pages: {running.sparkContext.uiWebUrl}")
        yield Job(running, report, cancel)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"--conf {text!r}: write it as NAME=VALUE")
    return name, value


def folder_of(session: CommandSession, named: str | None) -> Place:
    """Where snapshots lie: the option, else the configuration.

    Raises:
        PreconditionFailed: Nobody says it, or it is a file.
    """
    from spark_snapshot.format.places import place

    text = named
    if text is None:
        text = session.config(whole=False).snapshots.folder
    if text is None:
        raise PreconditionFailed("no folder of snapshots is known", hint="Give --folder, or set 'snapshots.folder'.")
    if "://" in text:
        return place(text)
    path = Path(text).absolute()
    if path.exists() and not path.is_dir():
        raise PreconditionFailed(f"{path} is no folder", hint="Name the folder that snapshots are taken into.")
    return place(path)


def named(
    session: CommandSession, folder: str | None, words: Sequence[str], selection: Selection | None = None
) -> list[Snapshot]:
    """Open the snapshots that words mean; a region's newest is the newest that holds all of the selection."""
    from spark_snapshot.format import naming
    from spark_snapshot.format.extent import WHOLE

    alone = all(word.startswith("/") or "://" in word for word in words)
    where = None if alone and folder is None else folder_of(session, folder)
    asked = WHOLE if selection is None else selection.asked
    return [naming.named(word, where, asked=asked) for word in words]


def to_compare(
    session: CommandSession,
    folder: str | None,
    words: Sequence[str],
    since: str | None,
    region: str | None,
    selection: Selection,
) -> list[Snapshot]:
    """Two or more snapshots; of one region the earlier one first."""
    from spark_snapshot.format import naming

    if since is None:
        if len(words) < 2:
            raise typer.BadParameter("name two snapshots or more, or give --since")
        found = named(session, folder, words, selection)
        if len({each.region for each in found}) == 1:
            found.sort(key=lambda each: each.id)
        return found
    if len(words) > 1:
        raise typer.BadParameter("with --since at most one snapshot: the later one")
    where = folder_of(session, folder)
    if words:
        later = naming.named(words[0], where, asked=selection.asked)
    else:
        later = naming.named(region or session.config(whole=False).region, where, asked=selection.asked)
    at = naming.moment_of(since, datetime.now(tz=UTC))
    earlier = naming.before(where, later.region, at, asked=selection.asked if selection.named else later.extent)
    if earlier.id == later.id:
        raise PreconditionFailed(
            f"the newest snapshot of {later.region} is {later.id}, from before {moment(at)}",
            hint="Take a new one to see what has changed since.",
        )
    return [earlier, later]


def selection_of(tenants: list[str] | None, namespaces: list[str] | None, paths: list[str] | None) -> Selection:
    """The part of a region that options name."""
    from spark_snapshot.format.selection import Selection

    return Selection(
        tenants=frozenset(tenants or ()),
        namespaces=frozenset(namespaces or ()),
        paths=frozenset(map(MetaPath, paths or ())),
    )


def check_writable(report: Path | None, plan: Path | None, *, over_time: bool) -> None:
    """Refuse before the work what could not be written after it."""
    if over_time and (report is not None or plan is not None):
        raise typer.BadParameter(
            "--report and --plan compare regions; what one region changed is taken back by 'restore'"
        )
    for file in (report, plan):
        if file is not None and file.exists():
            raise PreconditionFailed(f"{file} exists; it is left as it is", hint="Name another file.")
        if file is not None and not file.absolute().parent.is_dir():
            raise PreconditionFailed(f"{file.absolute().parent} is no directory", hint="Make it first.")


def write_report(file: Path, result: Compared) -> None:
    """Write a comparison as a page; never over a file."""
    from spark_snapshot.report.page import render

    try:
        with file.open("x", encoding="utf-8") as opened_file:
            opened_file.write(render(_page(result)))
    except OSError as exc:
        raise PreconditionFailed(f"{file} cannot be written: {exc.strerror}", hint="Name another file.") from exc


def _page(result: Compared) -> Page:
    from spark_snapshot.report.page import Page, RegionFacts

    documents = [snapshot_document(each) for each in result.snapshots]
    names = " × ".join(each.region for each in documents)
    return Page(
        title=names if result.selection.everything else f"{names}: {result.selection}",
        made_at_ms=now_ms(),
        made_by=made_by(),
        regions=tuple(
            RegionFacts(name=each.region, facts=tuple((name, str(value)) for name, value in snapshot_facts(each)))
            for each in documents
        ),
        summary=result.summary,
        findings=result.findings,
        notes=result.notes,
    )
