"""Plans kept in files: readable JSON with exact values, sealed by a checksum, never half written, never overwritten."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from syncer import local_files
from syncer.conflict.projection import json_fault
from syncer.errors import InvariantBroken, PlanForeign, PlanInvalid, PreconditionFailed, ValueRefused
from syncer.model import MetaPath, Millis, Region
from syncer.paths import checked
from syncer.plan.operations import Operation, Plan, planned
from syncer.planning.whole_file import whole

WROTE: Final = "Name a file that 'syncer diff --save' wrote, or an apply or a restore as its undo."
MAX_FILE_BYTES: Final = 2 << 30
"""Of a plan: one of a million paths with values of usual size has half of it."""
FORMAT: Final = "pulsar-syncer-plan"
FORMAT_VERSION: Final = 1
FORMAT_VERSION_WITH_ORIGIN: Final = 2
"""Of a plan that says which other region its values are of."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ValueRecord(_Part):
    """A value's exact bytes: as text, or in base64 where it is none."""

    text: str | None = None
    base64: str | None = None

    def bytes(self) -> bytes:
        """The value.

        Raises:
            PlanInvalid: It is not given in exactly one form.
        """
        if (self.text is None) == (self.base64 is None):
            raise PlanInvalid("a value in the plan has not exactly one of 'text' and 'base64'")
        try:
            return self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "", validate=True)
        except ValueError as exc:  # text that is no Unicode, base64 that is none
            raise PlanInvalid(f"a value in the plan cannot be read: {exc}") from exc


class OperationRecord(_Part):
    """One operation. ``action``, ``resource`` and ``name`` are for people; path and values are what counts."""

    action: str
    resource: str
    name: str
    path: str
    before: ValueRecord | None
    after: ValueRecord | None


class PlanRecord(_Part):
    """A plan as it is kept. ``sha256`` is over everything else."""

    format: Literal["pulsar-syncer-plan"] = FORMAT
    version: int = FORMAT_VERSION
    region: str
    source: str
    origin: str | None = None
    made_at_ms: int
    operations: tuple[OperationRecord, ...]
    left: tuple[str, ...]
    sha256: str

    def seal(self) -> str:
        """The checksum that belongs to it."""
        seal = _Seal({**_head(self.region, self.source, self.origin, self.made_at_ms), "left": self.left})
        for each in self.operations:
            seal.take(each.model_dump(mode="json"))
        return seal.digest()


class _Seal:
    """The checksum of a plan, taken part by part."""

    def __init__(self, head: dict[str, object]) -> None:
        self._hash = hashlib.sha256(_plain(head))

    def take(self, operation: dict[str, object]) -> None:
        self._hash.update(b"\n" + _plain(operation))

    def digest(self) -> str:
        return self._hash.hexdigest()


def chunks(plan: Plan) -> Iterator[str]:
    """A plan as it is written, in parts of bounded size; equal plans give equal texts."""
    head = _head(plan.region, plan.source, plan.origin, plan.made_at_ms)
    seal = _Seal({**head, "left": plan.left})
    text = json.dumps({"format": FORMAT, "version": _version(plan.origin), **head}, indent=2, ensure_ascii=False)
    yield text.removesuffix("\n}") + ',\n  "operations": ['
    comma = "\n"
    for each in plan.operations:
        record: dict[str, object] = {
            "action": each.action.value,
            "resource": each.resource.kind.value,
            "name": each.resource.name,
            "path": each.path,
            "before": record_of(each.before),
            "after": record_of(each.after),
        }
        seal.take(record)
        yield comma + "    " + json.dumps(record, indent=2, ensure_ascii=False).replace("\n", "\n    ")
        comma = ",\n"
    left = json.dumps(plan.left, indent=2, ensure_ascii=False).replace("\n", "\n  ")
    end = "\n  ]" if plan.operations else "]"
    yield f'{end},\n  "left": {left},\n  "sha256": "{seal.digest()}"\n}}\n'


