"""Completing, against version skew: an author fills in the fields that its own brokers do not know (rule 15).

A region goes by whole documents: what its store holds, and the kept fields that brokers have dropped from it. So
digests, stamps, events and plans are those of whole documents, and every other rule stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from syncer.conflict.acts import Act, Decision, Journal, Moment, Need, Outcome, RecordConflict
from syncer.conflict.causality.order import Relation
from syncer.conflict.fields.brokers import Brokers, refusal
from syncer.conflict.fields.kept import (
    Completed,
    Document,
    KeptFields,
    any_known,
    completed,
    joined_parts,
    lacks,
    newer_part,
    without,
)
from syncer.conflict.fields.own import excluding, laid_over, localized, part_of
from syncer.conflict.fields.tolerance import all_namings
from syncer.conflict.guards import Facts
from syncer.conflict.projection import OWN_ALONE, PROJECTIONS, Projection, is_plain, parse, stored
from syncer.conflict.register import Intent, Register
from syncer.conflict.settings import Settings
from syncer.errors import ValueInvalid
from syncer.making import made_quickly
from syncer.model import Digest, MetadataChangeEvent, MetaPath, ResourceKind, Version
from syncer.paths import classify, kind_at, scaffold
from syncer.replacing import replace
from syncer.stores.contract import Entry, Put

DROPPED: Final = "fields-dropped"
"""Reason of a conflict: the winner's author does not complete, and its value lacks fields that stood here."""
_NOTHING: Final = KeptFields()
AWAITING: Final = KeptFields()
"""Kept of a path of which nothing is stored: what its store holds is judged once the group's value has come.

A lost database has met it: whenever that is, what differs is of unknown provenance, and no change.
"""


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What a valid read of a path means.

    Args:
        entry: What was read, completed.
        digest: Of its projection; ``None``: nothing stands there.
        kept: The kept fields from now on.
        asks: It would be a removal by who knows the field, and the brokers were not asked for that since.
        stood: The value without what was owed, and its digest; ``None``: nothing of that has completed it.
    """

    entry: Entry | None
    digest: Digest | None
    kept: KeptFields | None
    asks: bool = False
    stood: tuple[bytes, Digest] | None = None

    @property
    def values(self) -> tuple[bytes, ...]:
        """The values that it may stand for: with the fields that were kept, and without what was owed."""
        found = () if self.entry is None else (self.entry.value,)
        return found if self.stood is None else (*found, self.stood[0])


def reading(
    settings: Settings,
    register: Register,
    kind: ResourceKind,
    entry: Entry | None,
    moment: Moment,
    *,
    found_as: Document | None = None,
) -> Understood:
    """Understand what was read of a path; an empty inner node holds nothing.

    Args:
        settings: The region's settings.
        register: The path's register.
        kind: Of the path.
        entry: What was read.
        moment: When it was read.
        found_as: The document that stands in the store, where others' values were laid over it: who wrote it is told
            by that one alone. ``None``: it is the entry's.

    Raises:
        ValueInvalid: The value cannot be understood, is ephemeral, or became empty under a living path.
    """
    if entry is None:
        return Understood(entry=None, digest=None, kept=None)
    if entry.ephemeral:
        raise ValueInvalid("an ephemeral node stands here; it belongs to one session and is never replicated")
    if entry.value == OWN_ALONE:
        return Understood(entry=replace(entry, value=b""), digest=None, kept=None)
    if not entry.value:
        if register.stored_alive:
            raise ValueInvalid("the value became empty, which no broker can read")
        return Understood(entry=entry, digest=None, kept=None)
    projection, brokers = settings.projections.by_kind[kind], settings.brokers
    if brokers is None:
        return Understood(entry=entry, digest=projection.digest(entry.value), kept=None)
    document, before = parse(entry.value), _kept_so_far(settings, register, kind, brokers)
    if before is None:  # as of nearly all values: nothing can lack
        present = brokers.newer(kind, document)
        kept = KeptFields(present) if present else None
        return Understood(entry=entry, digest=projection.digest_of(document), kept=kept)
    found = completed(
        before,
        document,
        brokers.trees(kind, document if found_as is None else found_as),
        believes=register.stored_alive and not moment.by_scan,
    )
    kept = None if found.kept.empty else found.kept
    asks = found.removes and not moment.vouched
    if not found.added:
        return Understood(entry=entry, digest=projection.digest_of(document), kept=kept, asks=asks)
    whole, stood = stored(found.document), None
    if found.stood is not None:
        value = stored(found.stood)
        stood = value, projection.digest(value)
    return Understood(
        entry=replace(entry, value=whole),
        digest=projection.digest(whole),
        kept=kept,
        asks=asks,
        stood=stood,
    )


def readable_here(brokers: Brokers | None, kind: ResourceKind, raw: Entry | None, entry: Entry | None) -> Entry | None:
    """Return what was read, in plain JSON, once it is sure that the brokers of the region can read it.

    Args:
        brokers: Of the region; ``None``: nothing is known of them.
        kind: Of the path.
        raw: As it stands in the store.
        entry: The part of it that may leave the store.

    Raises:
        ValueInvalid: A broker of the region cannot read what stands there, or this program cannot.
    """
    if raw is None or entry is None or not raw.value or raw.ephemeral:
        return entry
    document = parse(raw.value)
    by_the_letter = stored(document) == raw.value
    if not by_the_letter:  # by white space, most often
        document = all_namings(raw.value)
    if (why := refusal(brokers, kind, document)) is not None:
        raise ValueInvalid(f"brokers here cannot read it: {why}")
    if by_the_letter or entry.value == OWN_ALONE or is_plain(entry.value):
        return entry
    return replace(entry, value=stored(parse(entry.value)))


def _kept_so_far(settings: Settings, register: Register, kind: ResourceKind, brokers: Brokers) -> KeptFields | None:
    """The kept fields; where nothing is stored, those of what the group knows are the first. ``None``: none."""
    if register.stored_alive:
        return _shareable(settings.projections.by_kind[kind], register.kept)
    known = register.known
    gone = None if known is None or known.value is None else brokers.newer(kind, parse(known.value))
    return KeptFields(gone=gone) if gone else None


def _shareable(projection: Projection, kept: KeptFields | None) -> KeptFields | None:
    """Kept fields without those that are withheld: a projection before may have kept some."""
    withheld = projection.withheld
    if kept is None or not withheld or withheld.isdisjoint((*kept.store, *kept.gone, *kept.owed, *kept.group)):
        return kept
    left = replace(
        kept,
        store=projection.shareable(kept.store),
        gone=projection.shareable(kept.gone),
        owed=projection.shareable(kept.owed),
        group=projection.shareable(kept.group),
    )
    return kept if left == kept else left


def without_withheld(register: Register) -> Register:
    """A register without what the newest projection withholds; the very register where it has nothing of that."""
    resource = classify(register.path)
    if resource is None:
        return register
    projection, known, intent = PROJECTIONS[resource.kind], register.known, register.intent
    kept = _shareable(projection, register.kept)
    left = register if kept is register.kept else replace(register, kept=kept)
    if known is not None and known.value is not None:
        value = projection.carried(known.value)
        if value is not known.value:
            left = replace(left, known=replace(known, value=value))
    if intent is not None and (kept := _shareable(projection, intent.kept)) is not intent.kept:
        left = replace(left, intent=replace(intent, kept=kept))
    return left


def completes(register: Register, value: bytes) -> bytes:
    """A stored value of a path with the kept fields that it lacks; one that cannot be read stays as it is."""
    return completed_value(register.path, value, register.kept)


def completed_value(path: MetaPath, value: bytes, kept: KeptFields | None) -> bytes:
    """What :func:`completes` says of a path and its kept fields, for who has no register at hand."""
    value = _in_group(value, kept)
    found = _filled(path, value, kept)
    return value if found is None else stored(found.document)


def missing_fields(path: MetaPath, value: bytes, kept: KeptFields | None) -> Document:
    """The kept fields that a stored value lacks, nested ones in their objects."""
    found = _filled(path, value, kept)
    return {} if found is None else found.kept.gone


def _in_group(value: bytes, kept: KeptFields | None) -> bytes:
    """A stored value with the group's values of the fields that are excluded; one that cannot be read as it is."""
    if kept is None or not kept.excluded:
        return value
    try:
        return stored(laid_over(parse(value), kept.excluded, kept.group))
    except ValueInvalid:
        return value


