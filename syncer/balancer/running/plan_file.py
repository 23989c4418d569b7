"""Plans of moves kept in files: readable JSON, sealed by their fingerprint, never half written or overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from syncer import local_files
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan, PlannedMove
from syncer.balancer.moving.split import AGAIN, PlannedSplit
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import Millis
from syncer.planning.sealed_form import SealedForm
from syncer.planning.whole_file import whole

FORMAT: Final = "pulsar-syncer-moves"
FORMAT_VERSION: Final = 1
MAX_FILE_BYTES: Final = 16 << 20
FORM: Final = SealedForm(
    what="plan of moves",
    format=FORMAT,
    version=FORMAT_VERSION,
    wrote="Name a file that 'syncer balancer advise --save' wrote.",
    again=AGAIN,
)


class MovePlanRecord(BaseModel):
    """A plan as it is kept. ``sha256`` is over everything but itself, ``format`` and ``version``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    format: Literal["pulsar-syncer-moves"]
    version: Literal[1]
    table: str
    cluster: str
    taken_ms: Millis
    moves: tuple[PlannedMove, ...]
    bounds: RunBounds
    splits: tuple[PlannedSplit, ...] = ()
    sheds: bool | None = None
    sha256: str


def to_text(plan: MovePlan) -> str:
    """A plan as it is written; equal plans give equal texts."""
    record = {"format": FORMAT, "version": FORMAT_VERSION, **plan.content, "sha256": plan.fingerprint}
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def from_text(text: bytes, name: str = "the plan") -> MovePlan:
    """Read a plan.

    Raises:
        PlanInvalid: It is no plan of moves, was changed after it was made, or is of another version.
    """
    FORM.check(text, name)
    try:
        record = MovePlanRecord.model_validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        raise PlanInvalid(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}", hint=AGAIN) from exc
    plan = MovePlan(
        table=record.table,
        cluster=record.cluster,
        taken_ms=record.taken_ms,
        moves=record.moves,
        bounds=record.bounds,
        splits=record.splits,
        sheds=record.sheds,
    )
    if plan.fingerprint != record.sha256:
        raise PlanInvalid(f"{name} is damaged or was edited: its fingerprint is not its own", hint=AGAIN)
    return plan


def read(path: Path) -> MovePlan:
    """Read a plan from its file.

    Raises:
        PlanInvalid: It is no plan of moves, was changed after it was made, or is of another version.
        PreconditionFailed: The file cannot be read.
    """
    try:
        text = local_files.read(path, MAX_FILE_BYTES)
    except OSError as exc:
        raise PreconditionFailed(f"{path} cannot be read: {exc.strerror or exc}", hint=FORM.wrote) from exc
    return from_text(text, str(path))


def write(path: Path, plan: MovePlan) -> None:
    """Write a plan to a file, whole or not at all; a file that exists is left as it is.

    Raises:
        PreconditionFailed: The file exists, or cannot be written.
    """
    with whole(path) as file:
        file.write(to_text(plan).encode())
