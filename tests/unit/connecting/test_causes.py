"""Why a connection was not made, in words."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest

from syncer.bus.pulsar.log import trouble_in
from syncer.connecting.causes import ENDED, MISSPELT, why_not


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def verification() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] …")
    error.verify_message = "self-signed certificate"
    return error


def of_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] …")
    error.reason = reason
    return error


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed")
CAUSES: dict[str, tuple[BaseException, str]] = {
    "refused": (REFUSED, "connection refused"),
    "no route": (caused(OSError("All failed"), OSError(errno.EHOSTUNREACH, "x")), "no route to host"),
    "several": (caused(RuntimeError("a client's"), ExceptionGroup("both", [REFUSED])), "connection refused"),
    "no such host": (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "the host is unknown"),
    "no resolver": (socket.gaierror(socket.EAI_AGAIN, "Try again"), "the host was not found: Try again"),
    "no such name": (
        UnicodeError("encoding with 'idna' codec failed"),
        MISSPELT,
    ),
    "no such bytes": (UnicodeDecodeError("utf-8", b"x", 0, 1, "x"), ""),
    "silence": (TimeoutError(), "no answer in time"),
    "silence in TLS": (caused(TimeoutError(), ssl.SSLWantReadError(2, "x")), "no answer in time"),
    "reset": (ConnectionResetError(errno.ECONNRESET, "x"), ENDED),
    "end in TLS": (caused(RuntimeError(), ssl.SSLEOFError(8, "x")), ENDED),
    "certificate": (verification(), "the server's certificate is not accepted: self-signed certificate"),
    "no TLS": (of_tls("WRONG_VERSION_NUMBER"), "the server does not speak TLS on this port"),
    "no certificate": (
        of_tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
        "the TLS handshake failed: tlsv13 alert certificate required",
    ),
    "something else": (ValueError("a number"), ""),
    "no number": (OSError("no number"), ""),
}


@pytest.mark.parametrize("name", list(CAUSES))
def test_the_cause_is_said_in_words(name: str) -> None:
    error, words = CAUSES[name]
    assert why_not(error) == words


def test_a_name_with_too_long_a_part_is_never_asked_for() -> None:
    with pytest.raises(UnicodeError) as refused:
        socket.getaddrinfo(f"{'a' * 64}.example", 1)
    assert why_not(refused.value) == MISSPELT


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "[<none> -> pulsar://h:1] Failed to establish connection to 0.0.0.0:0: Connection refused",
            "pulsar://h:1: connection refused",
        ),
        ("Resolve error: asio.netdb:1 : Host not found (authoritative)", "host not found (authoritative)"),
        (
            "[1.2.3.4:5 -> 6.7.8.9:10] Handshake failed: certificate verify failed (SSL routines)",
            "6.7.8.9:10: the TLS handshake failed: certificate verify failed (SSL routines)",
        ),
        ("[1.2.3.4:5 -> 6.7.8.9:10] Handshake failed: Operation aborted.", ""),
        (
            "[1.2.3.4:5 -> 6.7.8.9:10 ] Connection to 6.7.8.9:10  was not established in 2000 ms",
            "6.7.8.9:10: no answer in 2000 ms",
        ),
        (
            "[1.2.3.4:5 -> 6.7.8.9:10] Received error response from server: AuthenticationError (no token)",
            "6.7.8.9:10: AuthenticationError (no token)",
        ),
        ("[1.2.3.4:5 -> 6.7.8.9:10] Connection closed with ConnectError (refCnt: 3)", ""),
    ],
)
def test_of_the_lines_of_pulsars_client_those_that_tell_a_cause_are_kept(line: str, words: str) -> None:
    assert trouble_in(line) == words
