"""Errors of requests: what was asked for does not hold, is not there, or cannot be understood."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class PreconditionFailed(SyncerError):
    """The request is understood, but its conditions do not hold. Nothing was changed."""

    code = "precondition-failed"


class MigrationClaimed(PreconditionFailed):
    """Another migration moves the same namespaces, or has never ended. Nothing was changed."""

    code = "migration-claimed"
    default_hint = "Wait until it has ended; if nobody carries it on, take its marks and the namespaces' property away."


class BalancingOwned(PreconditionFailed):
    """A run of moves or a migration holds the settings that keep a cluster from moving bundles itself."""

    code = "balancing-owned"
    default_hint = "Wait until it is over, or end it: 'syncer balancer stop' a run, close or abort a migration."


class NotFound(SyncerError):
    """The thing that was asked for does not exist."""

    code = "not-found"
    default_hint = "List what exists with the 'list' verb of the same noun."


class RequestInvalid(SyncerError):
    """A request over HTTP cannot be understood. Nothing was changed."""

    code = "request-invalid"
    default_hint = "See /openapi.json for what is accepted."


class PreconditionRequired(RequestInvalid):
    """A decision without the stamp of what was looked at. Nothing was changed."""

    code = "precondition-required"
    default_hint = "Look at it with GET, and repeat the request with its ETag as If-Match."


class RequestKeyReused(RequestInvalid):
    """An Idempotency-Key that stands for another request. Nothing was changed."""

    code = "idempotency-key-reused"
    default_hint = "Make a new key for each request; repeat one with its own key, unchanged."


class EventIdAhead(RequestInvalid):
    """A stream was to be resumed behind what has not happened yet."""

    code = "event-id-ahead"
    default_hint = "Send the id of an event of this very stream; without one, the stream begins now."


class OperationsFull(SyncerError):
    """As many operations of one kind wait for the daemon as may. Nothing was asked."""

    code = "operations-full"
    retryable = True
    default_hint = (
        "Repeat it later. See 'syncer operations list --state pending' for what waits and who asked for it, and"
        " 'syncer status' whether a daemon answers."
    )


class NotInTime(SyncerError):
    """What was waited for did not come within the given time. Nothing was changed."""

    code = "not-in-time"
    retryable = True
    default_hint = "Wait longer, or see in the log of the daemon what keeps it."
