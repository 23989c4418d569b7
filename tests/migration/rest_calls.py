"""Calls of the admin REST API: a table from method and path to what answers, and answers that are errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from tests.migration.rest import AdminApi

Answer = tuple[int, Any]
DONE: Final[Answer] = (204, None)


class NoAnswer(Exception):
    """The caller has waited for long enough; whether anything was done he does not know."""


class ApiError(Exception):
    """An answer that is an error: its status, and the broker's words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, taken apart.

    Attributes:
        names: Parts of the path that stand for names.
        query: What stands behind the question mark.
    """

    api: AdminApi
    method: str
    names: dict[str, str]
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None

    @property
    def namespace(self) -> str:
        """``tenant/namespace``."""
        return f"{self.names['tenant']}/{self.names['namespace']}"

    @property
    def topic(self) -> str:
        """The topic's full name."""
        return f"persistent://{self.namespace}/{self.names['topic']}"


_KEPT: Final = 4_096
"""Paths that were told apart before and are known, until there are so many."""

Answering = Callable[[Call], Answer]


class Routes:
    """What answers which call; of several that fit the first is taken."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, re.Pattern[str], Answering]] = []
        self._found: dict[tuple[str, str], tuple[Answering, dict[str, str], dict[str, str]]] = {}

    def on(self, methods: str, path: str) -> Callable[[Answering], Answering]:
        """Say what answers calls of some methods and a path with ``{names}``."""
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))

        def add(answering: Answering) -> Answering:
            self._rows.extend((method, pattern, answering) for method in methods.split("|"))
            return answering

        return add

    def find(self, api: AdminApi, method: str, path: str, body: object) -> tuple[Answering, Call]:
        """What answers a call.

        Raises:
            ApiError: There is no such path, or it does not know the method.
        """
        found = self._found.get((method, path))
        if found is None:
            if len(self._found) >= _KEPT:
                self._found.clear()
            found = self._found[method, path] = self._find(method, path)
        answering, names, query = found
        return answering, Call(api=api, method=method, names=names, query=query, body=body)

    def _find(self, method: str, path: str) -> tuple[Answering, dict[str, str], dict[str, str]]:
        parts = urlsplit(path)
        known = False
        for each, pattern, answering in self._rows:
            match = pattern.fullmatch(parts.path)
            if match is None:
                continue
            known = True
            if each == method:
                names = {name: unquote(text) for name, text in match.groupdict().items()}
                return answering, names, dict(parse_qsl(parts.query))
        raise ApiError(405 if known else 404, "HTTP 405 Method Not Allowed" if known else "HTTP 404 Not Found")
