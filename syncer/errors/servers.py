"""Errors of a daemon that is asked over HTTP, as the client meets them."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class ServerError(SyncerError):
    """A daemon has answered with an error that has no other name here: a newer version's, or a bug of it."""

    code = "server-error"
    default_hint = "See the log of that daemon, and whether its version is another one than this program's."


class ServerUnreachable(ServerError):
    """A daemon did not answer over HTTP: no connection, no trust, or no answer in time. The outcome is unknown."""

    code = "server-unreachable"
    retryable = True
    default_hint = "Check address and network, and whether its daemon runs; of a change see 'syncer operations list'."


class AnswerInvalid(ServerError):
    """A server has answered what no daemon does: no JSON, another document, a redirect, or too much."""

    code = "server-answer-invalid"
    default_hint = "Check that the address is that of a daemon's 'api.listen', and which version it is."