def to_text(plan: Plan) -> str:
    """A plan as it is written, whole."""
    return "".join(chunks(plan))


def from_text(text: str | bytes, name: str = "the plan") -> Plan:
    """Read a plan.

    Raises:
        PlanInvalid: It is no plan, is damaged, or is of another version.
    """
    if not text.strip():
        raise PlanInvalid(f"{name} is no plan: it is empty", hint=WROTE)
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise PlanInvalid(f"{name} is no plan, or is cut off: no JSON: {json_fault(exc)}", hint=WROTE) from exc
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise PlanInvalid(f"{name} is no plan", hint=WROTE)
    if raw.get("version") not in (FORMAT_VERSION, FORMAT_VERSION_WITH_ORIGIN):
        raise PlanInvalid(
            f"{name} is a plan of version {raw.get('version')!r}; this program reads version {FORMAT_VERSION} "
            f"and version {FORMAT_VERSION_WITH_ORIGIN}",
            hint="Make the plan again with this version, or use the one that made it.",
        )
    try:
        record = PlanRecord.model_validate(raw)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        raise PlanInvalid(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from exc
    if record.sha256 != record.seal() or record.version != _version(record.origin):
        raise PlanInvalid(f"{name} is damaged or was edited: its checksum is not its own")
    try:
        return planned(
            region=Region(record.region),
            source=record.source,
            made_at_ms=Millis(record.made_at_ms),
            operations=map(_operation, record.operations),
            left=map(MetaPath, record.left),
            origin=None if record.origin is None else Region(record.origin),
        )
    except (InvariantBroken, ValueRefused) as exc:
        raise PlanInvalid(f"{name}: {exc.message}") from exc


def read(path: Path, *, region: Region | None = None) -> Plan:
    """Read a plan from its file.

    Args:
        path: The file.
        region: Whose plan it must be; any region's when not given.

    Raises:
        PlanInvalid: It is no plan, is damaged, or is of another version.
        PlanForeign: It was made for another region.
        PreconditionFailed: The file cannot be read.
    """
    try:
        text = local_files.read(path, MAX_FILE_BYTES)
    except OSError as exc:
        raise PreconditionFailed(f"{path} cannot be read: {exc.strerror}", hint=WROTE) from exc
    plan = from_text(text, str(path))
    if region is not None and plan.region != region:
        raise PlanForeign(f"{path} is a plan for region {plan.region}, not for {region}")
    return plan


def write(path: Path, plan: Plan, *, replace: bool = False) -> None:
    """Write a plan to a file, whole or not at all.

    Args:
        path: The file.
        plan: What goes into it.
        replace: Put it in the place of a file that exists; otherwise such a file is left as it is.

    Raises:
        PreconditionFailed: The file exists, or cannot be written.
    """
    with whole(path, replace=replace) as file:
        file.writelines(chunk.encode() for chunk in chunks(plan))


def discard(path: Path) -> None:
    """Delete a plan's file, as far as that is possible."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _operation(record: OperationRecord) -> Operation:
    return Operation(
        path=checked(record.path),
        before=record.before.bytes() if record.before is not None else None,
        after=record.after.bytes() if record.after is not None else None,
    )


def record_of(value: bytes | None) -> dict[str, str | None] | None:
    """A value as it is written: as text, or in base64 where it is none; ``None`` for an absent one."""
    if value is None:
        return None
    try:
        return {"text": value.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": base64.b64encode(value).decode()}


def _version(origin: str | None) -> int:
    return FORMAT_VERSION if origin is None else FORMAT_VERSION_WITH_ORIGIN


def _head(region: str, source: str, origin: str | None, made_at_ms: int) -> dict[str, object]:
    """What a plan begins with; without an origin exactly what version 1 has."""
    head: dict[str, object] = {"region": region, "source": source, "made_at_ms": made_at_ms}
    return head if origin is None else {**head, "origin": origin}


def _plain(node: object) -> bytes:
    return json.dumps(node, sort_keys=True, separators=(",", ":")).encode()
