"""Excluding: a region goes by the group's value of a field that is its own in the store.

At the places of excluded fields stands, for every other rule, the group's value, which the region keeps in its
database. So digests, stamps and events are those of whole documents, and no value of such a field leaves its store. On
a write the store's own value stays.

A change of the rules is taken path by path, at the next valid read, and nothing is written or published for it. A field
that comes in: the stored value becomes the group's, where the store stands where it stood; where it does not, the path
waits for the group's value. A field that goes out stays excluded until both are the same: nobody has said which is to
give way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from syncer.conflict.acts import Moment
from syncer.conflict.completing import Understood, completes, first_kept, reading
from syncer.conflict.fields.kept import Document, KeptFields
from syncer.conflict.fields.own import excluding, laid_over, part_of
from syncer.conflict.projection import DIGEST_BYTES, parse, stored
from syncer.conflict.register import Register
from syncer.conflict.settings import Settings
from syncer.errors import ValueInvalid
from syncer.making import made_quickly
from syncer.model import Digest, MetaPath, Millis
from syncer.paths import kind_at
from syncer.replacing import replace
from syncer.stores.contract import Entry

_NO_KEPT: Final = KeptFields()
IN_DOUBT: Final = Digest(hashlib.blake2b(b"the group's value is asked for", digest_size=DIGEST_BYTES).digest())
"""Of what a store holds while it is not known by which values of its own fields it stands: no value has it."""
_BY_SCAN: Final = Moment(now=Millis(0), seen_at=Millis(0), first_scan_done=True, by_scan=True)
"""Nobody is taken to have removed anything."""


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedRead:
    """A read as the region goes by it.

    Args:
        register: The register, by the rules of now.
        entry: What was read, with the group's values in the place of the store's own.
        document: As it was read; ``None``: it cannot be, or there is none.
        excluded: Names of the fields that are the store's own, in order.
        group: The group's values of these.
        untold: Names of those of which nothing was told from here.
        before: The same entry without what was owed; ``None``: nothing was.
        waits: It cannot be told what the group's value is: nothing is decided before that has come.
    """

    register: Register
    entry: Entry | None
    document: Document | None = None
    excluded: tuple[str, ...] = ()
    group: Document | None = None
    untold: Collection[str] = ()
    before: Entry | None = None
    waits: bool = False

    def kept(self, kept: KeptFields | None) -> KeptFields | None:
        """Kept fields, with those that are excluded."""
        return kept if self.group is None else excluding(kept, self.excluded, self.group, self.untold)


def names_at(settings: Settings, path: MetaPath) -> frozenset[str]:
    """The fields that are excluded at a path; those that the projection in use withholds are the store's own anyway."""
    names = settings.excluded(path)
    projection = settings.projections.by_kind[kind_at(path)]
    return names - (projection.withheld - projection.shared) if names else names


def concerns(settings: Settings, register: Register) -> bool:
    """Whether a field of the path is excluded, or was when it was last read."""
    return bool(names_at(settings, register.path) or (register.kept is not None and register.kept.excluded))


def outdated(settings: Settings, register: Register) -> bool:
    """Whether a path is to be read again, since other fields are excluded there than when it was last read."""
    if not register.stored_alive:
        return False
    was = () if register.kept is None else register.kept.excluded
    return was != tuple(sorted(names_at(settings, register.path)))


def standing(settings: Settings, register: Register, entry: Entry | None) -> ExcludedRead:
    """Lay the group's values of excluded fields over what was read; what cannot be read is left to who judges it."""
    if entry is None or entry.ephemeral or not entry.value:
        return ExcludedRead(register=register, entry=entry)
    names = names_at(settings, register.path)
    try:
        document = parse(entry.value)
        if register.stored_alive:
            return _stands(settings, register, entry, document, names)
        known = register.known
        group = _part(None if known is None else known.value, names)
        return ExcludedRead(
            register=register,
            entry=_laid(entry, document, names, group),
            document=document,
            excluded=tuple(sorted(names)),
            group=group,
            untold=names,
        )
    except ValueInvalid:
        return ExcludedRead(register=register, entry=entry)


