"""``syncer snapshot sync`` and what belongs to it, as a person calls it, with a driver that does what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.documents.operations import OperationList
from syncer.documents.snapshots import RepairDocument, RepairList, RepairPreview
from syncer.model import MetaPath, Millis, Revision
from syncer.repair.repair_file import DifferingPath, Head, RegionPart, write
from syncer.replication.driver import Driver
from syncer.state.contract.peers import PeerRow
from syncer.state.sql.database import SqlState
from syncer.stores.contract import Written
from tests.property.strategies import NOW
from tests.support.parts import parts_of
from tests.support.working import repeating
from tests.unit.registers import HERE, THERE, X, at, event
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES

Run = Callable[..., Result]
QUIET: Final = MetaPath("/admin/policies/t")


def head(taken_at_ms: int = NOW, projections: dict[str, str] | None = None) -> Head:
    return Head(
        scope=Scope().fingerprint,
        tie_order="smaller",
        projections=projections or {str(kind): projection.id for kind, projection in PROJECTIONS.items()},
        regions=(
            RegionPart(region="here", snapshot="one", taken_at_ms=taken_at_ms),
            RegionPart(region="there", snapshot="two", taken_at_ms=taken_at_ms),
        ),
        made_at_ms=taken_at_ms,
    )


def findings(count: int = 1, deletes: int = 0) -> list[DifferingPath]:
    found = []
    for number in range(count):
        path = MetaPath(f"/admin/policies/t{number}")
        plain = event(None if number < deletes else X, at(-5_000, THERE))
        found.append(
            DifferingPath(
                path=path,
                found_in=THERE,
                cls="deleted" if number < deletes else "differs",
                losers=(HERE,),
                event=type(plain)(**{**{name: getattr(plain, name) for name in plain.__slots__}, "path": path}),
            )
        )
    return found


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", HERE)) as opened:
        opened.activate()
        with opened.transaction() as tx:
            tx.set_identity(first_scan_done=True, generation=1)
            peer: dict[str, object] = {
                "mode": "active",
                "projections": {},
                "scope": Scope().fingerprint,
                "tie_order": "smaller",
            }
            tx.save_peer(
                PeerRow(region=THERE, sender="db", heard_at_ms=Millis(NOW), sent_at_ms=Millis(NOW), document=peer)
            )
        yield opened


@pytest.fixture
def run(tmp_path: Path, state: SqlState, monkeypatch: pytest.MonkeyPatch) -> Run:
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


@contextmanager
def performing(state: SqlState, *, telling: bool = True) -> Iterator[Driver]:
    """A driver that does what it is asked; with ``telling``, it tells repairs, too."""
    driver = Driver(Replica(Settings(region=HERE)), Scope(), state, CAPABILITIES)
    raised = driver.raise_fence(None, "a store", Millis(NOW))
    driver.activated(raised, Written(path=raised.path, revision=Revision("1")), Millis(NOW))
    parts_of(driver).recovery.progress.unheard.clear()

    def step() -> None:
        driver.operate(Millis(NOW))
        if telling:
            driver.repair(Millis(NOW))

    with repeating(step):
        yield driver


def good(result: Result) -> str:
    assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
    return result.stdout


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan"
    write(
        path,
        head(),
        [*findings(2), DifferingPath(path=QUIET, found_in=THERE, cls="differs", losers=(HERE,), origin="unseen")],
    )
    return str(path)


def test_a_plan_is_shown_before_anything_is_asked(run: Run, plan: str) -> None:
    found = RepairPreview.model_validate_json(good(run("snapshot", "sync", plan, "--dry-run", "-o", "json")))
    assert (found.paths, found.deletes, found.unstamped) == (3, 0, {"there": 1})
    assert [(each.region, each.what, each.paths) for each in found.changes] == [("here", "create or change", 2)]
    assert [each.stamp for each in found.items] == [str(at(-5_000, THERE))] * 2 + [None]
    shown = run("snapshot", "sync", plan, "--dry-run")
    assert "/admin/policies/t1" in good(shown)
    assert "here: 2 create or change" in shown.stderr
    assert "there: 1 paths that no daemon had stamped" in shown.stderr
    assert good(run("snapshot", "repairs")) == ""


def test_a_plan_is_looked_at_without_the_clients_of_store_and_bus(run: Run, plan: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"embedded"', '"not-installed"'), encoding="utf-8")
    assert "/admin/policies/t1" in good(run("snapshot", "sync", plan, "--dry-run"))


def test_a_plan_is_told_and_followed_to_its_end(run: Run, state: SqlState, plan: str) -> None:
    with performing(state):
        result = run("snapshot", "sync", plan, "--yes", "--reason", "a drill", "-o", "json")
    found = RepairDocument.model_validate_json(good(result))
    assert (found.state, found.done, found.told, found.elsewhere) == ("done", 3, 2, 1)
    assert (found.regions, found.reason) == (["here", "there"], "a drill")
    with state.transaction() as tx:
        assert [row.event.path for row in tx.outbox(9)] == ["/admin/policies/t0", "/admin/policies/t1"]
    listed = RepairList.model_validate_json(good(run("snapshot", "repairs", "-o", "json")))
    assert [each.id for each in listed.items] == [found.id]
    assert "done" in good(run("snapshot", "repairs"))
    assert "3 of 3 decided" in good(run("snapshot", "progress", str(found.id)))


def test_what_is_refused_is_named(run: Run, state: SqlState, plan: str) -> None:
    with state.transaction() as tx:
        tx.drop_tombstones([], Millis(NOW))
    with performing(state):
        shown = run("snapshot", "sync", plan, "--yes")
    text = good(shown)
    assert "/admin/policies/t1" in text
    assert "forgotten: " in text
    assert "refused" in text


def test_nobody_is_asked_before_a_person_agrees(run: Run, plan: str) -> None:
    assert run("snapshot", "sync", plan).exit_code == 5
    assert good(run("snapshot", "repairs")) == ""


@pytest.mark.parametrize(
    ("made", "option", "said"),
    [(findings(20, deletes=15), "--allow-deletes", "would be deleted"), (findings(2), "--force-old", "s old")],
)
def test_what_the_daemon_refuses_leaves_nothing_unless_a_person_lets_it_pass(
    run: Run,
    state: SqlState,
    tmp_path: Path,
    made: list[DifferingPath],
    option: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("local", "local_decisions"):
        monkeypatch.setattr(f"syncer.cli.reaching.{module}.now_ms", lambda: Millis(NOW))
    old = NOW - 8 * 86_400_000 if option == "--force-old" else NOW
    write(tmp_path / "plan", head(old), made)
    for words, objected in (((), 1), ((option,), 0)):
        dry = run("snapshot", "sync", str(tmp_path / "plan"), "--dry-run", *words, "-o", "json")
        assert len(RepairPreview.model_validate_json(good(dry)).objections) == objected
    shown = run("snapshot", "sync", str(tmp_path / "plan"), "--dry-run").stderr
    assert said in shown
    assert option in shown
    with performing(state):
        refused = run("snapshot", "sync", str(tmp_path / "plan"), "--yes")
        assert refused.exit_code == 5
        assert said in refused.stderr
        assert option in refused.stderr
        assert good(run("snapshot", "repairs")) == ""
        good(run("snapshot", "sync", str(tmp_path / "plan"), "--yes", option))


def test_a_repair_can_be_followed_and_cancelled(run: Run, state: SqlState, plan: str) -> None:
    with performing(state, telling=False):
        late = run("snapshot", "sync", plan, "--yes", "--timeout", "3")
        assert late.exit_code == 4
        assert "goes on: 0 of 3" in late.stderr
        assert run("snapshot", "progress", "1", "--wait", "--timeout", "0").exit_code == 4
        assert "0 of 3" in good(run("status"))
        answer = OperationList.model_validate_json(good(run("snapshot", "cancel", "1", "--reason", "no", "-o", "json")))
        assert [(each.kind, each.state) for each in answer.items] == [("snapshot-cancel", "done")]
        assert run("snapshot", "cancel", "1").exit_code == 5
    found = RepairDocument.model_validate_json(good(run("snapshot", "progress", "1", "-o", "json")))
    assert (found.state, found.detail, found.told) == ("cancelled", "no", 0)
    for verb in ("progress", "cancel"):
        assert run("snapshot", verb, "77").exit_code == 1


def test_without_a_daemon_it_waits_until_one_runs(run: Run, state: SqlState, plan: str) -> None:
    waiting = run("snapshot", "sync", plan, "--yes", "--timeout", "0")
    assert waiting.exit_code == 4
    assert "begins when it runs" in waiting.stderr
    with performing(state):
        assert "3 of 3 decided" in good(run("snapshot", "progress", "1", "--wait"))


def test_what_is_no_plan_is_refused(run: Run, tmp_path: Path, plan: str) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(Path(plan).read_bytes()[:-5])
    assert run("snapshot", "sync", str(damaged), "--yes").exit_code == 1
    assert run("snapshot", "sync", str(tmp_path / "none"), "--yes").exit_code == 5
    write(tmp_path / "other", head(projections={"tenant": "another"}), findings())
    other = run("snapshot", "sync", str(tmp_path / "other"), "--dry-run")
    assert other.exit_code == 5
    assert "in another way" in other.stderr
