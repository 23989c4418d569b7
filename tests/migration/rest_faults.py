"""Faults of the admin REST API: calls that are sent on, refused, failed, or never answered, by chance."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.migration.clusters.cluster import Cluster
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import Answer, NoAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class RestFaults:
    """Chances per call, 0 to 1.

    Args:
        sent_on: It is sent on to another broker (307), which is asked next.
        unknown: The credentials are not taken (401).
        forbidden: The role may not (403).
        failed: The broker fails before it does anything (500).
        failed_after: It fails when all is done (500).
        unavailable: It is not ready (503).
        silent_before: It never answers, and does nothing.
        silent_after: It does what was asked, and never answers.
        slow: It takes a second or two to answer.
    """

    sent_on: float = 0.0
    unknown: float = 0.0
    forbidden: float = 0.0
    failed: float = 0.0
    failed_after: float = 0.0
    unavailable: float = 0.0
    silent_before: float = 0.0
    silent_after: float = 0.0
    slow: float = 0.0


CALM: Final = RestFaults()
ROUGH: Final = RestFaults(
    sent_on=0.03, failed=0.02, failed_after=0.01, unavailable=0.03, silent_before=0.02, silent_after=0.02
)
_LATE_MS: Final = (50, 1_000)


class FaultyApi:
    """A cluster's API as a client has it on a bad day.

    Attributes:
        faults: May be changed at any time.
        calls: What was asked, and what came of it: method, path, status; 0: no answer.
    """

    def __init__(self, cluster: Cluster, rng: Random, faults: RestFaults = CALM) -> None:
        self.cluster = cluster
        self.faults = faults
        self.calls: list[tuple[str, str, int]] = []
        self._api = AdminApi(cluster)
        self._rng = rng

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        """Answer a call, or do not.

        Raises:
            NoAnswer: It was never answered.
        """
        fault = self._fault()
        match fault:
            case "sent_on":
                answer: Answer = 307, {"Location": f"http://{self._rng.choice(self.cluster.brokers).address}{path}"}
            case "unknown":
                answer = 401, {"reason": "HTTP 401 Unauthorized"}
            case "forbidden":
                answer = 403, {"reason": "Don't have permission to administrate resources on this tenant"}
            case "failed":
                answer = 500, {"reason": "HTTP 500 Internal Server Error"}
            case "unavailable":
                answer = 503, {"reason": "HTTP 503 Service Unavailable"}
            case "silent_before":
                answer = 0, None
            case _:
                late = fault == "slow"
                self._wait(late=late)
                answer = self._api.answer(method, path, body)
                self._wait(late=late)
                if fault == "failed_after":
                    answer = 500, {"reason": "HTTP 500 Internal Server Error"}
                if fault == "silent_after":
                    answer = 0, None
        self.calls.append((method, path, answer[0]))
        if not answer[0]:
            raise NoAnswer(f"{method} {path}")
        return answer

    def _wait(self, *, late: bool) -> None:
        if late:
            self.cluster.timeline.run(self._rng.randint(*_LATE_MS))

    def _fault(self) -> str:
        drawn = self._rng.random()
        for name in RestFaults.__slots__:
            drawn -= getattr(self.faults, name)
            if drawn < 0:
                return str(name)
        return ""
