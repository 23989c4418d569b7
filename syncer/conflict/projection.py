"""Projections: the replicated part of a value, its canonical form and digest, and its overlay on a local value.

Invariants: ``project(overlay(p, any)) == p`` and ``digest`` depends on the projection alone, never on the order of
keys, of set members, on white space, or on fields that belong to one cluster.

A projection has an id. Regions compare ids before digests: only equal ids make digests comparable.

Numbers: integers outside 64 bits are kept exactly. Everything else is serialised by one library, in all regions for
ever, because canonical bytes of floats differ between libraries.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Final, cast

import orjson

from syncer.conflict.fields.offloading import FIELDS, own_part, shared_part
from syncer.conflict.fields.own import LOCAL, REPLICATED
from syncer.conflict.fields.table import derived_fields, written_defaults
from syncer.conflict.fields.tolerance import finite, first_value, refuse_constant
from syncer.conflict.fields.unordered import Places, places_of, sort_at
from syncer.errors import ValueInvalid
from syncer.model import Digest, ResourceKind

Document = dict[str, Any]
"""A parsed JSON object."""

DIGEST_BYTES: Final = 16

WITHHELD: Final = b"withheld: what cannot be read may hold a secret"
"""Stands for a value that cannot be read, of a kind that has secrets."""
OWN_ALONE: Final = b"own fields alone"
"""Stands for a value that has nothing but withheld fields, of a kind that is no resource without others."""
_ESCAPED: Final = b"\\u"
_UNICODE_ESCAPE: Final = re.compile(rb"\\u00([0-7][0-9a-fA-F])")
_HIDDEN: Final = (_ESCAPED, b"redential", b"f\x00f\x00l\x00o", b"r\x00e\x00d\x00e\x00n")
"""Bytes of a value whose withheld fields may be there without their plain names: escapes, a torn document, UTF-16."""

_JSON_TYPES: Final[Mapping[type, str]] = {
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    NoneType: "null",
}

_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_BIG_INTEGER: Final = b"0" * 19
"""So many digits in a row, made zeros: perhaps an integer beyond 64 bits. A tenth of a regular expression's cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """How one kind of resource is compared and carried.

    Args:
        id: Changes whenever digests of this kind change.
        local: Top-level fields that each cluster keeps for itself (derived, or cluster-local).
        derived: Top-level fields that brokers work out of others whenever they write, and never read: they are neither
            compared nor written.
        unset: Top-level fields that some versions write where nothing is set, with what they write: absent is the same.
        replicated: The only fields that are carried, where a kind has secrets: every other one is local, known or not,
            and leaves the store in no form. ``None``: all but the local ones are carried.
        born_with: Local fields that a resource takes from its author when it is created at a target.
        defaults: Local fields that a resource gets at creation, whatever its author has.
        sets: Places of arrays whose order means nothing (``*``: any key); none lies in another.
        withheld: Local fields that hold credentials. They leave the store in no form; a write keeps the target's own.
        bare: Fields that make no resource by themselves, where a document has withheld ones; ``None``: any document
            is a resource.
        shared: The withheld fields of which a part is carried all the same: the policies of offloading.
    """

    id: str
    local: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    unset: Mapping[str, Any] = field(default_factory=dict)
    replicated: frozenset[str] | None = None
    born_with: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    sets: tuple[tuple[str, ...], ...] = ()
    withheld: frozenset[str] = frozenset()
    bare: frozenset[str] | None = None
    shared: frozenset[str] = frozenset()
    _places: Places = field(init=False, repr=False, compare=False)
    _apart: frozenset[str] = field(init=False, repr=False, compare=False)
    _marks: tuple[bytes, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(f'"{name}"'.encode() for name in sorted(self.withheld))
        object.__setattr__(self, "_marks", (*names, *_HIDDEN) if names else ())
        object.__setattr__(self, "_places", places_of(self.sets))  # the only way in a frozen class
        object.__setattr__(self, "_apart", self.local | self.derived)

    def project(self, value: bytes) -> Document:
        """Return the replicated part of a stored value.

        Raises:
            ValueInvalid: The value is no JSON object.
        """
        return self._projected(parse(value))

    def digest(self, value: bytes) -> Digest:
        """Hash the canonical bytes of the replicated part. Raises like :meth:`project`."""
        return self.digest_of(parse(value))

    def digest_of(self, document: Document) -> Digest:
        """The digest of a parsed value, which it takes apart: nobody else may go by the document after that."""
        return Digest(hashlib.blake2b(canonical(self._projected(document)), digest_size=DIGEST_BYTES).digest())

    def overlay(self, author: bytes, target: bytes | None) -> bytes:
        """Lay the author's replicated part over the target's own value; see :meth:`laid`."""
        return stored(self.laid(author, None if target is None else parse(target)))

    def laid(self, author: bytes, target: Document | None) -> Document:
        """Lay the author's replicated part over the target's own value; without one, apply the create rule.

        Unknown fields of the author are carried; local fields are the target's own, and shared with it. What the target
        says by name and means by itself stays.
        """
        document = parse(author)
        if target is None:
            own = {name: document[name] for name in self.born_with if name in document} | dict(self.defaults)
        else:
            own = self.own(target)
            own |= {name: target[name] for name in self.unset if name not in document and self._is_unset(target, name)}
        document = self._without_local(document)
        document.update(sorted(self._beside(document, own).items()))
        return document

    def own(self, document: Document) -> Document:
        """The local fields of a stored document."""
        if self.replicated is not None:
            return {name: node for name, node in document.items() if name not in self.replicated}
        return self._own_of(document, self.local)

    def _own_of(self, document: Document, names: Iterable[str]) -> Document:
        """The store's own part of fields with these names."""
        found = {name: document[name] for name in names if name in document}
        for name in self.shared & found.keys():
            if (own := own_part(found[name])) is None:
                del found[name]
            else:
                found[name] = own
        return found

    def _beside(self, document: Document, own: Document) -> Document:
        """A store's own fields, with the shared parts that a document has of them."""
        parts = {name: document[name] for name in self.shared & document.keys()}
        return own | {
            name: {**below, **part} if isinstance(below := own.get(name), dict) else part
            for name, part in parts.items()
        }

    def shareable(self, document: Document) -> Document:
        """Return a document without what is withheld; the very document where it has nothing of that."""
        if self.withheld.isdisjoint(document):
            return document
        parts = {name: shared_part(document[name]) for name in self.shared & document.keys()}
        found = {
            name: parts.get(name, node)
            for name, node in document.items()
            if name not in self.withheld or parts.get(name)
        }
        return document if found == document else found

    def carried(self, value: bytes) -> bytes:
        """What of a stored value may leave its store: all of it, but where the kind has secrets.

        Of a kind that names what is replicated it is the projection and what a resource is born with, but for an
        address that holds a login, in canonical bytes. Of any other kind it is all but the withheld fields, and the
        very value where none is there. It has the digest of the whole. A value that cannot be read and may hold a
        secret is replaced whole, and stays unreadable. What brokers read though it is no plain JSON leaves as such.
        """
        value = plain(value)
        if self.replicated is None:
            return self._without_withheld(value) if self._may_hold_withheld(value) else value
        try:
            document = parse(value)
            return canonical(
                {
                    name: node
                    for name, node in document.items()
                    if name in self.replicated or (name in self.born_with and not _has_login(node))
                }
            )
        except ValueInvalid:
            return WITHHELD

    def left_alone(self, document: Document) -> Document:
        """Return the fields that stay where a remote delete arrives, of a kind that is no resource with those alone."""
        if self.bare is None or self.withheld.isdisjoint(document):
            return {}
        left = self._own_of(document, self.withheld)
        return left | {name: document[name] for name in self.bare if name in document} if left else {}

    def with_own_withheld(self, value: bytes | None, target: bytes | None) -> bytes | None:
        """A value as it is to stand in a store: with the withheld fields that stand there, and no others.

        Args:
            value: ``None``: nothing is to stand there but what :meth:`left_alone` keeps.
            target: What stands there; ``None``: nothing.

        Raises:
            ValueInvalid: The value was withheld whole, since it could not be read.
        """
        if not self.withheld or (target is None and value is None):
            return value
        if value == WITHHELD:
            raise ValueInvalid("the value could not be read and may hold a secret, so that it was not taken along")
        try:
            present = {} if target is None or not self._may_hold_withheld(target) else parse(target)
        except ValueInvalid:
            present = {}
        if value is None:
            left = self.left_alone(present)
            return stored(left) if left else None
        own, value = self._own_of(present, self.withheld), self.carried(value)
        if not own:
            return value
        document = parse(value)
        return stored({**document, **self._beside(document, own)})

    def own_alone(self, value: bytes) -> bool:
        """Whether a stored value has nothing but withheld fields, and so is no resource of the group."""
        if self.bare is None or not self._may_hold_withheld(value):
            return False
        try:
            document = parse(value)
        except ValueInvalid:
            return False
        if self.withheld.isdisjoint(document) or any(shared_part(document.get(name)) for name in self.shared):
            return False
        return not any(
            name not in self._apart and name not in self.bare and node not in (None, [], {})
            for name, node in document.items()
        )

    def names_withheld(self, text: bytes) -> bool:
        """Whether bytes name a withheld field, or hold a piece of one."""
        return any(mark in text for mark in self._marks if mark != _ESCAPED)

    def _may_hold_withheld(self, value: bytes) -> bool:
        for mark in self._marks:  # noqa: SIM110 - this is asked of every value, and a generator costs twice as much
            if mark in value:
                return True
        return False

    def _without_withheld(self, value: bytes) -> bytes:
        try:
            document = parse(value)
            if self.withheld.isdisjoint(document):
                return value if is_plain(value) else stored(document)
            text = stored(self.shareable(document))
            return value if text == value else text  # a field that is there twice is read once
        except ValueInvalid:
            plain = _UNICODE_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), value)
            return WITHHELD if self.names_withheld(plain) else value

    def _projected(self, document: Document) -> Document:
        document = self._without_local(document)
        for name in self.unset:
            if self._is_unset(document, name):
                del document[name]
        sort_at(document, self._places)
        return document

    def _is_unset(self, document: Document, name: str) -> bool:
        """Whether a field has by name what is meant where it lacks; 1 is not true."""
        value = self.unset[name]
        return name in document and document[name] == value and type(document[name]) is type(value)

    def _without_local(self, document: Document) -> Document:
        if self.replicated is not None:
            return {name: node for name, node in document.items() if name in self.replicated}
        for name in self._apart:
            if name in document:
                if name in self.shared and (part := shared_part(document[name])):
                    document[name] = part
                else:
                    del document[name]
        return document


