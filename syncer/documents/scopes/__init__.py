"""JSON documents of a scope that is tried: rules with their counts, paths with their rule, and changes of direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.model import MetaPath, ResourceKind

if TYPE_CHECKING:
    from syncer.conflict.scope import Scope
    from syncer.planning.scope_trial import ReadOver, Ruled, RuleTally, ScopeShift

GivenBy = Literal["bus", "scope", "default"]


class ScopeRuleDocument(Document):
    """One rule of the scope, and what it decides about now."""

    number: int = Field(description="Its place, from 1: the first rule that matches a path decides.")
    pattern: str
    direction: str = Field(description="both, publish, apply or ignore.")
    given_by: GivenBy = Field(
        description="bus: keeps the bus's locks to a cluster. scope: the table [scope]. default: no 'rules' in it."
    )
    kinds: dict[str, int] = Field(description="Resources that it decides about, by kind; no others are named.")
    decided_before: int = Field(description="Resources that it matches too, and that an earlier rule decides about.")


class ScopeDocument(Document):
    """``syncer scope test``: how many resources of the store each rule decides about."""

    region: str
    fingerprint: str = Field(description="Equal exactly for equal rules.")
    rules: list[ScopeRuleDocument] = Field(description="In their order.")
    unmatched: dict[str, int] = Field(description="Resources that no rule matches, by kind: they are ignored.")
    directions: dict[str, dict[str, int]] = Field(
        description="All resources by direction and kind. Under 'ignore' also what no rule matches."
    )
    unfit: int = Field(description="Paths set aside, since they cannot be carried by what they are made of.")
    closed: list[str] = Field(
        description="Prefixes outside of the scope that may not be read: nothing there is counted."
    )


class ScopedPathDocument(Document):
    """A resource, and what the scope makes of it."""

    path: str
    kind: str
    name: str
    direction: str
    rule: int | None = Field(description="Place of the rule that decides, from 1; null: no rule matches.")
    pattern: str | None = Field(description="Of that rule.")
    stands: bool = Field(description="Whether it stands in the store now.")
    excluded: list[str] = Field(
        default_factory=list, description="Fields that are this region's own there, by 'scope.exclude'."
    )


class ScopeMatchesDocument(Document):
    """``syncer scope test PATTERN``: the resources of the store that it matches."""

    region: str
    pattern: str
    items: list[ScopedPathDocument] = Field(
        description="The first ones by path; one path is there even if it stands nowhere."
    )
    total: int = Field(description="How many of the store match.")
    more: int = Field(description="How many of them are not in 'items'.")
    no_resource: str | None = Field(description="Why the one path, or all that the pattern can match, is no resource.")


class ScopeShiftDocument(Document):
    """Resources that flow another way by the rules that are tried."""

    now: str
    then: str
    kinds: dict[str, int]


class ShiftedPathDocument(Document):
    """A resource that flows another way by the rules that are tried."""

    path: str
    kind: str
    name: str
    now: str
    then: str
    rule_now: int | None = Field(description="Place of the rule that decides; null: no rule matches.")
    rule_then: int | None = Field(description="Place among the rules that are tried.")


class ScopeShiftsDocument(Document):
    """``syncer scope test --rules FILE``: what would flow another way. Nothing is written."""

    region: str
    file: str = Field(description="The configuration whose rules are tried.")
    pattern: str | None = Field(description="Only what it matches was looked at; null: all.")
    same_rules: bool = Field(description="Whether the rules are those in effect.")
    shifts: list[ScopeShiftDocument]
    unchanged: int = Field(description="Resources whose direction stays, of those that either scope can cover.")
    items: list[ShiftedPathDocument] = Field(description="Those that change, the first ones by path.")
    more: int = Field(description="How many more change.")


def scope_document(
    region: str, scope: Scope, tally: RuleTally, seen: ReadOver, *, of_bus: int, of_default: int
) -> ScopeDocument:
    """What the rules of a scope decide about now.

    Args:
        region: Whose store was read.
        scope: Its rules.
        tally: What was counted.
        seen: What was not looked at.
        of_bus: So many of the first rules are the bus's.
        of_default: So many behind those are the default.
    """
    return ScopeDocument(
        region=region,
        fingerprint=scope.fingerprint,
        rules=[
            ScopeRuleDocument(
                number=at + 1,
                pattern=rule.pattern,
                direction=rule.direction.value,
                given_by="bus" if at < of_bus else "default" if at < of_bus + of_default else "scope",
                kinds=_by_kind(tally.decided[at]),
                decided_before=tally.decided_before[at],
            )
            for at, rule in enumerate(scope.rules)
        ],
        unmatched=_by_kind(tally.unmatched),
        directions={direction.value: _by_kind(kinds) for direction, kinds in tally.flowing.items()},
        unfit=seen.unfit,
        closed=list(seen.closed),
    )


def scoped_path_document(
    scope: Scope, found: Ruled, *, stands: bool, excluded: Callable[[MetaPath], frozenset[str]]
) -> ScopedPathDocument:
    """A resource as the scope takes it.

    Args:
        scope: Of the region.
        found: The resource.
        stands: Whether it stands in the store.
        excluded: The fields that are the region's own at a path.
    """
    return ScopedPathDocument(
        path=found.path,
        kind=found.resource.kind.value,
        name=found.resource.name,
        direction=found.direction.value,
        rule=None if found.rule is None else found.rule + 1,
        pattern=None if found.rule is None else scope.rules[found.rule].pattern,
        stands=stands,
        excluded=sorted(excluded(found.path)),
    )


def scope_shifts_document(
    region: str, now: Scope, then: Scope, shift: ScopeShift, *, file: str, pattern: str | None
) -> ScopeShiftsDocument:
    """What another scope would change.

    Args:
        region: Whose store was read.
        now: The scope in effect.
        then: The one that is tried.
        shift: What was found.
        file: Of the one that is tried.
        pattern: What was looked at alone.
    """
    return ScopeShiftsDocument(
        region=region,
        file=file,
        pattern=pattern,
        same_rules=now.fingerprint == then.fingerprint,
        shifts=[
            ScopeShiftDocument(now=each.now.value, then=each.then.value, kinds=_by_kind(kinds))
            for each, kinds in sorted(shift.shifts.items())
        ],
        unchanged=shift.unchanged,
        items=[
            ShiftedPathDocument(
                path=before.path,
                kind=before.resource.kind.value,
                name=before.resource.name,
                now=before.direction.value,
                then=after.direction.value,
                rule_now=None if before.rule is None else before.rule + 1,
                rule_then=None if after.rule is None else after.rule + 1,
            )
            for before, after in shift.pairs()
        ],
        more=shift.found.more,
    )


def _by_kind(kinds: Mapping[ResourceKind, int]) -> dict[str, int]:
    return {kind.value: kinds[kind] for kind in ResourceKind if kinds.get(kind)}
