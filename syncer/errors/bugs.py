"""Errors of this program itself."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class IllegalTransition(SyncerError):
    """A state machine was asked for a step that it does not have. Nothing was changed."""

    code = "illegal-transition"


class InvariantBroken(SyncerError):
    """A bug of this program. It stops at once; repeating cannot help."""

    code = "invariant-broken"
    default_hint = "This is a bug: keep the sidecar database and the log, and report it."