def _filled(path: MetaPath, value: bytes, kept: KeptFields | None) -> Completed | None:
    resource = classify(path)
    if kept is None or resource is None or not kept.gone:
        return None
    try:
        document = parse(value)
    except ValueInvalid:
        return None
    found = completed(KeptFields(gone=kept.gone), document, Brokers().trees(resource.kind, document), believes=False)
    return found if found.added else None


def kept_of(settings: Settings, kind: ResourceKind, document: Document | None) -> KeptFields | None:
    """The kept fields of a whole document that is written to the store."""
    if settings.brokers is None or document is None or PROJECTIONS[kind].replicated is not None:
        return None  # what a kind with secrets does not carry stays in its store
    part = settings.projections.by_kind[kind].shareable(settings.brokers.newer(kind, document))
    return KeptFields(part) if part else None


def first_kept(settings: Settings, register: Register, entry: Entry) -> KeptFields | None:
    """The kept fields of a value that stands where it stood, for a register that was left without, or with fewer."""
    if not register.stored_alive or not entry.value or settings.brokers is None:
        return None
    try:
        found = kept_of(settings, kind_at(register.path), parse(entry.value))
    except ValueInvalid:
        return None
    if found is None or register.kept is None:
        return found
    return replace(register.kept, store=joined_parts(register.kept.store, found.store))


def keeps_more(settings: Settings, register: Register, entry: Entry) -> bool:
    """Whether a value has fields to keep; see :meth:`syncer.conflict.replica.Replica.keeps_more`."""
    found = first_kept(settings, register, entry)
    return found is not None and (register.kept is None or lacks(register.kept.store, found.store))


