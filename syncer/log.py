"""The log: one chain for our own events and for those of kazoo, uvicorn, SQLAlchemy, grpc and Pulsar's client.

Events are constant snake_case names with data as keys. JSON, one object per line, unless stderr is a terminal. No
secret passes: values under telling keys are hidden, and so is every known secret wherever it stands in a line.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO

import structlog
from stamina.instrumentation import RetryDetails, set_on_retry_hooks
from structlog.typing import Processor

from syncer.errors import SyncerError
from syncer.terminal import visible, visible_json, visible_lines

Form = Literal["auto", "json", "console"]

HIDDEN: Final = "********"
MIN_SECRET_CHARS: Final = 4
"""A shorter secret is hidden under its key only: it would be found in innocent words."""

_TELLING: Final = re.compile(r"passw|secret|token|credential|authorization|api_?key|private_?key|cookie", re.IGNORECASE)
_HARMLESS: Final = re.compile(r"_(file|path|count|bytes|at|ms|s)$", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]+@")
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+", re.IGNORECASE)
_MAX_DEPTH: Final = 8
_TRACES: Final = frozenset({"exception", "stack"})

_QUIET: Final = ("kazoo", "grpc", "sqlalchemy", "alembic", "uvicorn.access", "asyncio", "httpx2", "httpcore2")
"""Loggers of libraries that tell every call: from warnings on, unless the level is debug."""


_log: Final = structlog.get_logger(__name__)


class Redactor:
    """Hides secrets in an event: by key, by known value, by what looks like a credential.

    Args:
        secrets: Known secret values.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        long = sorted((secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, long))) if long else None

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Process an event, as a structlog processor."""
        return {self.text(key): self.value(value, key) for key, value in event.items()}

    def text(self, text: str) -> str:
        """The text without anything secret."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if "://" in text:
            text = _USER_INFO.sub(rf"\1:{HIDDEN}@", text)
        return _BEARER.sub(rf"\1 {HIDDEN}", text)

    def value(self, value: object, key: str = "", depth: int = 0) -> object:
        """The value without anything secret; ``key`` is the name that it stands under."""
        if value is not None and not isinstance(value, bool) and _TELLING.search(key) and not _HARMLESS.search(key):
            return HIDDEN
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, (int, float)):
            return value
        if depth >= _MAX_DEPTH:
            return "…"
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(inner, str(name), depth + 1) for name, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(inner, "", depth + 1) for inner in value]
        if isinstance(value, (bytes, bytearray, memoryview)):
            return f"<{len(value)} bytes>"  # payloads appear by digest, and a digest is written as text
        return self.text(str(value))


def configure(
    *,
    level: str = "info",
    form: Form = "auto",
    secrets: Collection[str] = (),
    stream: TextIO | None = None,
    but: Collection[str] = (),
) -> None:
    """Set up the log of this process; a later call replaces an earlier one.

    Args:
        level: Least level that is written: debug, info, warning, error.
        form: ``auto``: for people when the stream is a terminal, else JSON.
        secrets: Values that must never appear.
        stream: Where to; stderr when not given.
        but: Loggers whose news somebody else tells.
    """
    out = sys.stderr if stream is None else stream
    console = form == "console" or (form == "auto" and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    last: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, Redactor(secrets)]
    if console:
        colors = out.isatty() and not os.environ.get("NO_COLOR")
        last += [_visible, structlog.dev.ConsoleRenderer(colors=colors, timestamp_key="at", pad_event_to=24)]
    else:
        last.append(structlog.processors.JSONRenderer(_json, default=str))
    handler = _Stderr() if stream is None else logging.StreamHandler(stream)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=[*shared, _foreign], processors=last))
    handler.set_name("syncer")
    handler.addFilter(lambda record: record.name not in but)
    root = logging.getLogger()
    for old in [each for each in root.handlers if each.get_name() == "syncer"]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        theirs = logging.getLogger(name)
        theirs.handlers.clear()
        theirs.propagate = True
    set_on_retry_hooks([_repeated])
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what stderr is at the moment of writing, as the standard library's own last resort does."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # a property in place of an attribute
        """Standard error."""
        return sys.stderr


def _repeated(details: RetryDetails) -> None:
    """Tell of a call that failed and is made again by stamina; what repeats by itself tells so itself."""
    error = details.caused_by
    if isinstance(error, SyncerError):
        _log.warning("call_repeats", code=error.code, cause=error.message, wait_s=round(details.wait_for, 2))


def _visible(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A line for a terminal: no text acts on it, and only a trace has lines of its own."""
    return {visible(key): _shown(key, value) for key, value in event.items()}


def _shown(key: str, value: object) -> object:
    if isinstance(value, (dict, list)):
        return visible(repr(value))
    if not isinstance(value, str):
        return value
    return visible_lines(value) if key in _TRACES else visible(value)


def _json(event: Mapping[str, Any], *, default: Callable[[object], object]) -> str:
    return visible_json(json.dumps(event, ensure_ascii=False, default=default))


def _foreign(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A line of a library: its words become data, so that event names stay a closed set."""
    event["message"] = event.get("event", "")
    event["event"] = "library_said"
    return event
