"""Changeover between projections: digests that one of them has made are made anew by the next.

A group works by one projection of a kind until all of its members can work by a newer one. Then each of them goes over
by itself: from one moment on it makes digests by the newer one, and what it knows of a path by the former one is made
anew when a value with that digest comes by, out of the store or out of an event. That is no change of anybody's. When
all of the store was read since, nothing is left by the former one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.acts import Act, FillConflict
from syncer.conflict.projection import CARRYING, FORMER, FORMERS, PROJECTIONS, Projection
from syncer.conflict.register import Register
from syncer.errors import StateForeign, ValueInvalid
from syncer.model import Digest, MetaPath, ResourceKind, Version
from syncer.paths import classify, kind_at
from syncer.replacing import replace

GOES_OVER: Final = ">"
_NOBODY: Final[Mapping[ResourceKind, Projection]] = {}
_ESCAPE: Final = b"\\"
_TELLING: Final = {
    kind: (*(f'"{name}"'.encode() for name in (*each.unset, *each.derived, *each.withheld)), _ESCAPE)
    for kind, each in PROJECTIONS.items()
    if kind in FORMER
}
"""Names of fields that the projections of a kind treat otherwise: a value without them has one digest by all.

A backslash may write any of them otherwise.
"""


def all_of(kind: ResourceKind) -> tuple[Projection, ...]:
    """Return the projections of a kind that this program can work by; each tells apart whatever one before it does."""
    carrying = (CARRYING[kind],) if kind in CARRYING else ()
    return (PROJECTIONS[kind], *carrying, *FORMERS.get(kind, ()))


def able_ids(kind: ResourceKind) -> tuple[str, ...]:
    """Ids of the projections that every region of this program can work by, the newest first."""
    return tuple(each.id for each in all_of(kind) if not each.shared)


def preferred_ids(kind: ResourceKind) -> tuple[str, ...]:
    """Ids of all projections of a kind, those first by which a group works where all of its members can."""
    return tuple(each.id for each in sorted(all_of(kind), key=lambda each: not each.shared))


ABLE: Final = frozenset(each for kind in FORMER for each in able_ids(kind))
"""Ids of projections, of all kinds that have several, but for those that carry policies of offloading."""
ABLE_TO_CARRY: Final = ABLE | {each.id for each in CARRYING.values()}
"""The same with those: by them a region can work that is set to carry policies of offloading."""


@dataclass(frozen=True, slots=True)
class ProjectionsInUse:
    """By which projections a region makes digests.

    Args:
        by_kind: The one of each kind.
        former: The one before, of the kinds whose digests are being made anew.
        able: Ids of all that the region can work by.
    """

    by_kind: Mapping[ResourceKind, Projection] = field(default_factory=lambda: PROJECTIONS)
    former: Mapping[ResourceKind, Projection] = field(default_factory=lambda: _NOBODY)
    able: frozenset[str] = ABLE

    @property
    def ids(self) -> dict[str, str]:
        """Id by kind, as it is told and kept; of a kind that goes over, both: that one equals no other, nor itself."""
        return {
            str(kind): f"{self.former[kind].id}{GOES_OVER}{projection.id}" if kind in self.former else projection.id
            for kind, projection in self.by_kind.items()
        }

    @property
    def kept_as(self) -> str:
        """The same as JSON, for the database."""
        return json.dumps(self.ids, sort_keys=True)

    def resumed(self, kept: str | None) -> ProjectionsInUse:
        """Those that were :attr:`kept_as` this; of a kind that is not named there, the newest.

        Raises:
            StateForeign: They are of a newer version: what it has kept cannot be compared by this one.
        """
        if kept is None:
            return self
        ids, by_kind, former = json.loads(kept), dict(PROJECTIONS), {}
        for kind in ResourceKind:
            before, goes_over, after = ids.get(kind, PROJECTIONS[kind].id).partition(GOES_OVER)
            by_kind[kind] = _by_id(kind, after if goes_over else before)
            if goes_over:
                former[kind] = _by_id(kind, before)
            if by_kind[kind].shared and by_kind[kind].id not in self.able:  # the region is set otherwise since
                by_kind[kind], former[kind] = PROJECTIONS[kind], by_kind[kind]
        return ProjectionsInUse(by_kind, former, self.able)

    def towards(self, ids: Mapping[ResourceKind, str]) -> ProjectionsInUse:
        """The same, going over to others."""
        changed = {kind: _by_id(kind, wanted) for kind, wanted in ids.items() if self.by_kind[kind].id != wanted}
        former = {kind: self.by_kind[kind] for kind in changed}
        return ProjectionsInUse({**self.by_kind, **changed}, former, self.able)

    def giving_up(self, kinds: Iterable[ResourceKind]) -> ProjectionsInUse:
        """The same, going back to the newest of kinds that were about to carry more; see :meth:`withholds_yet`."""
        kept = dict.fromkeys(kinds)
        by_kind = {**self.by_kind, **{kind: PROJECTIONS[kind] for kind in kept}}
        return ProjectionsInUse(by_kind, {**self.former, **{kind: self.by_kind[kind] for kind in kept}}, self.able)

    @property
    def arrived(self) -> ProjectionsInUse:
        """The same, with nothing left by the former ones."""
        return ProjectionsInUse(self.by_kind, able=self.able)

    def others(self, kind: ResourceKind) -> tuple[Projection, ...]:
        """The other projections that may have made digests here, the likeliest first.

        While a kind goes over the former one is among them, either way. All others tell more apart: by one that tells
        less, two values that differ by the one in use can have one digest, and one would pass for the other.
        """
        known, former = all_of(kind), self.former.get(kind)
        in_use = [each.id for each in known].index(self.by_kind[kind].id)
        older = known[in_use + 1 :]
        return older if former is None or former in older or self.withholds_yet(kind) else (former, *older)

    @property
    def shares(self) -> bool:
        """Whether a part of the policies of offloading leaves this region."""
        return any(each.shared and not self.withholds_yet(kind) for kind, each in self.by_kind.items())

    def withholds_yet(self, kind: ResourceKind) -> bool:
        """Whether a region is about to carry more of its values, and none of that leaves before all members do."""
        former = self.former.get(kind)
        return former is not None and former.id == PROJECTIONS[kind].id and bool(self.by_kind[kind].shared)

    def carried(self, kind: ResourceKind, value: bytes) -> bytes:
        """Return the part of a value that the group may have, by the projection in use."""
        return self.by_kind[kind].carried(value)

    def shown(self, kind: ResourceKind, value: bytes) -> bytes:
        """Return the part of a stored value that may leave its store now; see :meth:`withholds_yet`."""
        return self.store_side(kind).carried(value)

    def store_side(self, kind: ResourceKind) -> Projection:
        """Return the projection by which values of the own store are read, and leave it."""
        return PROJECTIONS[kind] if self.withholds_yet(kind) else self.by_kind[kind]

    def concerns(self, path: MetaPath) -> bool:
        """Whether the digest of what stands at a path may be made anew."""
        resource = classify(path) if self.former else None
        return resource is not None and resource.kind in self.former


NEWEST: Final = ProjectionsInUse()
MOST: Final = ProjectionsInUse({**PROJECTIONS, **CARRYING}, able=ABLE_TO_CARRY)
"""Projections by which the greatest part of a value leaves its store, and still no credential."""


@dataclass(frozen=True, slots=True)
class Works:
    """By which projections of a kind another member works.

    Args:
        in_use: Id of the one in use, or of the one that it goes over to.
        able: Those that it can work by.
        ready: Those that all members can work by, as far as it sees.
    """

    in_use: str
    able: frozenset[str]
    ready: frozenset[str]


def ready(kind: ResourceKind, ours: ProjectionsInUse, members: Iterable[Works | None]) -> frozenset[str]:
    """The projections that all members can work by; while one was not heard, the one in use alone.

    Args:
        kind: Of resource.
        ours: Of this region.
        members: All others; ``None``: it was not heard yet.
    """
    told = list(members)
    if None in told:
        return frozenset({ours.by_kind[kind].id})
    able = ours.able & frozenset(preferred_ids(kind))
    return able.intersection(*(each.able for each in told if each is not None))


def chosen(kind: ResourceKind, ours: ProjectionsInUse, members: Iterable[Works | None]) -> str:
    """The projection to work by: the newest that every member can, and knows that every other one can.

    Where there is none, or one was not heard yet, it is the oldest that anybody heard works by, so that all who hear
    each other end at the same one, whomever else each of them waits for.

    Args:
        kind: Of resource.
        ours: Of this region.
        members: All others; ``None``: it was not heard yet.
    """
    told, current = list(members), ours.by_kind[kind].id
    heard = [each for each in told if each is not None]
    able = [each for each in preferred_ids(kind) if each in ours.able and all(each in one.able for one in heard)]
    if current not in {each.id for each in all_of(kind)[:2]}:
        able = [each for each in able if kind not in CARRYING or each != CARRYING[kind].id]
    if len(heard) == len(told):
        agreed = next((each for each in able if all(each in one.ready for one in heard)), None)
        if agreed is not None:
            return agreed
    in_use = {current, *(one.in_use for one in heard)}
    oldest = [each for each in reversed(able_ids(kind)) if each in able] + able
    return next((each for each in oldest if each in in_use), current)


def made_anew(
    projections: ProjectionsInUse, register: Register, values: Iterable[bytes | None], *, stored: bool = False
) -> tuple[Register, tuple[Act, ...]]:
    """Make digests anew of which the values are at hand; a conflict that waits for one of these values gets it.

    Args:
        projections: Those in use.
        register: The path's register.
        values: Of the store, or of an event; what is known here is added.
        stored: They are of the store.
    """
    acts: tuple[Act, ...] = ()
    kind, known = kind_at(register.path), register.known
    others = projections.others(kind)
    if not others:
        return register, acts
    marks, known_value = _TELLING[kind], None if known is None else known.value
    here = projections.store_side(kind) if stored else projections.by_kind[kind]
    for value in (known_value, *values):
        if value is None or not _tells(value, marks):
            continue
        try:
            digest = (projections.by_kind[kind] if value is known_value else here).digest(value)
            former = [before for each in others if (before := each.digest(value)) != digest]
        except ValueInvalid:
            continue
        for before in dict.fromkeys(former):
            if register.stored_digest == before:
                told = projections.shown(kind, value)
                acts = (*acts, FillConflict(path=register.path, digest=before, value=told))
            register = _translated(register, before, digest)
    return _withholding(projections, kind, register), acts


def _withholding(projections: ProjectionsInUse, kind: ResourceKind, register: Register) -> Register:
    """The register without what may not leave its store: a value that was told by a former projection had that."""
    known = register.known
    if known is None or known.value is None:
        return register
    value = projections.carried(kind, known.value)
    return register if value is known.value else replace(register, known=replace(known, value=value))


def _tells(value: bytes, marks: Iterable[bytes]) -> bool:
    for mark in marks:  # noqa: SIM110 - this is asked of every change, and a generator costs twice as much
        if mark in value:
            return True
    return False


def _translated(register: Register, before: Digest, digest: Digest) -> Register:
    """The register with one digest in the place of another, wherever that stands."""
    stored, intent, shown = register.stored, register.intent, register.shown
    return replace(
        register,
        known=None if register.known is None else _version(register.known, before, digest),
        stored=replace(stored, digest=digest) if stored is not None and stored.digest == before else stored,
        intent=None if intent is None else replace(intent, version=_version(intent.version, before, digest)),
        shown=replace(shown, digest=digest) if shown is not None and shown.digest == before else shown,
        left=digest if register.left == before else register.left,
    )


def _version(version: Version, before: Digest, digest: Digest) -> Version:
    return replace(version, digest=digest) if version.digest == before else version


def _by_id(kind: ResourceKind, wanted: str) -> Projection:
    for known in all_of(kind):
        if known.id == wanted:
            return known
    raise StateForeign(
        f"the sidecar database compares {kind} by {wanted}, which this version does not know",
        hint="Start the version that wrote it, or a newer one.",
    )