def has_more(settings: Settings, register: Register, other: bytes) -> bool:
    """Whether the store was read to hold kept fields that another region's value lacks."""
    kept = register.kept
    return settings.brokers is not None and kept is not None and lacks(parse(other), kept.store)


def awaits_value(settings: Settings, register: Register, read: Understood) -> bool:
    """Whether what the store holds cannot be judged yet: the group's value, known by digest alone, may complete it."""
    known = register.known
    if (
        known is None
        or register.stored is not None
        or (settings.brokers is None and not settings.excluded(register.path))
    ):
        return False
    return known.alive and known.value is None and read.digest is not None


def owed(settings: Settings, folded: Register, event: MetadataChangeEvent, relation: Relation) -> Register:
    """Take the fields of another region's value that this region's brokers may never have known.

    What was found here at first contact, or made here, and has met nobody yet, lacks them without evidence: the next
    read completes it by them. Who had seen an earlier value has met it: what that one has and this region has not may
    have been removed here since; so may what all brokers here know, once somebody has changed the value. Where the
    stored value wins it is its author who completes it.
    """
    stands, known, value, by = folded.stored, folded.known, event.value, settings.by
    kept = folded.kept or _NOTHING
    if settings.brokers is None and not kept.untold:
        return folded
    if value is None or stands is None or stands.digest is None or known is None:
        return folded
    if relation is Relation.ANCESTOR or relation is Relation.SAME or not event.seen.keys().isdisjoint(stands.seen):
        return folded
    if known.stamp != event.stamp and (stands.by != by or stands.seen.keys() - {by}):
        return folded
    document, part = parse(value), Document()
    if settings.brokers is not None:
        tree = settings.brokers.always(event.resource)
        if not stands.stamp.is_baseline:
            tree = {**tree, **settings.brokers.known(event.resource)}
        part = newer_part(document, tree)
    more = without(without(part, kept.store), joined_parts(kept.gone, kept.owed))
    if kept.excluded:
        more = laid_over(more, kept.excluded, part_of(document, set(kept.untold) - kept.owed.keys()))
    if not more:
        return folded
    owing = replace(kept, owed=joined_parts(kept.owed, more))
    intent = folded.intent
    if intent is not None and intent.version.stamp == stands.stamp:  # what is written back stands there when it lands
        intent = replace(intent, kept=replace(intent.kept or _NOTHING, owed=owing.owed))
    return replace(folded, kept=owing, stored=replace(stands, revision=None), intent=intent)


def dropped(settings: Settings, register: Register, event: MetadataChangeEvent, version: Version) -> tuple[Act, ...]:
    """Keep what is about to be lost: the author of a newer value does not complete, and lacks kept fields.

    Args:
        settings: The region's settings.
        register: The path's register, before the event was folded.
        event: The event.
        version: The version that it stands for.
    """
    kept, stands = register.kept, register.stored
    if settings.brokers is None or event.whole or kept is None or stands is None or event.value is None:
        return ()
    document = parse(event.value)
    if not (lacks(document, kept.store) or lacks(document, kept.gone)):
        return ()
    record = RecordConflict(
        path=register.path,
        loser=stands.stamp,
        loser_seen=stands.seen,
        loser_digest=stands.digest,
        value=None,
        winner=version.stamp,
        reason=DROPPED,
    )
    return (record,)


def owes(settings: Settings, register: Register) -> bool:
    """Whether the store lacks kept fields that all brokers know by now: they are written back before any is judged."""
    kept, brokers, resource = register.kept, settings.brokers, classify(register.path)
    if kept is None or brokers is None or resource is None or not kept.gone or not register.stored_alive:
        return False
    if register.due or register.intent is not None or register.hold is not None:
        return False
    return any_known(kept.gone, brokers.always(resource.kind), brokers.known(resource.kind))


def write_back(settings: Settings, register: Register, entry: Entry | None, facts: Facts, batch: str) -> Outcome:
    """Decide the write that gives the store back what it lacks; nothing else changes by it."""
    stands, kept = register.stored, register.kept
    if not owes(settings, register) or stands is None or kept is None or facts.outbox_open or not facts.applies:
        return Outcome(register)
    if entry is None or stands.revision is None or entry.revision != stands.revision:
        return Outcome(register, (), Need.READ if entry is not None and stands.revision is None else Need.NOTHING)
    whole = parse(completes(register, entry.value))
    written = localized(whole, parse(entry.value), kept.excluded)
    if refusal(settings.brokers, kind_at(register.path), written) is not None:
        return Outcome(register)  # what a broker here cannot read is not given back to it
    version = Version(stamp=stands.stamp, by=stands.by, seen=stands.seen, digest=stands.digest)
    intent = Intent(
        batch=batch,
        version=version,
        expected=entry.revision,
        kept=excluding(kept_of(settings, kind_at(register.path), whole), kept.excluded, kept.group, kept.untold),
    )
    note = Journal(path=register.path, decision=Decision.COMPLETED, stamp=stands.stamp, digest=stands.digest)
    write = Put(path=register.path, value=stored(written), expected=entry.revision, scaffold=scaffold(register.path))
    return Outcome(replace(register, intent=intent), (note,), Need.NOTHING, write)
