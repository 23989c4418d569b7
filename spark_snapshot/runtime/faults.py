"""Errors of Spark, translated: an error of the product that a worker raised comes back as itself.

A worker's exception crosses two languages as text. Its class stands in the last line of the traceback.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator
from typing import Final

from syncer import errors
from syncer.errors import DiskFull, JobError, SyncerError

_RAISED: Final = re.compile(r"^((?:\w+\.)*\w+)\.(\w+): (.*)$", re.MULTILINE)
_WORKER_RAISED: Final = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(?:\w+\.)*(\w+): (.*)$", re.MULTILINE
)
"""The last line of a trace of Python; a class that is built in stands there without its module."""
_NOT_INSTALLED: Final = frozenset({"ImportError", "ModuleNotFoundError"})
_OURS: Final = frozenset({"spark_snapshot", "syncer"})
_NO_SPACE: Final = ("No space left on device", "Disk quota exceeded")
_TOO_LARGE: Final = "File too large"
_NO_MEMORY: Final = ("OutOfMemoryError", "Java heap space", "GC overhead limit")
_MAX_SAID: Final = 400
_JAVA: Final = re.compile(r"^(?:Caused by)?: (?:[a-zA-Z_]\w*\.)+(\w+): (.+)$", re.MULTILINE)
"""An exception of Java and what it says: at the head of a trace, and before each trace that it was caused by."""
_WORKER_LACKS: Final = (
    "The workers' Python needs the package with its extra: name the one that has it by PYSPARK_PYTHON in the driver's "
    "environment, to spark-submit by --conf spark.pyspark.python=PATH."
)
_EXITED: Final = "JAVA_GATEWAY_EXITED"


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise what goes wrong in the block as an error of the product.

    Args:
        what: What is being done, for the message: ``reading region east``.

    Raises:
        SyncerError: As a worker or the block has raised it; a :class:`JobError` for all else that Spark says.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except SyncerError:
        raise
    except (PySparkException, Py4JError, ConnectionError, OSError) as exc:
        if _has_ended(exc):
            raise JobError(
                f"{what}: Java has ended in the middle of it",
                hint="It was killed, most often because the machine has no memory left, or it crashed. Try again, with "
                "another --memory where that is the cause.",
            ) from exc
        raise from_text(str(exc), what) from exc


def is_of_spark(exc: BaseException | None) -> bool:
    """Whether an exception is one of Spark, or of the way to it."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark
    from pyspark.errors import PySparkException  # noqa: PLC0415

    return isinstance(exc, PySparkException | Py4JError | ConnectionError)


def _has_ended(exc: BaseException) -> bool:
    """Whether Java gave no answer: it is gone, and with it whatever could be said of it."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # noqa: PLC0415 - comes with PySpark

    wordless = type(exc) is Py4JError and "\n" not in str(exc)
    return wordless or isinstance(exc, Py4JNetworkError | ConnectionError)


def did_not_start(text: str, master: str) -> JobError:
    """The error of a session that does not come up.

    Args:
        text: What Spark says.
        master: Where it was to work.
    """
    hint = "Check --master, --memory and free space for temporary files."
    if _EXITED in text:
        return JobError(f"Spark did not start on {master}: Java ended before it was up", hint=hint)
    if "System memory" in text or any(sign in text for sign in _NO_MEMORY):
        return JobError(f"Spark did not start on {master}: {_said(text)}", hint="Give it more with --memory, like 1g.")
    return JobError(f"Spark did not start on {master}: {_said(text)}", hint=hint)


def from_text(text: str, what: str) -> SyncerError:
    """The error that a text of Spark's tells of: the product's own that a worker raised, if there is one."""
    raised = _RAISED.findall(text)
    for module, name, message in reversed(raised):
        cls = _ours(module, name)
        if cls is not None:
            return cls(message)
    if any(sign in text for sign in _NO_SPACE):
        return DiskFull(f"{what}: no space is left on the disk")
    if _TOO_LARGE in text:
        return DiskFull(
            f"{what}: no file may become so large here", hint="See 'ulimit -f', and the limits of the file system."
        )
    if any(sign in text for sign in _NO_MEMORY):
        return JobError(f"{what}: Spark has run out of memory", hint="Give it more with --memory, for example 4g.")
    if traces := _WORKER_RAISED.findall(text):
        name, message = traces[-1]
        said = f"{what}: a worker failed: {name}: {message[:_MAX_SAID]}"
        return JobError(said, hint=_WORKER_LACKS) if name in _NOT_INSTALLED else JobError(said)
    return JobError(f"{what}: Spark says: {_said(text)}")


def _said(text: str) -> str:
    """What Spark says in one line: the cause that Java names last, else its first line."""
    causes = _JAVA.findall(text)
    if causes:
        name, message = causes[-1]
        return f"{name}: {message}"[:_MAX_SAID]
    return next((line.strip() for line in text.splitlines() if line.strip()), "nothing")[:_MAX_SAID]


def _ours(module: str, name: str) -> type[SyncerError] | None:
    """The class of an error of the product; of a reader's own class, the one of the tree that it belongs to."""
    if module.partition(".")[0] not in _OURS:
        return None
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    if not isinstance(cls, type) or not issubclass(cls, SyncerError):
        return None
    return next(each for each in cls.__mro__ if each.__module__.startswith(f"{errors.__name__}."))
