"""The registry of operations: which handler performs which kind, and what may be done while a database is rebuilt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Generic, TypeVar

from syncer.errors import NotFound

Handler = TypeVar("Handler")


class Registry(Generic[Handler]):
    """Handlers by the kind of operation that each of them performs.

    Args:
        handlers: By kind.
        while_rebuilding: Kinds that may be performed while a lost database is being rebuilt.
    """

    def __init__(self, handlers: Mapping[str, Handler], *, while_rebuilding: Collection[str] = ()) -> None:
        self._handlers = dict(handlers)
        self._while_rebuilding = frozenset(while_rebuilding)

    def __iter__(self) -> Iterator[str]:
        """Its kinds."""
        return iter(self._handlers)

    def handler(self, kind: str) -> Handler:
        """The handler of a kind.

        Raises:
            NotFound: Nobody performs such operations.
        """
        try:
            return self._handlers[kind]
        except KeyError:
            raise NotFound(f"no such operation: {kind}") from None

    def waits_for_rebuild(self, kind: str) -> bool:
        """Whether an operation can only be performed once the database is whole."""
        return kind not in self._while_rebuilding
