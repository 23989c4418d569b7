"""Causes of failed connections, in one form: clients report them in as many ways as there are clients."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

ENDED: Final = (
    "the server ended the connection: is it the right port, with TLS on both sides or on none, and with a client "
    "certificate where one is asked for?"
)
NO_TLS: Final = "the server does not speak TLS on this port"
MISSPELT: Final = "the host is unknown: no part of its name may be empty or longer than 63 letters"
UNTRUSTED: Final = "the server's certificate is not accepted"


def why_not(error: BaseException) -> str:
    """The cause of a failed connection, from the error that a client raised or from one that led to it.

    Args:
        error: As it was caught, with its causes.

    Returns:
        A few words; empty when nothing in the chain is an error of a connection.
    """
    return next(filter(None, map(_words, _chain(error))), "")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__


def _words(error: BaseException) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"{UNTRUSTED}: {error.verify_message}"
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return ENDED
        case ssl.SSLWantReadError() | ssl.SSLWantWriteError():
            return ""
        case ssl.SSLError() if error.reason == "WRONG_VERSION_NUMBER":
            return NO_TLS
        case ssl.SSLError():
            return f"the TLS handshake failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
        case socket.gaierror() if error.errno == socket.EAI_NONAME:
            return "the host is unknown"
        case socket.gaierror():
            return f"the host was not found: {error.strerror}"
        case UnicodeError() if "idna" in str(error):
            return MISSPELT
        case TimeoutError():
            return "no answer in time"
        case ConnectionResetError() | BrokenPipeError():
            return ENDED
        case OSError() if error.errno is not None:
            return os.strerror(error.errno).lower()
    return ""
