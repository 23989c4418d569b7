"""The named calls of the admin REST API, answered by a simulated cluster: every call takes a little virtual time."""

from __future__ import annotations

import copy
from typing import Any, Final, Self

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminUnreachable
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.cluster import Cluster
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import Answer, NoAnswer
from tests.migration.rest_faults import FaultyApi

_TAKES_MS: Final = (1, 8)
_TIMEOUT_MS: Final = 10_000
_REPEATS: Final = 5
_MOST_SENT_ON: Final = 5
_NOT_READY: Final = frozenset({502, 503, 504})


class SimulatedCalls(AdminCalls):
    """The API of a simulated cluster as the product calls it: reads are repeated, writes never are."""

    def __init__(self, api: AdminApi | FaultyApi) -> None:
        self._api = api

    @property
    def simulated(self) -> Cluster:
        """The cluster that answers."""
        return self._api.cluster

    def at(self, broker: str) -> Self:
        """Ask one broker, past all faults."""
        there = copy.copy(self)
        there._api = AdminApi(self.simulated, self._broker(broker))
        return there

    async def get(self, path: str) -> Any:
        """Read; what may pass is asked again a little later."""
        for attempt in range(_REPEATS):
            try:
                return self._ask("GET", path, None)
            except AdminUnreachable:
                if attempt + 1 == _REPEATS:
                    raise
            except AdminRefused as error:
                if error.status not in _NOT_READY or attempt + 1 == _REPEATS:
                    raise
            self.simulated.timeline.run(100 << attempt)
        raise AssertionError("the last attempt raises")

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write, once."""
        self._ask(method, path, body)

    def _ask(self, method: str, path: str, body: object) -> Any:
        api: AdminApi | FaultyApi = self._api
        for _ in range(_MOST_SENT_ON):
            status, json = self._answer(api, method, path, body)
            if status != 307:
                break
            host = str(json["Location"]).removeprefix("http://").partition("/")[0]
            api = AdminApi(self.simulated, self._broker(host))
        else:
            raise AdminUnreachable(f"{method} {path}: its brokers do not agree on the owner")
        if status >= 300:
            reason = str(json["reason"])
            raise AdminRefused(f"{method} {path} answered {status}: {reason}", status=status, reason=reason)
        return copy.deepcopy(json)

    def _answer(self, api: AdminApi | FaultyApi, method: str, path: str, body: object) -> Answer:
        timeline = self.simulated.timeline
        timeline.run(timeline.between(*_TAKES_MS))
        try:
            return api.answer(method, path, copy.deepcopy(body))
        except NoAnswer:
            timeline.run(_TIMEOUT_MS)
            raise AdminUnreachable(f"{method} {path}: no answer") from None

    def _broker(self, address: str) -> Broker:
        return next(each for each in self.simulated.brokers if each.address == address)
