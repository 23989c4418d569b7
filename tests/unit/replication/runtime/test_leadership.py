"""Who is told to stand by, or to stop, stops without a trace, whatever it was waiting for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from syncer.bus.contract import Role
from syncer.errors import Fenced, StateForeign, StateUnavailable, SyncerError
from syncer.replication.runtime.leadership import Leadership

pytestmark = pytest.mark.anyio


class Roles:
    """A bus that tells the roles that the test names."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Role] = asyncio.Queue()
        self.proof = asyncio.Event()

    def tell(self, role: Role) -> None:
        self._told.put_nowait(role)

    async def proven(self) -> None:
        await self.proof.wait()
        self.proof.clear()

    async def stream(self) -> AsyncIterator[Role]:
        while True:
            yield await self._told.get()


class Active:
    """Ends with the given error as often as it is tried."""

    def __init__(self, error: SyncerError) -> None:
        self.tries = 0
        self.tried = anyio.Event()
        self._error = error

    async def __call__(self) -> None:
        self.tries += 1
        self.tried.set()
        async with anyio.create_task_group() as tasks:  # as the pumps do: what ends one comes out in a group
            tasks.start_soon(self._fail)

    async def _fail(self) -> None:
        raise self._error


@pytest.mark.parametrize("error", [Fenced("another one"), StateUnavailable("not now")])
async def test_a_stop_while_it_waits_to_try_again_is_no_failure(error: SyncerError) -> None:
    roles, active = Roles(), Active(error)
    leadership = Leadership(roles.stream, active, roles.proven)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leadership.run)
        roles.tell(Role.ACTIVE)
        await active.tried.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert active.tries == 1


async def test_standing_by_while_it_waits_to_try_again_and_coming_back() -> None:
    roles, active = Roles(), Active(Fenced("another one"))
    leadership = Leadership(roles.stream, active, roles.proven)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leadership.run)
        roles.tell(Role.ACTIVE)
        await active.tried.wait()
        await anyio.wait_all_tasks_blocked()
        roles.tell(Role.STANDBY)
        await anyio.wait_all_tasks_blocked()
        assert active.tries == 1
        roles.tell(Role.ACTIVE)
        await anyio.wait_all_tasks_blocked()
        assert active.tries == 2
        tasks.cancel_scope.cancel()


async def test_a_fenced_one_tries_again_only_when_the_bus_has_said_anew_that_it_is_the_one() -> None:
    roles, active = Roles(), Active(Fenced("another one"))
    leadership = Leadership(roles.stream, active, roles.proven)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leadership.run)
        roles.tell(Role.ACTIVE)
        await active.tried.wait()
        for _ in range(3):
            roles.tell(Role.ACTIVE)
            await anyio.wait_all_tasks_blocked()
        assert active.tries == 1
        roles.proof.set()
        await anyio.wait_all_tasks_blocked()
        assert active.tries == 2
        tasks.cancel_scope.cancel()


async def test_what_no_repeat_can_mend_ends_it() -> None:
    roles, active = Roles(), Active(StateForeign("of another region"))
    roles.tell(Role.ACTIVE)
    with pytest.raises(ExceptionGroup) as caught:
        await Leadership(roles.stream, active, roles.proven).run()
    assert caught.value.subgroup(StateForeign) is not None
    assert active.tries == 1
