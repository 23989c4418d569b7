"""Entry filters: plug-ins of brokers that keep messages from consumers, named by policies. Names travel, code does not.

A broker has the filters whose archives lie in its ``entryFiltersDirectory``. It tells that setting, and the filters
that it uses for every topic (``entryFilterNames``); it does not tell which archives there are. Policies of namespaces
and topics count only where ``allowOverrideEntryFilters`` is true. So of a filter that a policy names, and that is not
among those used for every topic, it is known that it has no effect in two cases: policies do not count, or there is no
directory. In all other cases nothing is known.

Source: ``EntryFilterProvider``, ``EntryFilterSupport`` and ``AbstractTopic.updateEntryFilters`` of Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.model import MetaPath, ResourceKind

FIELD: Final = "entryFilters"
NAMES: Final = "entryFilterNames"
OVERRIDES: Final = "allowOverrideEntryFilters"
DIRECTORY: Final = "entryFiltersDirectory"
NAMES_OF_POLICY: Final = 16
"""Filters that are looked at of one policy, the first by name: whoever writes a policy may name any number."""
NAME_CHARACTERS: Final = 256
"""Of one filter's name; a longer one is not looked at."""
NAMING: Final = frozenset({ResourceKind.NAMESPACE, ResourceKind.TOPIC_POLICY})
"""Kinds of resources whose policies name filters."""


class FilterLack(StrEnum):
    """Why a filter that a policy names has no effect at a broker."""

    IGNORED = "ignored"
    """Filters of policies do not count there."""
    ABSENT = "absent"
    """The broker has no directory of filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFilters:
    """Settings of one broker about entry filters.

    Args:
        used: Filters that it uses for every topic; each is there, or it would not have started.
        overridable: Filters that policies name count.
        directory: It has a directory of filters; what is in it is not told.
    """

    used: frozenset[str] = frozenset()
    overridable: bool = False
    directory: bool = False

    @staticmethod
    def of(settings: Mapping[str, object]) -> BrokerFilters:
        """Take the run-time configuration that a broker tells; without these settings policies name none there."""
        return BrokerFilters(
            used=_split(_text(settings, NAMES).removeprefix("[").removesuffix("]")),
            overridable=_text(settings, OVERRIDES).lower() == "true",
            directory=_text(settings, DIRECTORY) != "",
        )

    def lacks(self, name: str) -> FilterLack | None:
        """Return why a filter that a policy names has no effect; ``None``: it has, or that is not known."""
        if name in self.used:
            return None
        if not self.overridable:
            return FilterLack.IGNORED
        return None if self.directory else FilterLack.ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFilters:
    """Filters that policies name, and that have no effect at some brokers; all in order.

    Args:
        names: Of the filters.
        paths: Of the policies that name them.
        brokers: Addresses of the brokers, by why the filters have no effect there.
    """

    names: tuple[str, ...]
    paths: tuple[MetaPath, ...]
    brokers: Mapping[FilterLack, tuple[str, ...]]


def filters_named(document: Mapping[str, object]) -> frozenset[str]:
    """Return the filters that the policies of a namespace or a topic name, at most ``NAMES_OF_POLICY``.

    Args:
        document: The policies.
    """
    filters = document.get(FIELD)
    names = filters.get(NAMES) if isinstance(filters, dict) else None
    if not isinstance(names, str):
        return frozenset()
    return frozenset(sorted(name for name in _split(names) if len(name) <= NAME_CHARACTERS)[:NAMES_OF_POLICY])


def missing_filters(
    named: Mapping[MetaPath, frozenset[str]], brokers: Mapping[str, BrokerFilters]
) -> MissingFilters | None:
    """Find the filters that are known to have no effect at some broker; ``None``: there are none.

    Args:
        named: Filters that policies name, by path.
        brokers: What brokers told, by address; of one that did not answer nothing is known.
    """
    every = frozenset[str]().union(*named.values())
    lacks = {
        (name, broker): lack
        for broker, filters in brokers.items()
        for name in every
        if (lack := filters.lacks(name)) is not None
    }
    if not lacks:
        return None
    names = {name for name, _ in lacks}
    return MissingFilters(
        names=tuple(sorted(names)),
        paths=tuple(sorted(path for path, each in named.items() if each & names)),
        brokers={
            lack: tuple(sorted({broker for (_, broker), why in lacks.items() if why is lack}))
            for lack in FilterLack
            if lack in lacks.values()
        },
    )


def _split(names: str) -> frozenset[str]:
    """Split a list of names as Pulsar does: by commas, blanks around a name and empty names left out."""
    each: Iterable[str] = (name.strip() for name in names.split(","))
    return frozenset(name for name in each if name)


def _text(settings: Mapping[str, object], name: str) -> str:
    value = settings.get(name)
    return value.strip() if isinstance(value, str) else ""
