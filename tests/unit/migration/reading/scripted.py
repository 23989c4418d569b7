"""The admin API by a table: each read has one answer, or one refusal; what is not there does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminUnreachable


def refused(status: int, reason: str = "HTTP Error") -> AdminRefused:
    """A refusal as a broker makes it."""
    return AdminRefused(f"answered {status}: {reason}", status=status, reason=reason)


class ScriptedCalls(AdminCalls):
    """Answers by path; those of one broker begin with its address.

    Attributes:
        asked: What was read, in order.
    """

    def __init__(self, answers: Mapping[str, Any], broker: str = "", asked: list[str] | None = None) -> None:
        self.answers = answers
        self.broker = broker
        self.asked: list[str] = [] if asked is None else asked

    async def get(self, path: str) -> Any:
        """Answer, or raise what is laid out; a path without query stands for every query."""
        key = f"{self.broker}{path}"
        self.asked.append(key)
        answer = self.answers.get(key, self.answers.get(key.partition("?")[0], refused(404, "HTTP 404 Not Found")))
        if isinstance(answer, AdminRefused | AdminUnreachable):
            raise answer
        return answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Nothing is ever written."""
        raise AssertionError(f"{method} {path}")

    def at(self, broker: str) -> Self:
        """The answers of one broker."""
        return type(self)(self.answers, broker, self.asked)
