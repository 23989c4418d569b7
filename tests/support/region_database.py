"""A sidecar database of region ``here`` with one of everything, the real driver on it, and commands run against it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.conflict.acts import Decision, Journal, RecordConflict
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Hold, HoldReason, Parked, ParkReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Stamp, baseline_time
from syncer.replication.driver import Driver
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.contract import Capabilities
from tests.property.strategies import NOW
from tests.support.working import repeating
from tests.unit.registers import HERE, THERE, X, Y, at, event, settled_on, version

QUIET: Final = MetaPath("/admin/policies/quiet")
REMOTE: Final = MetaPath("/admin/policies/held-remote")
LOCAL: Final = MetaPath("/admin/policies/held-local")
FUTURE: Final = MetaPath("/admin/policies/from-the-future")
PARKED: Final = MetaPath("/admin/policies/parked/ns")
OLD, NEW = at(-9_000), at(-5_000, THERE)
FOUND = Stamp(baseline_time(1), HERE)

CAPABILITIES: Final = Capabilities(
    modified_times=True,
    real_parents=False,
    transactions=True,
    max_batch_writes=10,
    max_batch_bytes=10_000,
    max_value_bytes=10_000,
)

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of region ``here`` with one of everything, made once."""
    file = tmp_path_factory.mktemp("template") / "state.db"
    with closing(SqlState.open(f"sqlite:///{file}", HERE)) as opened:
        opened.activate()
        fill(opened)
    assert [each.name for each in file.parent.iterdir()] == [file.name], "all of it is in one file"
    return file


@pytest.fixture
def state(template: Path, tmp_path: Path) -> Iterator[SqlState]:
    """A copy of the template, with a writer."""
    shutil.copy(template, tmp_path / "state.db")
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", HERE)) as opened:
        opened.activate()
        yield opened


def on(path: MetaPath, register: Register, **changes: Any) -> Register:
    return replace(register, path=path, **changes)


def of(path: MetaPath, told: MetadataChangeEvent) -> MetadataChangeEvent:
    return replace(told, path=path, resource_name=path.rpartition("/")[2])


def hold(reason: HoldReason, stamp: Stamp, *, local: bool = False) -> Hold:
    return Hold(reason=reason, stamp=stamp, since_ms=Millis(NOW), detail="the detail", local=local)


def fill(state: SqlState) -> None:
    lost, won = at(-8_000), at(-7_000, THERE)
    with state.transaction() as tx:
        tx.set_identity(first_scan_done=True)
        tx.save(
            [
                on(QUIET, settled_on(X, NEW)),
                on(REMOTE, settled_on(X, FOUND), known=version(Y, NEW), hold=hold(HoldReason.FIRST_CONTACT, NEW)),
                on(LOCAL, settled_on(None, OLD), hold=hold(HoldReason.MASS_DELETE, OLD, local=True)),
                Register(
                    path=PARKED,
                    known=version(Y, NEW),
                    parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=Millis(NOW), detail="no parent"),
                ),
            ]
        )
        tx.hold_publication(of(LOCAL, event(None, OLD)))
        tx.hold_event(of(FUTURE, event(X, at(90_000_000, THERE))), Millis(NOW + 1), Millis(NOW))
        tx.conflict(
            RecordConflict(
                path=QUIET,
                loser=lost,
                loser_seen={version(X, lost).by: lost.updated_at_ms},
                loser_digest=version(X, lost).digest,
                value=X,
                winner=won,
            ),
            Millis(NOW),
        )
        tx.quarantine(
            DeadLetter(origin="store", code="value-invalid", detail="no JSON", position="7", path=QUIET, payload=b"{"),
            Millis(NOW),
        )
        tx.journal(
            [
                Journal(path=QUIET, decision=Decision.PUBLISHED, stamp=lost, digest=version(X, lost).digest),
                Journal(
                    path=QUIET,
                    decision=Decision.CONFLICT_LOST,
                    stamp=lost,
                    against=NEW,
                    seen={version(X, lost).by: lost.updated_at_ms},
                    detail="greater stamp",
                ),
                Journal(path=PARKED, decision=Decision.PARKED, stamp=NEW),
            ],
            Millis(NOW),
        )
        tx.save_peer(
            PeerRow(
                region=THERE,
                sender="db-there",
                heard_at_ms=Millis(NOW),
                sent_at_ms=Millis(NOW - 250),
                document={
                    "mode": "active",
                    "version": "0.1.0",
                    "watermark": NOW - 300,
                    "projections": {str(kind): projection.id for kind, projection in PROJECTIONS.items()},
                    "scope": Scope().fingerprint,
                    "tie_order": "native",
                },
            )
        )


@pytest.fixture
def run(tmp_path: Path, state: SqlState, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command against the database."""
    del state
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\npath = "{tmp_path}/state.db"\n',
        encoding="utf-8",
    )
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)

    def call(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, ["--config", str(file), *arguments], input=stdin)

    return call


@pytest.fixture
def daemon(state: SqlState) -> Iterator[Driver]:
    """The real driver, performing what it is asked."""
    driver = driver_of(state)
    with performing(driver):
        yield driver


def driver_of(state: SqlState) -> Driver:
    """The real driver of the region's database."""
    return Driver(Replica(Settings(region=HERE)), Scope(), state, CAPABILITIES)


@contextmanager
def performing(driver: Driver) -> Iterator[None]:
    """The driver performs what it is asked."""
    with repeating(lambda: driver.operate(Millis(NOW))):
        yield


@pytest.fixture
def views(state: SqlState, tmp_path: Path) -> Iterator[Views]:
    """Of the database."""
    del state
    with closing(Views.open(f"sqlite:///{tmp_path / 'state.db'}", HERE)) as opened:
        yield opened


def good(result: Result) -> str:
    """What a command has written that ended well."""
    assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
    return result.stdout