PROJECTIONS: Final[Mapping[ResourceKind, Projection]] = {
    ResourceKind.TENANT: Projection(id="tenant/1", sets=(("adminRoles",), ("allowedClusters",))),
    ResourceKind.NAMESPACE: Projection(
        id="namespace/3",
        unset=written_defaults(ResourceKind.NAMESPACE),
        local=LOCAL[ResourceKind.NAMESPACE] | {"offload_policies"},
        withheld=frozenset({"offload_policies"}),
        born_with=frozenset({"bundles"}),
        defaults={"deleted": False, "migrated": False},
        sets=(
            ("replication_clusters",),
            ("allowed_clusters",),
            ("subscription_types_enabled",),
            ("auth_policies", "namespace_auth", "*"),
            ("auth_policies", "destination_auth", "*", "*"),
            ("auth_policies", "subscription_auth_roles", "*"),
        ),
    ),
    ResourceKind.PARTITIONED_TOPIC: Projection(
        id="partitioned-topic/1", local=LOCAL[ResourceKind.PARTITIONED_TOPIC], defaults={"deleted": False}
    ),
    ResourceKind.CLUSTER: Projection(
        id="cluster/2",
        replicated=REPLICATED[ResourceKind.CLUSTER],
        born_with=frozenset(
            {
                "serviceUrl",
                "serviceUrlTls",
                "brokerServiceUrl",
                "brokerServiceUrlTls",
                "proxyServiceUrl",
                "proxyProtocol",
                "listenerName",
                "brokerClientTlsEnabled",
            }
        ),
        sets=(("peerClusterNames",),),
    ),
    ResourceKind.RESOURCE_GROUP: Projection(id="resource-group/1"),
    ResourceKind.ISOLATION_POLICY: Projection(id="isolation-policy/1"),
    ResourceKind.TOPIC_POLICY: Projection(
        id="topic-policy/3",
        derived=derived_fields(ResourceKind.TOPIC_POLICY),
        local=frozenset({"offloadPolicies"}),
        withheld=frozenset({"offloadPolicies"}),
        bare=frozenset({"isGlobal"}),
    ),
}
"""The newest projection of each kind. ``deleted`` is local: a namespace marked as being deleted is no change, but its
delete is.

A cluster's data hold how brokers log in to it (plugin and parameters, passwords of key stores, files of keys), so only
what is named is carried: ``cluster/1`` carried all but the state of a migration. Policies of offloading hold keys of an
object store, and a bucket that is as local as an address: ``namespace/2`` and ``topic-policy/2`` carried them.
``namespace/1`` told a default that is written out from one that is absent; ``topic-policy/1`` compared and carried what
brokers derive.
"""

