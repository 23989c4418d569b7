"""Plans of migrations kept in files: readable JSON, sealed by their fingerprint, never half written or overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from syncer import local_files
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.migration.migration_plan import AGAIN, MigrationPlan, PlannedCluster
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides
from syncer.model import Millis
from syncer.planning.sealed_form import SealedForm
from syncer.planning.whole_file import whole

FORMAT: Final = "pulsar-syncer-migration"
FORMAT_VERSION: Final = 1
MAX_FILE_BYTES: Final = 64 << 20
_WROTE: Final = "Name a file that 'syncer migration plan --save' wrote."
FORM: Final = SealedForm(what="plan of a migration", format=FORMAT, version=FORMAT_VERSION, wrote=_WROTE, again=AGAIN)


class MigrationPlanRecord(BaseModel):
    """A plan as it is kept. ``sha256`` is over everything but itself, ``format`` and ``version``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["pulsar-syncer-migration"]
    version: Literal[1]
    made_at_ms: Millis
    blue: PlannedCluster
    green: PlannedCluster
    canary: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...]
    whole_cluster: bool
    bounds: MigrationBounds
    overrides: dict[str, str]
    contents: dict[str, str]
    sha256: str

    def value(self) -> MigrationPlan:
        """The plan that it stands for.

        Raises:
            PlanInvalid: No plan can say this.
        """
        return MigrationPlan(
            made_at_ms=self.made_at_ms,
            blue=self.blue,
            green=self.green,
            scope=MigrationScope(canary=self.canary, waves=self.waves, whole_cluster=self.whole_cluster),
            bounds=self.bounds,
            overrides=Overrides(reasons=self.overrides),
            contents=self.contents,
        )

    @classmethod
    def read(cls, text: bytes, name: str) -> Self:
        """Read a record.

        Raises:
            PlanInvalid: It is none, or is of another version.
        """
        FORM.check(text, name)
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            raise PlanInvalid(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}", hint=AGAIN) from exc


def to_text(plan: MigrationPlan) -> str:
    """A plan as it is written; equal plans give equal texts."""
    record = {"format": FORMAT, "version": FORMAT_VERSION, **plan.content, "sha256": plan.fingerprint}
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def from_text(text: bytes, name: str = "the plan") -> MigrationPlan:
    """Read a plan.

    Raises:
        PlanInvalid: It is no plan, was changed after it was made, or is of another version.
    """
    record = MigrationPlanRecord.read(text, name)
    plan = record.value()
    if plan.fingerprint != record.sha256:
        raise PlanInvalid(f"{name} is damaged or was edited: its fingerprint is not its own", hint=AGAIN)
    return plan


def read(path: Path) -> MigrationPlan:
    """Read a plan from its file.

    Raises:
        PlanInvalid: It is no plan, was changed after it was made, or is of another version.
        PreconditionFailed: The file cannot be read.
    """
    try:
        text = local_files.read(path, MAX_FILE_BYTES)
    except OSError as exc:
        raise PreconditionFailed(f"{path} cannot be read: {exc.strerror or exc}", hint=_WROTE) from exc
    return from_text(text, str(path))


def write(path: Path, plan: MigrationPlan) -> None:
    """Write a plan to a file, whole or not at all; a file that exists is left as it is.

    Raises:
        PreconditionFailed: The file exists, or cannot be written.
    """
    with whole(path) as file:
        file.write(to_text(plan).encode())
