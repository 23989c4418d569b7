"""The manifest of a snapshot: what it holds, of whom, by which rules. Sealed by a checksum over itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from spark_snapshot.format.extent import WHOLE, Extent
from syncer.conflict.classes.telling import noted_fault, patterns_in
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import PreconditionFailed, SnapshotDamaged, SnapshotInvalid
from syncer.model import TieOrder

MANIFEST: Final = "MANIFEST.json"
FORMAT: Final = "pulsar-syncer-snapshot"
VERSION_OF_ALL: Final = 1
VERSION_OF_A_PART: Final = 2
"""Of a snapshot of some tenants: a program that knows no extents must not take it for the whole region."""
VERSION_WITH_EXCLUSIONS: Final = 3
"""Of one whose region has fields for itself: a program that knows none must neither compare nor restore these."""


def current_projections() -> dict[str, str]:
    """Ids of the projections of this program, by kind."""
    return {kind.value: projection.id for kind, projection in sorted(PROJECTIONS.items())}


class ManifestTable(BaseModel):
    """One table of the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_M = TypeVar("_M", bound=ManifestTable)


class CapturedRule(ManifestTable):
    """A rule of the scope that was read."""

    pattern: str
    direction: Direction


class CapturedExclusion(ManifestTable):
    """Fields that the region had for itself at the paths of a pattern."""

    pattern: str
    fields: tuple[str, ...]


class StoreFacts(ManifestTable):
    """The store that was read.

    Args:
        kind: ``zookeeper``, ``etcd``, ``sqlite``, ….
        identity: Id of the store, as its fence node has it, or its address.
        revision_before: Its revision when the reading began (a zxid, an etcd revision), up to which the rows are
            complete; empty where it has none.
        revision_after: Its revision when the reading had ended: the rows hold nothing later.
        cluster_id: Id that the store gives its cluster; empty where it gives none.
    """

    kind: str
    identity: str = ""
    revision_before: str = ""
    revision_after: str = ""
    cluster_id: str = ""


class Described(ManifestTable):
    """What is known of a snapshot apart from its rows.

    Args:
        region: Whose store it is.
        taken_at_ms: When the reading began. Units: milliseconds since the epoch, UTC.
        made_by: Program and version.
        store: The store that was read.
        registers: Whether the registers of a daemon's database took part; without them no row has a known stamp, and
            values lack the fields that brokers dropped and the daemon keeps.
        watermark: Last message of the bus that the registers had folded, per sender.
        scope: Rules of what was read, and their fingerprint.
        ties: Who wins when two stamps have the same time.
        projections: Id of the replicated part of each kind, by which the digests were made.
        tenants: What was read is theirs alone; ``None``: everything.
        exclude: Fields that the region has for itself. With registers the values have the group's in their place.
    """

    region: str = Field(min_length=1)
    taken_at_ms: int
    made_by: str
    store: StoreFacts
    registers: bool
    watermark: dict[str, int] = Field(default_factory=dict)
    scope: tuple[CapturedRule, ...]
    scope_fingerprint: str
    ties: TieOrder
    projections: dict[str, str] = Field(default_factory=current_projections)
    tenants: tuple[str, ...] | None = Field(default=None, min_length=1)
    exclude: tuple[CapturedExclusion, ...] = ()

    @property
    def extent(self) -> Extent:
        """How much of the region was read."""
        return WHOLE if self.tenants is None else Extent(frozenset(self.tenants))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of what was read, as the core has them."""
        return tuple(Rule(each.pattern, each.direction) for each in self.scope)

    @property
    def own_fields(self) -> tuple[Exclusion, ...]:
        """The excluded fields that have the store's own values: no registers took part that have the group's."""
        return () if self.registers else tuple(Exclusion(each.pattern, each.fields) for each in self.exclude)

    @property
    def version(self) -> Literal[1, 2, 3]:
        """Version of the layout that says all this."""
        if self.exclude:
            return VERSION_WITH_EXCLUSIONS
        return VERSION_OF_ALL if self.tenants is None else VERSION_OF_A_PART

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without tenants exactly what version 1 has: a manifest is sealed, and older programs know no other field."""
        document: dict[str, Any] = handler(self)
        if self.tenants is None:
            del document["tenants"]
        if not self.exclude:
            del document["exclude"]
        return document


class Count(ManifestTable):
    """Rows of one kind: alive, tombstones, rows whose stamp the group does not know, held ones."""

    alive: int = Field(ge=0)
    dead: int = Field(ge=0)
    unseen: int = Field(ge=0)
    unstamped: int = Field(ge=0)
    held: int = Field(ge=0)