_NOTHING_WITHHELD: Final = frozenset[str]()
FORMER: Final[Mapping[ResourceKind, Projection]] = {
    ResourceKind.NAMESPACE: replace(
        PROJECTIONS[ResourceKind.NAMESPACE],
        id="namespace/2",
        local=PROJECTIONS[ResourceKind.NAMESPACE].local - PROJECTIONS[ResourceKind.NAMESPACE].withheld,
        withheld=_NOTHING_WITHHELD,
    ),
    ResourceKind.TOPIC_POLICY: replace(
        PROJECTIONS[ResourceKind.TOPIC_POLICY],
        id="topic-policy/2",
        local=_NOTHING_WITHHELD,
        withheld=_NOTHING_WITHHELD,
        bare=None,
    ),
}
"""The projections before, which a group works by until all of its members can work by the newest."""

CARRYING: Final[Mapping[ResourceKind, Projection]] = {
    kind: replace(PROJECTIONS[kind], id=f"{PROJECTIONS[kind].id}+offload", shared=frozenset({name}))
    for kind, name in FIELDS.items()
}
"""Those that carry a part of the policies of offloading: a group works by them while all members are set to.

Each tells apart whatever the newest one does, and is told apart by all before.
"""

FORMERS: Final[Mapping[ResourceKind, tuple[Projection, ...]]] = {
    ResourceKind.NAMESPACE: (
        FORMER[ResourceKind.NAMESPACE],
        replace(FORMER[ResourceKind.NAMESPACE], id="namespace/1", unset={}),
    ),
    ResourceKind.TOPIC_POLICY: (
        FORMER[ResourceKind.TOPIC_POLICY],
        replace(FORMER[ResourceKind.TOPIC_POLICY], id="topic-policy/1", derived=frozenset()),
    ),
}
"""All projections before that a group may work by, the newest first. Each tells apart whatever a newer one does."""


