"""The form of a backup: which file holds a resource, how it is written there, and the manifest.

A file is one JSON array of resources in the order of their paths, indented, so that it reads well, compares line by
line (``git diff``), and can be read and written as a stream: a resource begins at ``  {`` and ends at ``  }``.

Files: one per tenant and kind (``tenants/acme/namespaces.json``), one per kind for what has no tenant
(``resource-groups.json``). So their number follows the tenants, not the topics.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any, Final, Literal, Self
from urllib.parse import quote

import orjson
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from syncer.conflict.projection import canonical, no_object, parse
from syncer.conflict.settings import Direction
from syncer.errors import BackupDamaged, InvariantBroken, ValueInvalid
from syncer.model import MetaPath, ResourceKind
from syncer.paths import classify, tenant_of

MANIFEST: Final = "MANIFEST.json"
FORMAT: Final = "pulsar-syncer-backup"
FORMAT_VERSION: Final = 1
VERSION_OF_INCOMPLETE: Final = 2
"""Of a backup whose values are as brokers left them: a program that knows no kept fields must not restore it."""

OPENING: Final = "[\n"
CLOSING: Final = "]\n"
_BEGIN: Final = "  {\n"
_ENDS: Final = frozenset({"  }\n", "  },\n"})

_FILE_OF_KIND: Final = {
    ResourceKind.TENANT: "tenant",
    ResourceKind.NAMESPACE: "namespaces",
    ResourceKind.PARTITIONED_TOPIC: "partitioned-topics",
    ResourceKind.TOPIC_POLICY: "topic-policies",
    ResourceKind.CLUSTER: "clusters",
    ResourceKind.ISOLATION_POLICY: "isolation-policies",
    ResourceKind.RESOURCE_GROUP: "resource-groups",
}
_MAX_NAME_CHARS: Final = 120


class Part(BaseModel):
    """One table of the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ScopeRule(Part):
    """A rule of the scope that the backup covers."""

    pattern: str
    direction: Direction


class FileRecord(Part):
    """One file of the backup."""

    name: str
    resources: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Manifest(Part):
    """What a backup holds. ``sha256`` is over the manifest itself without that field.

    Args:
        completed: Whether the values have the fields that brokers dropped and the daemon keeps; ``False``: its database
            was not at hand, and newer fields that a value lacks are unknown.
    """

    format: Literal["pulsar-syncer-backup"] = FORMAT
    version: Literal[1, 2] = FORMAT_VERSION
    region: str
    clusters: tuple[str, ...]
    taken_at_ms: int
    taken_at: str
    made_by: str
    scope: tuple[ScopeRule, ...]
    resources: dict[str, int]
    files: tuple[FileRecord, ...]
    completed: bool = True
    sha256: str = ""

    @model_validator(mode="after")
    def _of_its_version(self) -> Self:
        if self.version != (FORMAT_VERSION if self.completed else VERSION_OF_INCOMPLETE):
            raise ValueError("a backup that was not completed has version 2, and no other one has")
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A completed one exactly as version 1 has it: a manifest is sealed, and older programs know no other field."""
        document: dict[str, Any] = handler(self)
        if self.completed:
            del document["completed"]
        return document

    def sealed(self) -> Manifest:
        """The manifest with its own checksum."""
        return self.model_copy(update={"sha256": self._seal()})

    @property
    def intact(self) -> bool:
        """Whether it is as it was written."""
        return self.sha256 == self._seal()

    def text(self) -> str:
        """The manifest as it is written."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"

    def _seal(self) -> str:
        content = self.model_dump(mode="json", exclude={"sha256"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_of(path: MetaPath) -> str:
    """Name of the file that holds a resource, relative to the backup.

    Raises:
        InvariantBroken: The path is no resource.
    """
    resource = classify(path)
    if resource is None:
        raise InvariantBroken(f"no resource: {path}")
    stem = _FILE_OF_KIND[resource.kind]
    tenant = tenant_of(path)
    return f"tenants/{_folder(tenant)}/{stem}.json" if tenant else f"{stem}.json"


def resource_text(path: MetaPath, value: bytes) -> str:
    """A resource as it stands in its file, without the comma.

    A value goes in as JSON where it comes out as the same document; otherwise its bytes do, in base64.
    """
    resource = classify(path)
    entry: dict[str, Any] = {"path": path} if resource is None else {"name": resource.name, "path": path}
    try:
        document = parse(value)
        plain = canonical(document)
        faithful = canonical(parse(plain)) == plain
    except ValueInvalid:
        faithful = False
    if faithful:
        entry["value"] = document
    else:
        entry["value_base64"] = base64.b64encode(value).decode()
    return "\n".join(f"  {line}" for line in _indented(entry).split("\n"))


def _indented(entry: dict[str, Any]) -> str:
    try:
        return orjson.dumps(entry, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # an integer outside 64 bits; the other serialiser indents the same way
        return json.dumps(entry, indent=2, sort_keys=True, ensure_ascii=False)


class ResourceReader:
    """Takes a file line by line and gives the resources. Raises ``BackupDamaged``, naming file and line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: list[str] = []
        self._number = 0
        self._last = ""
        self._closed = False
        self.count = 0

    def take(self, line: str) -> tuple[MetaPath, bytes] | None:
        """Take the next line; a resource, when this line ends it.

        Raises:
            BackupDamaged: The file is not as it was written.
        """
        self._number += 1
        if self._number == 1:
            if line != OPENING:
                raise self._damaged("does not begin with a list")
            return None
        if self._closed:
            raise self._damaged("something follows the end")
        if not self._lines:
            if line == CLOSING:
                self._closed = True
                return None
            if line != _BEGIN:
                raise self._damaged("no resource begins here")
        self._lines.append(line)
        if line not in _ENDS:
            return None
        text = "".join(self._lines).rstrip().removesuffix(",")
        self._lines.clear()
        path, value = self._resource(text)
        if path <= self._last:
            raise self._damaged(f"{path} is out of order, or stands here twice")
        self._last = path
        self.count += 1
        return path, value

    def end(self) -> None:
        """The file has ended.

        Raises:
            BackupDamaged: It is cut off.
        """
        if not self._closed:
            raise self._damaged("is cut off")

    def _resource(self, text: str) -> tuple[MetaPath, bytes]:
        try:
            entry = json.loads(text)
            path = MetaPath(entry["path"])
            resource = classify(path)
            if "value_base64" in entry:
                value = base64.b64decode(entry["value_base64"], validate=True)
            else:
                value = canonical_as_written(entry["value"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as exc:
            raise self._damaged(f"a resource that cannot be read: {exc}") from exc
        except ValueInvalid as exc:
            raise self._damaged(exc.message) from exc
        if resource is None or file_of(path) != self._name:
            raise self._damaged(f"{path} does not belong into this file")
        return path, value

    def _damaged(self, what: str) -> BackupDamaged:
        return BackupDamaged(f"{self._name}, line {self._number}: {what}")


def canonical_as_written(document: object) -> bytes:
    """The bytes of a value that stands as JSON in a file.

    Raises:
        ValueInvalid: It is no JSON object.
    """
    if not isinstance(document, dict):
        raise no_object(document)
    return bytes(memoryview(canonical(document)))  # a copy: the serialiser's own holds 4 kB, however small the value


def _folder(tenant: str) -> str:
    """A folder's name for any tenant's: its own where that is plain, never hidden, never too long."""
    name = quote(tenant, safe="")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > _MAX_NAME_CHARS:
        name = f"{name[:_MAX_NAME_CHARS]}%{hashlib.sha256(tenant.encode()).hexdigest()[:16]}"
    return name
