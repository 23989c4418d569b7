"""Repair plans in files: what a comparison of snapshots wants told to the group, one line for each path.

    {"format": "pulsar-syncer-repair", "version": 1, "regions": [...], ...}      the head
    {"path": ..., "found_in": ..., "stamp": [ms, region], "value": ..., ...}     a telling: the winner's version
    {"path": ..., "found_in": ..., "origin": "unseen", ...}                      nobody has stamped it yet
    {"end": {"paths": 2, "deletes": 0, "unstamped": 1, "sha256": "..."}}         the seal: over every byte before it

Readable line by line, exact to the byte, written and read in bounded memory whatever its length. A file is written
whole or not at all, and never over another one; what is cut off or was changed is found out at its seal, so nothing may
be done with what was read before the end has been.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from syncer import local_files
from syncer.conflict.classes.telling import scope_told
from syncer.conflict.projection import json_fault
from syncer.conflict.scope import Scope, fingerprint_of
from syncer.errors import InvariantBroken, PayloadInvalid, PlanInvalid, PreconditionFailed, ValueRefused
from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, Stamp, TieOrder
from syncer.paths import checked, classify, tenant_of
from syncer.planning.plan_file import ValueRecord, record_of
from syncer.planning.whole_file import whole
from syncer.repair.preconditions import scopes_text

FORMAT: Final = "pulsar-syncer-repair"
FORMAT_VERSION: Final = 1
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Of one path: a value of a megabyte, escaped, and what stands beside it."""
HINT: Final = "Make it again with 'syncer snapshot diff --plan FILE'."


_LATER: Final = ("tenants", "scopes")
"""Of a head only where they are needed: older programs know no such field, and refuse the plan."""