def carried(kind: ResourceKind, value: bytes) -> bytes:
    """Return the part of a stored value that may leave its store; see :meth:`Projection.carried` of the newest one."""
    return PROJECTIONS[kind].carried(value)


def parse(value: bytes) -> Document:
    """Parse a stored value into an object, keeping every integer exact.

    What brokers read all the same is read as they read it: see :mod:`syncer.conflict.fields.tolerance`.

    Raises:
        ValueInvalid: No JSON, not an object, or a number that JSON does not have (NaN, Infinity).
    """
    try:
        document = json_in(value)
    except (ValueError, RecursionError) as exc:
        try:
            document = first_value(value)
        except (ValueError, RecursionError):
            raise ValueInvalid(f"no JSON: {json_fault(exc)}") from exc
    if not isinstance(document, dict):
        raise no_object(document)
    return cast("Document", document)


def plain(value: bytes) -> bytes:
    """A stored value as plain JSON: with a byte order mark, in UTF-16 or with more behind its end it is written anew.

    One that begins and ends like an object is not looked into.
    """
    if (value.startswith(b"{") and value.endswith(b"}")) or is_plain(value):
        return value
    try:
        return stored(parse(value))
    except ValueInvalid:
        return value


def is_plain(value: bytes) -> bool:
    """Whether a value is JSON by the letter, with nothing around it."""
    try:
        json_in(value)
    except (ValueError, RecursionError):
        return False
    return True


def json_of(node: object) -> bytes:
    """Serialise anything that was parsed here. Raises like :func:`canonical`."""
    return _dump(node, sort=False)


def json_in(data: bytes) -> object:
    """Parse what :func:`json_of` has written, every integer exact."""
    return _parse_exactly(data) if _BIG_INTEGER in data.translate(_DIGITS) else orjson.loads(data)


def no_object(document: object) -> ValueInvalid:
    """The error of JSON that is something else than an object."""
    return ValueInvalid(f"a JSON object is due, found {_JSON_TYPES[type(document)]}")


def json_fault(exc: ValueError | RecursionError) -> str:
    """Why something is no JSON, in words of the format and not of the parser."""
    if isinstance(exc, UnicodeError) or "not valid UTF-8" in str(exc):
        return "not UTF-8"
    return "nested too deeply" if isinstance(exc, RecursionError) else str(exc)


def canonical(document: Document) -> bytes:
    """Serialise with sorted keys and no white space. Equal documents give equal bytes.

    Raises:
        ValueInvalid: The document holds text that UTF-8 cannot carry (a lone surrogate).
    """
    return _dump(document, sort=True)


def stored(document: Document) -> bytes:
    """Serialise as it is stored, the fields in their order. Raises like :func:`canonical`."""
    return _dump(document, sort=False)


def _has_login(node: object) -> bool:
    """Whether an address names a user, and perhaps the password."""
    return not isinstance(node, bool) and "@" in str(node)


def _dump(document: object, *, sort: bool) -> bytes:
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS if sort else None)
    except orjson.JSONEncodeError:
        pass  # an integer outside 64 bits, or text that is no Unicode: the exact serialiser tells them apart
    try:
        return json.dumps(document, sort_keys=sort, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as exc:
        raise ValueInvalid(f"cannot be written as JSON: {json_fault(exc)}") from exc


def _parse_exactly(value: bytes) -> object:
    """Parse with integers of any size, and refuse what the other parser refuses."""
    return json.loads(value.decode(), parse_constant=refuse_constant, parse_float=finite)
