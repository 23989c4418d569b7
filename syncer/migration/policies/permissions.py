"""Permissions that blue grants and green does not: by namespace, by topic, and by subscription."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAMESPACE, _TOPICS, _SUBSCRIPTIONS = "namespace_auth", "destination_auth", "subscription_auth_roles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a role may do, or which roles may use a subscription.

    Attributes:
        topic: Of a grant for one topic; empty: for the namespace.
        subscription: Of a grant for one subscription name; then ``allowed`` are roles.
        allowed: What blue grants together with what green grants already.
        before: What green grants.
    """

    role: str = ""
    topic: str = ""
    subscription: str = ""
    allowed: tuple[str, ...]
    before: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """Whom or what it is for, in words."""
        if self.subscription:
            return f"roles of subscription {self.subscription}"
        return f"role {self.role}" + (f" for {self.topic}" if self.topic else "")


def missing_grants(blue: object, green: object) -> Iterator[Grant]:
    """Grants that green's ``auth_policies`` lack of blue's; nothing is ever taken away."""
    for role, allowed, before in _wider(_part(blue, _NAMESPACE), _part(green, _NAMESPACE)):
        yield Grant(role=role, allowed=allowed, before=before)
    topics, there = _part(blue, _TOPICS), _part(green, _TOPICS)
    for topic, roles in sorted(topics.items()):
        for role, allowed, before in _wider(roles, there.get(topic)):
            yield Grant(topic=topic, role=role, allowed=allowed, before=before)
    for name, allowed, before in _wider(_part(blue, _SUBSCRIPTIONS), _part(green, _SUBSCRIPTIONS)):
        yield Grant(subscription=name, allowed=allowed, before=before)


def _part(policies: object, name: str) -> Mapping[str, object]:
    found = policies.get(name) if isinstance(policies, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _wider(blue: object, green: object) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Of each name: all that both allow, and what green does, where blue allows more."""
    given = blue if isinstance(blue, Mapping) else {}
    there = green if isinstance(green, Mapping) else {}
    for name, allowed in sorted(given.items()):
        before = set(there.get(name, ()))
        if set(allowed) - before:
            yield name, tuple(sorted({*allowed, *before})), tuple(sorted(before))