Time = Annotated[int, Field(ge=0, lt=1 << 62)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RegionPart(_Part):
    """One of the compared snapshots."""

    region: str
    snapshot: str
    taken_at_ms: Time


class Head(_Part):
    """What was compared, and by which rules.

    Args:
        scope: Fingerprint of the scope that all snapshots were taken by; empty where they were taken by different ones.
        tie_order: Who wins at equal times.
        projections: Id of the projection of each kind.
        regions: The snapshots.
        made_at_ms: When they were compared.
        made_by: Program and version.
        tenants: The snapshots hold what belongs to these alone, and so does the plan; ``None``: of everything.
        scopes: Rules by region, as regions tell them, where these differ: no line names a region that does not
            carry its path.
    """

    format: Literal["pulsar-syncer-repair"] = FORMAT
    version: int = FORMAT_VERSION
    scope: str
    tie_order: str
    projections: dict[str, str]
    regions: tuple[RegionPart, ...]
    made_at_ms: Time
    made_by: str = ""
    tenants: tuple[str, ...] | None = None
    scopes: dict[str, str] | None = None

    @property
    def rules(self) -> tuple[str, str]:
        """By what it was compared: scopes, and order of ties."""
        scopes = self.scopes or {}
        found = {Region(name): fingerprint_of(rules) for name, rules in scopes.items()}
        return scopes_text(found) if found else self.scope, self.tie_order

    @property
    def taken_at_ms(self) -> Millis:
        """When the oldest of the snapshots was taken."""
        return Millis(min((each.taken_at_ms for each in self.regions), default=0))


class _Line(_Part):
    """One path; ``stamp``, ``by`` and ``seen`` are null where no daemon has stamped it."""

    path: str
    found_in: str
    cls: str = Field(alias="class")
    losers: tuple[str, ...] = ()
    held: dict[str, str] = {}
    written_ms: dict[str, Time] = {}
    origin: str = "register"
    stamp: tuple[Time, str] | None = None
    by: str | None = None
    seen: dict[str, Time] | None = None
    value: ValueRecord | None = None


class _End(_Part):
    paths: int
    deletes: int
    unstamped: int
    sha256: str


class _Last(_Part):
    end: _End


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingPath:
    """One path that regions hold differently.

    Args:
        path: Of the store.
        found_in: A region that holds the winning version.
        cls: What a comparison calls it: ``only-in``, ``differs``, ``deleted`` or ``held``.
        losers: Regions that must change.
        held: Regions where something waits for an operator at this path, and why; of the winner's region too.
        written_ms: When losers have last written what they hold, where their stores tell; for native regions.
        event: The winner's version, as its author has published it; ``None``: no daemon has stamped it.
        origin: Where the stamp comes from; ``register`` exactly where there is an event.
    """

    path: MetaPath
    found_in: Region
    cls: str
    losers: tuple[Region, ...] = ()
    held: Mapping[Region, str] = field(default_factory=dict)
    written_ms: Mapping[Region, int] = field(default_factory=dict)
    event: MetadataChangeEvent | None = None
    origin: str = "register"


@dataclass(slots=True)
class Totals:
    """How many paths there are; whole only once the seal was read."""

    paths: int = 0
    deletes: int = 0
    unstamped: int = 0

    def count(self, finding: DifferingPath) -> None:
        """Count one more."""
        self.paths += 1
        if finding.event is None:
            self.unstamped += 1
        elif finding.event.type is EventType.DELETED:
            self.deletes += 1


def write(path: Path, head: Head, findings: Iterable[DifferingPath]) -> Totals:
    """Write a repair plan, whole or not at all.

    Args:
        path: The file; one that exists is left as it is.
        head: What was compared.
        findings: In any order; each path once.

    Raises:
        PreconditionFailed: The file exists, or cannot be written.
    """
    totals = Totals()
    with whole(path) as file:
        _write(file, head, findings, totals)
    return totals


def _write(file: BinaryIO, head: Head, findings: Iterable[DifferingPath], totals: Totals) -> None:
    seal = hashlib.sha256()

    def put(document: object) -> None:
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
        seal.update(line)
        file.write(line)

    put(head.model_dump(mode="json", exclude={name for name in _LATER if getattr(head, name) is None}))
    for each in findings:
        totals.count(each)
        put(_document(each))
    end = {"paths": totals.paths, "deletes": totals.deletes, "unstamped": totals.unstamped}
    file.write(orjson.dumps({"end": {**end, "sha256": seal.hexdigest()}}, option=orjson.OPT_APPEND_NEWLINE))


def _document(finding: DifferingPath) -> dict[str, object]:
    event = finding.event
    if (event is None) is (finding.origin == "register"):
        raise InvariantBroken(f"{finding.path}: a version is told exactly where a register has its stamp")
    found: dict[str, object] = {
        "path": finding.path,
        "found_in": finding.found_in,
        "class": finding.cls,
        "losers": finding.losers,
        "held": dict(finding.held),
        "written_ms": dict(finding.written_ms),
    }
    if event is None:
        return {**found, "origin": finding.origin}
    return {
        **found,
        "stamp": (event.stamp.updated_at_ms, event.stamp.region),
        "by": event.by,
        "seen": dict(event.seen),
        "value": record_of(event.value),
    }


class RepairFile:
    """A repair plan, read from its first line to its seal.

    Args:
        path: The file, or the name of one that is given.
        file: Read instead of what stands at the path, from its beginning; it stays open.
    """

    def __init__(self, path: Path, file: BinaryIO | None = None) -> None:
        self.path = path
        self._file = file
        self.totals = Totals()
        self.whole = False
        """The seal was read, and is right."""
        self.sha256 = ""
        """The seal, once it was read."""

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[Head, Iterator[DifferingPath]]]:
        """Its head and its findings. Nothing may be done with them for good before :attr:`whole` is set.

        Raises:
            PlanInvalid: It is no repair plan, is cut off, damaged or edited, or of another version.
            PreconditionFailed: It cannot be read.
        """
        self.totals, self.whole = Totals(), False
        try:
            given = self._file
            with local_files.opened(self.path) if given is None else contextlib.nullcontext(given) as file:
                file.seek(0)
                seal = hashlib.sha256()
                first = self._line(file)
                seal.update(first)
                head = self._head(first)
                yield head, self._findings(file, seal, head)
        except OSError as exc:
            raise PreconditionFailed(f"{self.path} cannot be read: {exc.strerror}", hint=HINT) from exc

    def check(self) -> Head:
        """Read it to its end.

        Raises:
            PlanInvalid: It is not as it was written.
            PreconditionFailed: It cannot be read.
        """
        with self.reading() as (head, findings):
            for _ in findings:
                pass
            return head

    def content(self) -> bytes:
        """All of its bytes, once they were read to their end.

        Raises:
            PlanInvalid: It is not as it was written.
            PreconditionFailed: It cannot be read.
        """
        self.check()
        try:
            with local_files.opened(self.path) as file:
                return file.read()
        except OSError as exc:
            raise PreconditionFailed(f"{self.path} cannot be read: {exc.strerror}", hint=HINT) from exc

    def _line(self, file: BinaryIO) -> bytes:
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line.endswith(b"\n"):
            what = (
                "has a line that is too long"
                if len(line) > MAX_LINE_BYTES
                else "is empty, or cut off: its end is missing"
            )
            raise PlanInvalid(f"{self.path} {what}", hint=HINT)
        return line

    def _head(self, line: bytes) -> Head:
        raw = self._parsed(line)
        if raw.get("format") != FORMAT:
            raise PlanInvalid(f"{self.path} is no repair plan", hint=HINT)
        if raw.get("version") != FORMAT_VERSION:
            raise PlanInvalid(
                f"{self.path} is a repair plan of version {raw.get('version')!r}; this program reads version "
                f"{FORMAT_VERSION}",
                hint="Make it again with this version, or use the one that made it.",
            )
        try:
            head = Head.model_validate_json(line)
            TieOrder(head.tie_order)
        except ValueError as exc:
            raise PlanInvalid(f"{self.path}: its head cannot be read: {_first(exc)}", hint=HINT) from exc
        names = [each.region for each in head.regions]
        if not names or len(set(names)) != len(names):
            raise PlanInvalid(f"{self.path}: its head names no regions, or one of them twice", hint=HINT)
        if head.scopes is not None and head.scopes.keys() != set(names):
            raise PlanInvalid(f"{self.path}: its head has rules of other regions than it names", hint=HINT)
        return head

    def _scopes(self, head: Head) -> dict[Region, Scope]:
        """The scopes of regions that have different ones."""
        scopes = (head.scopes or {}).items()
        try:
            return {Region(name): scope_told(rules, fingerprint_of(rules)) for name, rules in scopes}
        except PayloadInvalid as exc:
            raise PlanInvalid(
                f"{self.path}: its head has rules that nobody can read: {exc.message}", hint=HINT
            ) from exc

    def _findings(self, file: BinaryIO, seal: hashlib._Hash, head: Head) -> Iterator[DifferingPath]:
        number, scopes = 1, self._scopes(head)
        while True:
            number += 1
            line = self._line(file)
            if line.startswith(b'{"end":'):
                self._end(line, seal, file.read(1))
                return
            seal.update(line)
            try:
                finding = _finding(_Line.model_validate_json(line))
            except (ValueError, ValueRefused) as exc:
                raise PlanInvalid(f"{self.path}, line {number}: {_first(exc)}", hint=HINT) from exc
            except PlanInvalid as exc:
                raise PlanInvalid(f"{self.path}, line {number}: {exc.message}", hint=HINT) from exc
            if head.tenants is not None and tenant_of(finding.path) not in head.tenants:
                raise PlanInvalid(
                    f"{self.path}, line {number}: {finding.path} is none of what was compared: "
                    f"{', '.join(f'tenant {name}' for name in head.tenants)}",
                    hint=HINT,
                )
            for region in (finding.found_in, *finding.losers) if scopes else ():
                if region not in scopes or not scopes[region].carries_resource(finding.path):
                    raise PlanInvalid(
                        f"{self.path}, line {number}: {region} does not carry {finding.path}, by the rules in its head",
                        hint=HINT,
                    )
            self.totals.count(finding)
            yield finding

    def _end(self, line: bytes, seal: hashlib._Hash, more: bytes) -> None:
        try:
            end = _Last.model_validate_json(line).end
        except ValueError as exc:
            raise PlanInvalid(f"{self.path}: its end cannot be read: {_first(exc)}", hint=HINT) from exc
        counted = Totals(end.paths, end.deletes, end.unstamped)
        if more or end.sha256 != seal.hexdigest() or counted != self.totals:
            raise PlanInvalid(f"{self.path} is damaged or was edited: its checksum is not its own", hint=HINT)
        self.whole, self.sha256 = True, end.sha256

    def _parsed(self, line: bytes) -> dict[str, object]:
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError as exc:
            raise PlanInvalid(
                f"{self.path} is no repair plan, or is damaged: no JSON: {json_fault(exc)}", hint=HINT
            ) from exc
        if not isinstance(raw, dict):
            raise PlanInvalid(f"{self.path} is no repair plan", hint=HINT)
        return raw


