"""Acts of a run of moves: each is one call of the admin API, and leaves its outcome in the run.

A split or an unload that no answer came of is neither done nor refused: what became of it is seen by the next look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import structlog

from syncer.admin.balancing_claim import CLAIM_NAMESPACE, claim_key
from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.balancer.moving import course, splitting
from syncer.balancer.moving.acts import (
    LookUp,
    MoveAct,
    ReleaseClaim,
    SetSetting,
    Split,
    TakeClaim,
    Unload,
    UnsetSetting,
)
from syncer.balancer.moving.run import MoveRun, RunPhase, RunStop
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, topic_hash
from syncer.errors import AdminDenied, AdminError, AdminRedirectRefused
from syncer.model import Millis

log = structlog.get_logger()

_DENIED: Final = frozenset({401, 403})
_SERVER_ERROR: Final = 500


class MoveActs:
    """Performs what was decided."""

    def __init__(self, calls: AdminCalls, cluster: str, now_ms: Callable[[], Millis]) -> None:
        """Perform it by an admin API.

        Args:
            calls: The cluster's.
            cluster: The cluster's own name.
            now_ms: The time.
        """
        self._calls = calls
        self._claim_key = claim_key(cluster)
        self._now_ms = now_ms

    async def perform(self, run: MoveRun, acts: tuple[MoveAct, ...]) -> MoveRun:
        """Perform acts: claims, settings and splits one after the other, unloads at the same time.

        Args:
            run: As it was kept.
            acts: Of the turn that it was kept in.

        Raises:
            AdminError: A claim or a setting could not be set; the next turn sets it again.
        """
        unloads = tuple(each for each in acts if isinstance(each, Unload))
        for act in acts:
            run = await self._one(run, act)
        outcomes: dict[int, AdminError | None] = {}

        async def unload(act: Unload) -> None:
            try:
                await self._calls.unload_bundle(act.bundle, act.target)
                outcomes[act.number] = None
                await self._look_up(act.bundle)
            except AdminError as error:
                outcomes[act.number] = error

        async with anyio.create_task_group() as tasks:
            for act in unloads:
                tasks.start_soon(unload, act)
        for number, error in outcomes.items():
            run = self._recorded(run, number, error)
        return run

    async def _one(self, run: MoveRun, act: MoveAct) -> MoveRun:
        match act:
            case TakeClaim(claim):
                property_ = self._calls.set_namespace_property(CLAIM_NAMESPACE, self._claim_key, claim)
                return await self._set(run, property_)
            case ReleaseClaim():
                await self._calls.remove_namespace_property(CLAIM_NAMESPACE, self._claim_key)
            case SetSetting(key, value):
                return await self._set(run, self._calls.set_dynamic(key, value))
            case UnsetSetting(key):
                await self._calls.remove_dynamic(key)
            case Split():
                return await self._split(run, act)
            case LookUp(bundle):
                await self._look_up(bundle)
            case Unload():
                pass
        return run

    async def _set(self, run: MoveRun, setting: Awaitable[None]) -> MoveRun:
        """Set a setting or the claim; refused before anything has moved, the run stops with the cluster's words."""
        try:
            await setting
        except AdminError as error:
            if run.phase is RunPhase.RESTORING or not _final(error):
                raise
            return course.stopped(run, _stop(error))
        return run

    async def _split(self, run: MoveRun, act: Split) -> MoveRun:
        try:
            await self._calls.split_bundle(act.bundle, act.position)
        except AdminError as error:
            if not _final(error):
                log.warning("split_unanswered", split=act.number, code=error.code, cause=error.message)
                return run
            run = splitting.refused(run, act.number, error.message, self._now_ms())
            return course.stopped(run, _stop(error)) if _denied(error) else run
        return run

    def _recorded(self, run: MoveRun, number: int, error: AdminError | None) -> MoveRun:
        if error is None:
            return course.answered(run, number, self._now_ms())
        if not _final(error):
            log.warning("unload_unanswered", move=number, code=error.code, cause=error.message)
            return run
        run = course.refused(run, number, error.message, self._now_ms())
        return course.stopped(run, _stop(error)) if _denied(error) else run

    async def _look_up(self, bundle: str) -> None:
        """Have a topic of a bundle looked up; where there is none, nobody needs the bundle."""
        low, high = range_of_bundle(bundle)
        try:
            topics = await self._calls.topics(namespace_of_bundle(bundle))
            topic = next((each for each in topics if low <= topic_hash(each) < high), None)
            if topic is not None:
                await self._calls.look_up_topic(topic)
        except AdminError as error:
            log.info("bundle_not_looked_up", bundle=bundle, code=error.code, cause=error.message)


def _denied(error: AdminError) -> bool:
    """Whether the next call will be refused as this one was."""
    return isinstance(error, AdminRedirectRefused) or (isinstance(error, AdminRefused) and error.status in _DENIED)


def _final(error: AdminError) -> bool:
    """Whether the cluster has refused, and nothing was done."""
    return _denied(error) or (isinstance(error, AdminRefused) and error.status < _SERVER_ERROR)


def _stop(error: AdminError) -> RunStop:
    denied = isinstance(error, AdminRefused) and error.status in _DENIED
    return RunStop(code=AdminDenied.code if denied else error.code, words=error.message)
