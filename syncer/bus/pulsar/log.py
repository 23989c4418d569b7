"""The Pulsar client's own lines, on their way into the log.

The client writes them from threads of its own, by default to stdout, which is for data. A Python logger given to it is
called under the client's locks and takes the interpreter's: a thread that holds that one and waits for a lock of the
client then waits for ever; and a thread that ends after the interpreter aborts the process. So the client is given a
file that is a pipe, and a thread of ours reads the other end.

The client keeps the first logger that a process gives it, whichever client object it comes with.

Source: apache/pulsar-client-python, src/config.cc (LoggerWrapper), its issues 116 and 194; apache/pulsar 16527.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import itertools
import logging
import os
import re
import threading
from typing import Final

import _pulsar

PIPE_BYTES: Final = 1 << 20
"""Lines that may wait for their reader: the client's threads never wait for the interpreter, not even at its end."""

CATCH_UP_S: Final = 0.5
"""How long the client's lines are waited for by whoever asks for the last trouble."""

_MARK: Final = "-- read up to here: "
_LINE: Final = re.compile(r"\S+ \S+ (?P<level>[A-Z]+) +\[\d+\] (?P<place>\w+:\d+) \| (?P<text>.*)")
_LINK: Final = re.compile(r"\[\S+ -> (?P<where>[^\]]+?) *\] +")
_CAUSES: Final = (
    (re.compile(r"Failed to establish connection(?: to \S+)?: (.+)"), "{0}"),
    (re.compile(r".*Resolve error: .+ : (.+)"), "{0}"),
    (re.compile(r"Handshake failed: (?!Operation aborted)(.+)"), "the TLS handshake failed: {0}"),
    (re.compile(r"Connection to .+ was not established in (.+)"), "no answer in {0}"),
    (re.compile(r"(.+: No such \w+)"), "{0}"),
    (re.compile(r"Received error response from server: (.+)"), "{0}"),
)
"""Lines that tell why there is no connection; others tell what came of it."""
_CAPITAL: Final = re.compile(r"^[A-Z](?=[a-z]+\b)")
_LEVELS: Final = {"ERROR": logging.ERROR, "WARN": logging.DEBUG}
"""A client that connects again warns of every step."""

_log: Final = logging.getLogger("pulsar")


class Relay:
    """Reads the client's lines from a pipe and logs them."""

    def __init__(self) -> None:
        self._trouble = ""
        self._pipe = -1
        self._marks = itertools.count()
        self._marked: dict[str, threading.Event] = {}

    def start(self) -> None:
        """Have all clients of this process write into the pipe."""
        reading, writing = os.pipe()
        with contextlib.suppress(OSError, AttributeError):  # the system allows less, or knows no such thing
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        settle(f"/dev/fd/{writing}", _pulsar.LoggerLevel.Warn)
        os.set_blocking(writing, False)  # the client has opened the pipe for itself
        self._pipe = writing
        threading.Thread(target=self._read, args=(reading,), name="pulsar log", daemon=True).start()

    def trouble(self) -> str:
        """Why a connection of the process failed last, in the client's words; empty while none has.

        The client raises an error as soon as it has written why: its lines are read to the end first, for
        ``CATCH_UP_S`` at most.
        """
        mark, marked = f"{_MARK}{next(self._marks)}", threading.Event()
        self._marked[mark] = marked
        with contextlib.suppress(OSError):  # the pipe is full, or not open: what was read has to do
            os.write(self._pipe, f"{mark}\n".encode())
            marked.wait(CATCH_UP_S)
        self._marked.pop(mark, None)
        return self._trouble

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="backslashreplace") as lines:
            for line in lines:
                self.take(line.rstrip("\n"))

    def take(self, line: str) -> None:
        """Log one line of the client, or note that all before a mark were."""
        if (marked := self._marked.pop(line, None)) is not None:
            marked.set()
            return
        found = _LINE.fullmatch(line)
        text = found["text"] if found else line
        self._trouble = trouble_in(text) or self._trouble
        _log.log(_LEVELS.get(found["level"], logging.DEBUG) if found else logging.ERROR, "%s", text)


def trouble_in(text: str) -> str:
    """Why there is no connection, if a line of the client tells it."""
    link = _LINK.match(text)
    rest = text[link.end() :] if link else text
    for pattern, words in _CAUSES:
        found = pattern.fullmatch(rest)
        if found:
            why = words.format(_CAPITAL.sub(lambda first: first[0].lower(), found[1]))
            return f"{link['where']}: {why}" if link else why
    return ""


def settle(file: str, level: _pulsar.LoggerLevel) -> None:
    """Make this the file of all clients of the process, before anything of theirs can have a line to write."""
    settings = _pulsar.ClientConfiguration().set_file_logger(level, file)
    _pulsar.Client("pulsar://127.0.0.1:1", settings).shutdown()  # it has not connected


@functools.cache
def relay() -> Relay:
    """The relay of this process; started when it is first asked for."""
    found = Relay()
    found.start()
    return found
