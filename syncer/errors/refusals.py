"""Errors of requests over HTTP that are refused: for want of rights, or for what they are."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class AccessError(SyncerError):
    """Somebody who asks over HTTP does not get what was asked for. Nothing was changed."""

    code = "access-refused"
    default_hint = "Ask the operator of the daemon who may do this."


class Unauthorized(AccessError):
    """No credential came with the request, or none that is known here.

    Args:
        message: What is wanting; never which part of a credential was wrong.
        credential: Which credential it was, without its secret, where the secret was right; else empty.
        hint: What the operator does next.
    """

    code = "unauthorized"
    default_hint = "Send 'Authorization: Bearer TOKEN' with a token that 'syncer api token create' has made."

    def __init__(self, message: str, *, credential: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.credential = credential


class Forbidden(AccessError):
    """The credential is good, and may not do this. Nothing was changed."""

    code = "forbidden"
    default_hint = "Use a token of the role that the message names; 'syncer api token create' makes one."


class TooManyFailures(AccessError):
    """Too many requests from one address came without a credential that is good; those with one are answered still.

    Args:
        message: Of which address.
        retry_after_s: After so many seconds the next failure is told from others again.
        hint: What the operator does next.
    """

    code = "too-many-failures"
    retryable = True
    default_hint = "Find out which program at this address has no good token, and stop it; a good token is still taken."

    def __init__(self, message: str, *, retry_after_s: int = 60, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class RightsUnreadable(AccessError):
    """The file that says who may do what over HTTP cannot be used, so nobody may do anything."""

    code = "api-rights-unreadable"
    retryable = True
    default_hint = "Mend 'api.tokens' as the daemon's log and 'syncer api token list' say; it is read again by itself."


class HostUnknown(AccessError):
    """The request is for a host that this daemon is not: a name that leads here without our knowledge."""

    code = "host-unknown"
    default_hint = "Call the daemon by its address, or add the name to 'api.hosts'."


class BodyTooLarge(AccessError):
    """The body of the request has more bytes than its route takes. Nothing of it was used."""

    code = "body-too-large"
    default_hint = "Send less at once."


class TooManyStreams(AccessError):
    """One client follows as many streams as it may."""

    code = "too-many-streams"
    retryable = True
    default_hint = "End a stream of this client, or let each have more: 'api.max_streams_per_client'."


class StreamsFull(AccessError):
    """As many streams are followed as the daemon serves."""

    code = "streams-full"
    retryable = True
    default_hint = "Try again later, or let there be more: 'api.max_streams' and 'api.max_connections'."


class StreamTooSlow(AccessError):
    """A client reads a stream more slowly than it grows. The stream has ended."""

    code = "stream-too-slow"
    retryable = True
    default_hint = "Read faster; connect again with the id of the last event as Last-Event-ID, and nothing is lost."


class DaemonStopping(AccessError):
    """The daemon stops, and its streams end with it."""

    code = "daemon-stopping"
    retryable = True
    default_hint = "Connect again with the id of the last event as Last-Event-ID; nothing is lost."