def _finding(line: _Line) -> DifferingPath:
    path = checked(line.path)
    resource = classify(path)
    if resource is None:
        raise PlanInvalid(f"{path} is no resource")
    event: MetadataChangeEvent | None = None
    if line.origin == "register":
        if line.stamp is None or line.by is None or line.seen is None:
            raise PlanInvalid(f"{path}: a telling without a whole stamp")
        value = line.value.bytes() if line.value is not None else None
        event = MetadataChangeEvent(
            type=EventType.DELETED if value is None else EventType.MODIFIED,
            resource=resource.kind,
            resource_name=resource.name,
            path=path,
            value=value,
            stamp=Stamp(Millis(line.stamp[0]), Region(line.stamp[1])),
            by=Counter(line.by),
            seen={Counter(counter): Millis(time) for counter, time in line.seen.items()},
        )
    elif line.stamp is not None or line.value is not None or line.by is not None or line.seen is not None:
        raise PlanInvalid(f"{path}: a version that no daemon has stamped is not told")
    return DifferingPath(
        path=path,
        found_in=Region(line.found_in),
        cls=line.cls,
        losers=tuple(map(Region, line.losers)),
        held={Region(region): reason for region, reason in line.held.items()},
        written_ms={Region(region): at_ms for region, at_ms in line.written_ms.items()},
        event=event,
        origin=line.origin,
    )


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