class BucketFile(ManifestTable):
    """One file: one bucket, sorted by path."""

    name: str
    bucket: int = Field(ge=0)
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class SnapshotManifest(ManifestTable):
    """What a snapshot holds. ``sha256`` is over the manifest itself without that field."""

    format: Literal["pulsar-syncer-snapshot"] = FORMAT
    version: Literal[1, 2, 3] = VERSION_OF_ALL
    id: str
    taken_at: str
    about: Described
    buckets: int = Field(ge=1)
    kinds: dict[str, Count]
    files: tuple[BucketFile, ...]
    sha256: str = ""

    @model_validator(mode="after")
    def _of_its_version(self) -> Self:
        if self.version != self.about.version:
            raise ValueError("a snapshot with excluded fields has version 3, else one of some tenants 2, any other 1")
        return self

    @model_validator(mode="after")
    def _one_file_of_a_bucket(self) -> Self:
        numbers = [each.bucket for each in self.files]
        if len(set(numbers)) < len(numbers) or any(number >= self.buckets for number in numbers):
            raise ValueError(f"one file for each of its {self.buckets} buckets at most, and for no other")
        return self

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(each.rows for each in self.files)

    @property
    def alive(self) -> int:
        """Paths that the region holds."""
        return sum(each.alive for each in self.kinds.values())

    @property
    def dead(self) -> int:
        """Tombstones."""
        return sum(each.dead for each in self.kinds.values())

    def sealed(self) -> SnapshotManifest:
        """The manifest with its own checksum."""
        return self.model_copy(update={"sha256": seal_of(self)})

    def text(self) -> str:
        """The manifest as it is written."""
        return text_of(self)


def seal_of(manifest: ManifestTable) -> str:
    """The checksum of a manifest over itself, without its field ``sha256``.

    Args:
        manifest: The manifest.
    """
    content = manifest.model_dump(mode="json", exclude={"sha256"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def text_of(manifest: ManifestTable) -> str:
    """A manifest as it is written.

    Args:
        manifest: The manifest.
    """
    return json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_manifest(text: bytes, where: str) -> SnapshotManifest:
    """Read a manifest.

    Args:
        text: The file.
        where: Its place, for the messages.

    Raises:
        SnapshotInvalid: It is none, or one of another version.
        SnapshotDamaged: It is not as it was written.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise SnapshotDamaged(f"{where} cannot be read: {exc}") from exc
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SnapshotInvalid(f"{where} is no manifest of a snapshot")
    if document.get("version") not in (VERSION_OF_ALL, VERSION_OF_A_PART, VERSION_WITH_EXCLUSIONS):
        raise SnapshotInvalid(
            f"{where} has layout version {document.get('version')!r}; this program reads versions {VERSION_OF_ALL} to "
            f"{VERSION_WITH_EXCLUSIONS}",
            hint="Read it with the version of pulsar-syncer that wrote it, or take a new snapshot.",
        )
    about = document.get("about")
    tables = (about.get("scope"), about.get("exclude")) if isinstance(about, dict) else ()
    if (fault := noted_fault(patterns_in(*tables))) is not None:
        raise SnapshotInvalid(
            f"{where} has {fault}",
            hint="No snapshot of this program has so many; use another one, or ask who has made it.",
        )
    return validated(SnapshotManifest, document, where)


def validated(of: type[_M], document: Mapping[str, Any], where: str) -> _M:
    """Make a manifest of a document.

    Args:
        of: The manifest's class.
        document: What the file holds.
        where: Its place, for the messages.

    Raises:
        SnapshotDamaged: It is not as it was written.
    """
    try:
        manifest = of.model_validate(document)
    except ValidationError as exc:
        first = exc.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise SnapshotDamaged(f"{where} is not as it was written: {field}: {first['msg']}") from exc
    if document.get("sha256") != seal_of(manifest):
        raise SnapshotDamaged(f"{where} is not as it was written: its checksum is another")
    return manifest


def check_noted(region: str, rules: Scope, exclusions: Exclusions) -> None:
    """Refuse a snapshot that nobody would read, before it is taken.

    Raises:
        PreconditionFailed: The region has more rules, or longer ones, than a manifest may have.
    """
    patterns = [each.pattern for each in rules.rules] + [each.pattern for each in exclusions.rules]
    if (fault := noted_fault(patterns)) is not None:
        raise PreconditionFailed(
            f"the scope of region {region} has {fault}, from a snapshot too",
            hint="Say the same with fewer rules and wildcards in 'scope.rules' and 'scope.exclude'.",
        )


def described_scope(scope: Scope) -> tuple[CapturedRule, ...]:
    """The rules of a scope as the manifest has them."""
    return tuple(CapturedRule(pattern=rule.pattern, direction=rule.direction) for rule in scope.rules)


def described_exclusions(exclusions: Exclusions) -> tuple[CapturedExclusion, ...]:
    """Excluded fields as the manifest has them."""
    return tuple(CapturedExclusion(pattern=each.pattern, fields=each.fields) for each in exclusions.rules)