def understood(settings: Settings, read: Understood, stands: ExcludedRead, moment: Moment) -> Understood:
    """A read as it was understood, with the excluded fields, and without those that were owed.

    Args:
        settings: The region's settings.
        read: Of the entry that stands.
        stands: How it stands.
        moment: When it was read.
    """
    if read.digest is None:
        return read
    read = replace(read, kept=stands.kept(read.kept))
    if stands.before is None:
        return read
    register = stands.register
    kind = kind_at(register.path)
    without = reading(settings, register, kind, stands.before, moment, found_as=stands.document)
    if without.stood is None and without.entry is not None and without.digest is not None:
        return replace(read, stood=(without.entry.value, without.digest))
    return replace(read, stood=without.stood)


def here(settings: Settings, register: Register) -> tuple[str, ...]:
    """The fields that are the store's own in a write that is about to be made, perhaps before a new rule is read by."""
    was = register.kept.excluded if register.stored_alive and register.kept is not None else ()
    return tuple(sorted(names_at(settings, register.path).union(was)))


def whole_of(settings: Settings, register: Register, entry: Entry | None) -> bytes | None:
    """What a region goes by where a store holds a value, completed; of fields that are its own nothing is told."""
    if entry is None or not entry.value:
        return None
    whole, kept = completes(register, entry.value), register.kept
    names = names_at(settings, register.path) - set(() if kept is None else kept.excluded)
    return stored(laid_over(parse(whole), names, {})) if names else whole


def _stands(
    settings: Settings, register: Register, entry: Entry, document: Document, names: frozenset[str]
) -> ExcludedRead:
    kept = register.kept or first_kept(settings, register, entry) or _NO_KEPT
    was, group = frozenset(kept.excluded), kept.group
    if coming := names - was:
        found = _coming(settings, register, _laid(entry, document, was, group), coming)
        if found is None:
            return _waiting(register, entry)
        group = {**group, **found}
    excluded = was | names
    for name in sorted(was - names):
        fewer, less = excluded - {name}, part_of(group, excluded - {name})
        shared, own = laid_over(document, fewer, less), laid_over(document, excluded, group)
        if _digest(settings, register, shared) == _digest(settings, register, own):
            excluded, group = fewer, less
    ordered = tuple(sorted(excluded))
    register = replace(register, kept=excluding(kept, ordered, group, kept.untold))
    laid = _laid(entry, document, excluded, group)
    owed = part_of(kept.owed, excluded)
    if not owed:
        return ExcludedRead(
            register=register, entry=laid, document=document, excluded=ordered, group=group, untold=kept.untold
        )
    more = {**group, **owed}
    return ExcludedRead(
        register=register,
        entry=_laid(entry, document, excluded, more),
        document=document,
        excluded=ordered,
        group=more,
        untold=kept.untold,
        before=laid,
    )


def _coming(settings: Settings, register: Register, entry: Entry, names: frozenset[str]) -> Document | None:
    """The group's values of fields that have just been excluded; ``None``: they cannot be told by what is here."""
    known = register.known
    digests = {register.stored_digest, None if known is None else known.digest}
    read = reading(settings, register, kind_at(register.path), entry, _BY_SCAN)
    if read.entry is not None and read.digest in digests:
        return _part(read.entry.value, names)
    if known is None or not known.alive:
        return {}
    if known.value is not None:
        return _part(known.value, names)
    bare = laid_over(parse(entry.value), names, {})
    return {} if _digest(settings, register, bare) == known.digest else None


def _waiting(register: Register, entry: Entry) -> ExcludedRead:
    """The store has changed while a field came in: the value that the group has is asked for."""
    held = register.stored
    doubted = None if held is None else replace(held, digest=IN_DOUBT, revision=None)
    return ExcludedRead(register=replace(register, stored=doubted), entry=entry, waits=True)


def _digest(settings: Settings, register: Register, document: Document) -> Digest:
    return settings.projections.by_kind[kind_at(register.path)].digest(stored(document))


def _part(value: bytes | None, names: frozenset[str]) -> Document:
    return {} if value is None or not names else part_of(parse(value), names)


def _laid(entry: Entry, document: Document, names: Collection[str], group: Document) -> Entry:
    """An entry with the group's values in the place of the store's own."""
    laid = laid_over(document, names, group)
    return entry if laid == document else replace(entry, value=stored(laid))
