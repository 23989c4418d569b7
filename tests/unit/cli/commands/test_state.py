"""The commands that look into a real sidecar database, and those that the real driver answers."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

import pytest
import yaml
from typer.testing import Result

from syncer.conflict.acts import Decision, Journal
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.documents.catalogue import DOCUMENTS
from syncer.documents.conflicts import ConflictDetail, ConflictList
from syncer.documents.document import Document
from syncer.documents.explain import DecisionDocument, ExplainDocument
from syncer.documents.holds import HoldList, ParkedList
from syncer.documents.operations import OperationList
from syncer.documents.quarantine import QuarantineList
from syncer.documents.regions import FirstContactPlan, RegionList
from syncer.documents.state import CompactDocument, StateCheckDocument
from syncer.documents.status import NOT_CARRIED, StatusDocument
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.replication.driver import Driver
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase, Rebuild
from syncer.state.contract.membership import JOINING
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.maintenance.compact import compact
from syncer.state.sql.database import SqlState, wall_clock
from syncer.state.sql.presence import DaemonRole, Presence
from syncer.waiting import WAIT_S
from tests.property.strategies import NOW
from tests.support.parts import parts_of
from tests.support.region_database import (
    CAPABILITIES,
    FOUND,
    FUTURE,
    LOCAL,
    NEW,
    OLD,
    PARKED,
    QUIET,
    REMOTE,
    Run,
    good,
    hold,
    of,
    performing,
)
from tests.unit.registers import HERE, THERE, X, Y, at, event

CONTRACT: Final = Path(__file__).resolve().parents[4] / "docs" / "reference" / "cli-output.schema.json"


def registers(state: SqlState, path: MetaPath) -> Register:
    with state.transaction() as tx:
        return tx.registers([path])[path]


# -- looking


def test_status_says_what_waits_and_what_is_not_carried(run: Run, state: SqlState) -> None:
    found = StatusDocument.model_validate_json(good(run("status", "-o", "json")))
    assert (found.region, found.daemon, found.reported_at_ms) == ("here", "never-started", None)
    assert found.waiting.model_dump() == {
        "due": 2,
        "holds": 2,
        "unreadable": 0,
        "future_events": 1,
        "parked": 1,
        "conflicts": 1,
        "quarantine": 1,
        "operations": 0,
    }
    assert found.not_carried == list(NOT_CARRIED)
    (peer,) = found.peers
    assert (peer.region, peer.skew_s, peer.same_rules) == ("there", -0.25, False), "the tie order differs"
    text = good(run("status"))
    for words in (*NOT_CARRIED, "never-started", "there", "holds"):
        assert words in text


def test_status_tells_a_silent_daemon_from_a_running_one(run: Run, state: SqlState) -> None:
    now = time.time_ns() // 1_000_000
    for age_ms, expected in ((0, "running"), (60_000, "silent")):
        document: dict[str, object] = {
            "mode": "observe",
            "watch_whole": False,
            "fence": 7,
            "conditions": [{"code": "disk-full", "message": "no space"}],
            "disagreements": [{"peer": "there", "kind": "tenant", "message": "another projection"}],
        }
        with state.transaction() as tx:
            tx.save_status(document, Millis(now - age_ms))
        found = StatusDocument.model_validate_json(good(run("status", "-o", "json")))
        assert (found.daemon, found.mode, found.fence, found.watch_whole) == (expected, "observe", 7, False)
        assert [each.code for each in found.conditions] == ["disk-full", "regions-disagree"]
    assert "! disk-full: no space" in good(run("status"))


def test_regions_are_listed_with_this_one_first(run: Run) -> None:
    found = RegionList.model_validate_json(good(run("regions", "list", "-o", "json")))
    assert [(each.region, each.here) for each in found.items] == [("here", True), ("there", False)]
    assert good(run("regions", "list")).splitlines()[0].split()[:2] == ["REGION", "HERE"]


def test_explain_names_every_candidate_and_why_it_won(run: Run) -> None:
    found = ExplainDocument.model_validate_json(good(run("explain", QUIET, "-o", "json")))
    assert found.resource == "tenant quiet"
    assert found.scope == "both"
    assert found.verdict == (
        "2023-11-14 22:13:15.000Z there is the greatest stamp known, so it won;"
        " the store holds nothing there now, which the daemon has not taken yet."
    )
    assert found.known is not None
    assert found.known.seen == {"there~1": NEW.updated_at_ms}
    assert [(each.decision, each.against) for each in found.candidates] == [
        ("conflict-lost", str(NEW)),
        ("published", None),
    ]
    assert found.candidates[0].seen == {"here~1": NOW - 8_000}
    assert [each.loser for each in found.conflicts] == [f"{NOW - 8_000}@here"]
    text = good(run("explain", QUIET))
    assert "greater stamp" in text
    assert found.verdict in text


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (REMOTE, "its write waits for an operator: first-contact"),
        (LOCAL, "waits for an operator before it is published: mass-delete"),
        (PARKED, "its write waits: parent-missing"),
    ],
)
def test_explain_says_what_a_write_waits_for(path: MetaPath, part: str, run: Run) -> None:
    assert part in good(run("explain", path))


def test_explain_of_a_path_that_nobody_saw(run: Run) -> None:
    result = run("explain", "/admin/policies/nobody")
    assert result.exit_code == 1
    assert "nothing was ever seen" in result.stderr
    assert result.stdout == ""
    assert run("explain", "admin").exit_code == 1


def test_the_tail_is_one_decision_per_line(run: Run) -> None:
    lines = good(run("events", "tail", "-o", "json")).splitlines()
    found = [DecisionDocument.model_validate_json(line) for line in lines]
    assert [each.decision for each in found] == ["published", "conflict-lost", "parked"]
    assert len(good(run("events", "tail", "-n", "1")).splitlines()) == 1
    assert good(run("events", "tail", "-n", "0")) == ""
    assert PARKED not in good(run("events", "tail", "--path", QUIET))
    assert len(list(yaml.safe_load_all(good(run("events", "tail", "-o", "yaml"))))) == 3


@pytest.fixture
def follow(run: Run, tmp_path: Path) -> Iterator[Callable[..., IO[str]]]:
    """Run a command that does not end by itself, as a process; its output."""
    del run  # the configuration is there
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> IO[str]:
        command = [sys.executable, "-c", "from syncer.cli.main import main; main()", *arguments]
        process = subprocess.Popen(
            [*command, "--config", str(tmp_path / "config.toml")], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return process.stdout

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=WAIT_S)


def test_the_tail_follows(follow: Callable[..., IO[str]], state: SqlState) -> None:
    lines = follow("events", "tail", "--follow", "-n", "1", "-o", "json")
    assert json.loads(lines.readline())["decision"] == "parked"
    with state.transaction() as tx:
        tx.journal([Journal(path=QUIET, decision=Decision.RESTORED)], Millis(NOW))
    assert json.loads(lines.readline())["decision"] == "restored"


def test_the_status_is_watched(follow: Callable[..., IO[str]], state: SqlState) -> None:
    lines = follow("status", "--watch", "0.1", "-o", "json")
    assert json.loads(lines.readline())["paused"] is None
    with state.transaction() as tx:
        tx.set_identity(paused="maintenance")
    assert any(json.loads(line)["paused"] == "maintenance" for line in lines)


def test_lists_of_what_waits(run: Run) -> None:
    holds = HoldList.model_validate_json(good(run("holds", "list", "-o", "json")))
    assert [(each.path, each.waits, each.reason) for each in holds.items] == [
        (FUTURE, "event", "from-the-future"),
        (LOCAL, "publication", "mass-delete"),
        (REMOTE, "write", "first-contact"),
    ]
    parked = ParkedList.model_validate_json(good(run("parked", "list", "-o", "json")))
    assert [(each.path, each.reason) for each in parked.items] == [(PARKED, "parent-missing")]
    quarantine = QuarantineList.model_validate_json(good(run("quarantine", "list", "-o", "json")))
    assert [(each.code, each.payload_bytes) for each in quarantine.items] == [("value-invalid", 1)]
    conflicts = ConflictList.model_validate_json(good(run("conflicts", "list", "-o", "json")))
    assert [(each.path, each.restored_at_ms) for each in conflicts.items] == [(QUIET, None)]


def test_long_lists_are_pages(run: Run) -> None:
    first = HoldList.model_validate_json(good(run("holds", "list", "--limit", "2", "-o", "json")))
    assert first.next == LOCAL
    rest = HoldList.model_validate_json(good(run("holds", "list", "--after", LOCAL, "-o", "json")))
    assert [each.path for each in rest.items] == [REMOTE]
    assert rest.next is None
    result = run("holds", "list", "--limit", "1")
    assert f"more: --after {FUTURE}" in result.stderr


def test_a_conflict_is_shown_with_the_whole_value_that_lost(run: Run) -> None:
    found = ConflictDetail.model_validate_json(good(run("conflicts", "show", "1", "-o", "json")))
    assert found.value == X.decode()
    assert not found.deleted
    assert X.decode() in good(run("conflicts", "show", "1"))
    assert run("conflicts", "show", "99").exit_code == 1


def test_json_and_yaml_say_the_same(run: Run) -> None:
    as_json = json.loads(good(run("conflicts", "show", "1", "--output=json")))
    assert yaml.safe_load(good(run("conflicts", "show", "1", "-o", "yaml"))) == as_json


def test_tables_are_never_cut_nor_coloured(run: Run) -> None:
    text = good(run("holds", "list"))
    assert REMOTE in text
    assert "\x1b" not in text


# -- changing


def operations(result: Result) -> list[tuple[str, str]]:
    return [(each.kind, each.state) for each in OperationList.model_validate_json(result.stdout).items]


def test_without_a_daemon_the_request_stays_queued(run: Run, state: SqlState) -> None:
    result = run("holds", "confirm", REMOTE, "--yes", "--timeout", "0", "--reason", "looked at", "-o", "json")
    assert result.exit_code == 4
    assert operations(result) == [("confirm", "pending")]
    assert "stays queued" in result.stderr
    with state.transaction() as tx:
        (waiting,) = tx.pending_operations(10)
    assert waiting.arguments == {
        "path": REMOTE,
        "stamp": str(NEW),
        "reason": "first-contact",
        "since": str(NOW),
        "known": str(NEW),
        "stored": str(FOUND),
        "digest": registers(state, REMOTE).stored_digest.hex(),  # type: ignore[union-attr]  # something is seated
    }, "it says what was shown"
    assert waiting.reason == "looked at"
    assert "@" in waiting.asked_by


def test_confirm_lets_a_remote_change_pass(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "confirm", REMOTE, "--yes", "-o", "json")
    assert (result.exit_code, operations(result)) == (0, [("confirm", "done")])
    register = registers(state, REMOTE)
    assert (register.hold, register.allowed) == (None, NEW)


def test_confirm_publishes_a_local_delete(run: Run, state: SqlState, daemon: Driver) -> None:
    good(run("holds", "confirm", LOCAL, "--yes"))
    with state.transaction() as tx:
        assert [row.event.path for row in tx.outbox(10)] == [LOCAL]
        assert tx.held_publication(LOCAL) is None


def test_confirm_releases_an_event_from_the_future(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "confirm", FUTURE, "--yes", "-o", "json")
    assert operations(result) == [("release", "done")]
    known = registers(state, FUTURE).known
    assert known is not None
    assert known.stamp == at(90_000_000, THERE)


def test_confirm_takes_all_or_those_of_one_reason(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "confirm", "--all", "--only", "mass-delete", "--yes", "-o", "json")
    assert operations(result) == [("confirm", "done")]
    result = run("holds", "confirm", "--all", "--yes", "-o", "json")
    assert sorted(operations(result)) == [("confirm", "done"), ("release", "done")]
    assert good(run("holds", "list")) == ""


def test_a_script_says_what_it_has_seen(run: Run, state: SqlState, daemon: Driver) -> None:
    """What was listed before may be another change by now."""
    (listed,) = (
        each
        for each in HoldList.model_validate_json(good(run("holds", "list", "-o", "json"))).items
        if each.path == REMOTE
    )
    assert (listed.stamp, listed.known, listed.stored) == (str(NEW), str(NEW), str(FOUND))
    for verb in ("confirm", "reject"):
        stale = run("holds", verb, REMOTE, "--stamp", str(OLD), "--yes")
        assert stale.exit_code == 5
        assert "another change is held now" in stale.stderr
    assert run("holds", "confirm", "--all", "--stamp", listed.stamp, "--yes").exit_code == 2
    good(run("holds", "confirm", REMOTE, "--stamp", listed.stamp, "--yes"))
    shown = ConflictDetail.model_validate_json(good(run("conflicts", "show", "1", "-o", "json")))
    assert (shown.known, shown.stored) == (str(NEW), str(NEW))
    stale = run("conflicts", "restore", "1", "--over", str(OLD), "--yes")
    assert stale.exit_code == 5
    assert "Look at it again" in stale.stderr
    good(run("conflicts", "restore", "1", "--over", str(shown.known), "--yes"))


def test_what_changes_while_the_operator_types_is_not_decided(
    run: Run, state: SqlState, daemon: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has fetched what it shows; the daemon goes on meanwhile."""
    later = of(QUIET, event(Y, at(-1_000, THERE), NEW))

    def slow(*_: object, **__: object) -> None:
        with parts_of(daemon).core.state.transaction() as tx:
            unit = parts_of(daemon).units.begin(tx, Millis(NOW))
            unit.load((QUIET,))
            unit.take(parts_of(daemon).core.replica.fold(unit[QUIET], later, Millis(NOW)))
            unit.store()

    monkeypatch.setattr("syncer.cli.operations.agree", slow)
    result = run("conflicts", "restore", "1", "--yes")
    assert result.exit_code == 5
    assert "Look at it again with 'syncer conflicts show 1'" in " ".join(result.stdout.split())
    known = registers(state, QUIET).known
    assert known is not None
    assert known.stamp == later.stamp


def test_reject_says_first_that_our_value_wins_everywhere(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "reject", REMOTE)
    assert result.exit_code == 5, "nobody is there to type the path"
    assert "OUR value would win EVERYWHERE" in result.stderr
    assert "third choice" in result.stderr
    assert registers(state, REMOTE).hold is not None
    good(run("holds", "reject", REMOTE, "--yes"))
    register = registers(state, REMOTE)
    assert register.hold is None
    assert register.wish is not None


def test_reject_of_a_local_delete_takes_it_back(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "reject", LOCAL, "--yes", "-o", "json")
    assert operations(result) == [("undo", "done")]
    assert "taken back" in result.stderr
    assert registers(state, LOCAL).hold is None


def test_an_event_from_the_future_that_is_rejected_is_dropped(run: Run, state: SqlState, daemon: Driver) -> None:
    result = run("holds", "reject", FUTURE, "--yes", "-o", "json")
    assert operations(result) == [("decline", "done")]
    assert "clock" in result.stderr
    assert run("holds", "reject", FUTURE, "--yes").exit_code != 0, "nothing is held there any more"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["confirm"], 2),
        (["confirm", REMOTE, "--all"], 2),
        (["confirm", REMOTE, "--only", "x"], 2),
        (["confirm", QUIET, "--yes"], 1),
        (["reject", "--all", "--only", "flipping", "--yes"], 1),
    ],
)
def test_what_holds_cannot_do_is_said(arguments: list[str], code: int, run: Run) -> None:
    result = run("holds", *arguments)
    assert result.exit_code == code
    assert result.stdout == ""


def test_a_person_types_the_name_of_what_it_is_about(
    run: Run, state: SqlState, daemon: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncer.cli.confirmation.attended", lambda: True)
    assert run("holds", "confirm", REMOTE, stdin="yes\n").exit_code == 5
    assert registers(state, REMOTE).hold is not None
    good(run("holds", "confirm", REMOTE, stdin=f"{REMOTE}\n"))
    assert registers(state, REMOTE).hold is None


def test_restore_makes_the_loser_the_newest(run: Run, state: SqlState, daemon: Driver) -> None:
    good(run("conflicts", "restore", "1", "--yes"))
    known = registers(state, QUIET).known
    assert known is not None
    assert known.value == X
    assert known.stamp.region == HERE
    assert known.stamp.updated_at_ms > NEW.updated_at_ms
    assert ConflictList.model_validate_json(good(run("conflicts", "list", "-o", "json"))).items == []
    assert len(ConflictList.model_validate_json(good(run("conflicts", "list", "--all", "-o", "json"))).items) == 1
    assert run("conflicts", "restore", "2", "--yes").exit_code == 1


def test_a_conflict_is_forgotten_by_its_number_or_by_who_has_lost(run: Run, state: SqlState, daemon: Driver) -> None:
    def numbers() -> list[int]:
        found = ConflictList.model_validate_json(good(run("conflicts", "list", "--all", "-o", "json")))
        return [each.id for each in found.items]

    assert numbers() == [1]
    for wrong in ((), ("1", "--by", "there")):
        assert run("conflicts", "discard", *wrong, "--yes").exit_code == 2
    assert run("conflicts", "discard", "1").exit_code == 5, "it asks first"
    assert run("conflicts", "discard", "77", "--yes").exit_code == 1
    assert run("conflicts", "discard", "--by", "nobody", "--yes").exit_code == 1
    assert numbers() == [1]
    with state.transaction() as tx:
        row = tx.conflict_row(1)
    assert row is not None
    good(run("conflicts", "discard", "--by", row.loser.region, "--yes"))
    assert numbers() == []


def test_quarantine_is_retried_or_thrown_away(run: Run, state: SqlState, daemon: Driver) -> None:
    assert operations(run("quarantine", "retry", "1", "-o", "json")) == [("quarantine-retry", "done")]
    assert run("quarantine", "discard", "1", "--yes").exit_code == 1, "it left the quarantine"
    with state.transaction() as tx:
        tx.quarantine(DeadLetter(origin="bus", code="payload-invalid", detail="x", position="9"), Millis(NOW))
    assert run("quarantine", "discard", "2").exit_code == 5
    good(run("quarantine", "discard", "2", "--yes"))
    assert QuarantineList.model_validate_json(good(run("quarantine", "list", "-o", "json"))).items == []


def test_pause_and_resume(run: Run, state: SqlState, daemon: Driver) -> None:
    good(run("pause", "--reason", "maintenance"))
    found = StatusDocument.model_validate_json(good(run("status", "-o", "json")))
    assert found.paused == "maintenance"
    assert "paused: maintenance" in good(run("status"))
    assert run("pause", "--everywhere").exit_code == 5
    good(run("pause", "--everywhere", "--yes"))
    good(run("resume"))
    assert StatusDocument.model_validate_json(good(run("status", "-o", "json"))).paused is None


def test_a_failed_operation_leaves_with_the_exit_code_of_its_error(run: Run, state: SqlState, daemon: Driver) -> None:
    with state.transaction() as tx:
        held = registers_in(tx, REMOTE)
        tx.save([replace(held, hold=hold(HoldReason.UNREADABLE, NEW))])
    result = run("holds", "confirm", REMOTE, "--yes", "-o", "json")
    assert result.exit_code == 5
    (operation,) = OperationList.model_validate_json(result.stdout).items
    assert (operation.state, operation.code) == ("failed", "precondition-failed")


def registers_in(tx: Any, path: MetaPath) -> Register:
    found: Register = tx.registers([path])[path]
    return found


# -- mistakes and the contract


def test_a_database_of_another_region_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"here"', '"elsewhere"'), encoding="utf-8")
    result = run("status")
    assert result.exit_code == 78
    assert "error: the sidecar database belongs to region here" in result.stderr
    assert "hint: " in result.stderr


def test_a_database_that_is_not_there_is_said(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("state.db", "absent.db"), encoding="utf-8")
    result = run("status")
    assert result.exit_code == 4
    assert "there is no sidecar database" in result.stderr


# -- the database itself


def findings(result: Result) -> dict[str, bool]:
    found = StateCheckDocument.model_validate_json(result.stdout)
    assert found.sound is all(each.ok for each in found.items)
    assert found.sound is (result.exit_code == 0)
    return {each.check: each.ok for each in found.items}


def test_a_sound_database_is_said_to_be_sound(run: Run) -> None:
    expected = [
        "file",
        "schema",
        "registers",
        "living paths",
        "outbox",
        "consumed",
        "records",
        "migrations",
        "moves",
        "jobs",
        "audits",
    ]
    assert findings(run("state", "check", "-o", "json")) == dict.fromkeys(expected, True)
    text = good(run("state", "check"))
    assert all(name in text for name in expected)


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        ("UPDATE registers SET due = 1 - due WHERE path = '/admin/policies/quiet'", "registers"),
        ("UPDATE registers SET k_seen = 'no JSON' WHERE path = '/admin/policies/quiet'", "registers"),
        ("UPDATE identity SET alive_count = alive_count + 1", "living paths"),
        ("INSERT INTO consumed (sender, through, ahead) VALUES ('x', 5, '[6]')", "consumed"),
        ("INSERT INTO consumed (sender, through, ahead) SELECT database_id, 5, '[]' FROM identity", "consumed"),
        ("UPDATE registers SET hold_local = 0 WHERE path = '/admin/policies/held-local'", "records"),
        ("UPDATE journal SET path = ''", "records"),
    ],
)
def test_what_does_not_agree_is_named(run: Run, tmp_path: Path, state: SqlState, damage: str, check: str) -> None:
    state.close()
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as database:
        assert database.execute(damage).rowcount > 0
    result = run("state", "check", "-o", "json")
    assert [name for name, ok in findings(result).items() if not ok] == [check]
    assert "it is rebuilt from the peers" in result.stderr
    assert run("state", "check").exit_code == 1


def test_a_damaged_file_is_named(run: Run, tmp_path: Path, state: SqlState) -> None:
    state.close()
    file = tmp_path / "state.db"
    pages = bytearray(file.read_bytes())
    pages[4096 * 2 :] = b"\xff" * (len(pages) - 4096 * 2)
    file.write_bytes(bytes(pages))
    result = run("state", "check", "-o", "json")
    assert result.exit_code == 1
    assert findings(result) == {"file": False}


def test_compacting_gives_back_what_is_not_used(run: Run, tmp_path: Path, state: SqlState) -> None:
    with state.transaction() as tx:
        old = Journal(path=QUIET, decision=Decision.PUBLISHED, stamp=OLD, detail="x" * 2000)
        tx.journal([old] * 500, Millis(5))
    state.close()
    found = CompactDocument.model_validate_json(good(run("state", "compact", "-o", "json")))
    assert found.rows_dropped >= 500
    assert found.bytes_after == (tmp_path / "state.db").stat().st_size < found.bytes_before
    assert findings(run("state", "check", "-o", "json"))["file"]
    assert "rows dropped" in good(run("state", "compact"))


def test_a_database_on_which_a_daemon_works_is_not_compacted(run: Run, state: SqlState) -> None:
    with state.transaction() as tx:
        tx.save_status({}, Millis(time.time_ns() // 1_000_000))
    result = run("state", "compact")
    assert result.exit_code == 5
    assert "a daemon works on this database" in result.stderr


def test_a_database_beside_which_a_standby_waits_is_not_compacted(run: Run, tmp_path: Path, state: SqlState) -> None:
    state.close()
    url = f"sqlite:///{tmp_path / 'state.db'}"
    standby = Presence(url, host="here", pid=7, version="1", clock=wall_clock)
    with closing(standby):
        standby.report(DaemonRole.STANDBY)
        result = run("state", "compact")
        assert result.exit_code == 5
        assert "a daemon works on this database" in result.stderr
        standby.leave()
    good(run("state", "compact"))


def test_a_file_that_somebody_has_open_is_not_compacted(run: Run, tmp_path: Path, state: SqlState) -> None:
    """A daemon that hangs says nothing, but holds its file."""
    with state.transaction() as tx:
        tx.journal([Journal(path=QUIET, decision=Decision.PUBLISHED, stamp=OLD)], Millis(5))
    with pytest.raises(PreconditionFailed, match=r"somebody else has .*state\.db open"):
        compact(
            f"sqlite:///{tmp_path / 'state.db'}", HERE, journal_retention_s=60, audit_retention_s=60, busy_timeout_s=0.1
        )
    with state.transaction() as tx:
        assert tx.prune(Millis(6), 9) == 1, "nothing is gone, and it still is the writer"
        tx.journal([Journal(path=QUIET, decision=Decision.PUBLISHED, stamp=OLD)], Millis(5))
    state.close()
    assert CompactDocument.model_validate_json(good(run("state", "compact", "-o", "json"))).rows_dropped >= 1


def test_nothing_is_checked_or_compacted_where_there_is_none(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("state.db", "absent.db"), encoding="utf-8")
    for verb in ("check", "compact"):
        result = run("state", verb)
        assert result.exit_code == 4
        assert "there is no sidecar database" in result.stderr
    assert not (tmp_path / "absent.db").exists()


def test_a_person_says_whom_a_rebuild_need_not_wait_for(run: Run, state: SqlState) -> None:
    renewed = state.renew(2, "s", Rebuild(phase=Phase.HEARING, reason="lost").encode())
    driver = Driver(Replica(Settings(region=HERE)), Scope(), state, CAPABILITIES, identity=renewed)
    with performing(driver):
        text = good(run("state", "rebuild", "--without", "there", "--yes"))
        assert "not waited for: there" in text
        assert driver.hearing
        kept = rebuild.of(parts_of(driver).recovery)
        assert kept is not None
        assert (kept.without, kept.alone) == ((THERE,), False)
        refused = run("holds", "confirm", REMOTE, "--yes")
        assert refused.exit_code != 0, "nothing can be decided meanwhile"
        found = OperationList.model_validate_json(good(run("state", "rebuild", "--alone", "--yes", "-o", "json")))
        assert "becomes a baseline" in (found.items[0].answer or "")
    assert run("state", "rebuild").exit_code == 2
    assert run("state", "rebuild", "--without", "a,b", "--yes").exit_code == 5


def test_nobody_is_waited_for_where_nothing_is_rebuilt(run: Run, daemon: Driver) -> None:
    assert not daemon.hearing
    assert "nothing is being rebuilt" in good(run("state", "rebuild", "--alone", "--yes"))


def test_the_committed_contract_is_what_is_printed() -> None:
    from pydantic.json_schema import models_json_schema

    every: list[tuple[type[Document], Any]] = [(model, "serialization") for model in DOCUMENTS]
    _, document = models_json_schema(every, title="Output of syncer -o json")
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    assert CONTRACT.read_text(encoding="utf-8") == text, (
        "fields may be added, none may change or go: then write the new schema to docs/reference/cli-output.schema.json"
    )


def test_first_contact_is_a_plan_before_anything_passes(run: Run, state: SqlState, daemon: Driver) -> None:
    plan = FirstContactPlan.model_validate_json(good(run("regions", "join", "-o", "json")))
    assert (plan.replaced, plan.deleted, plan.authors) == (1, 0, {"there": 1})
    assert [(each.path, each.ours, each.theirs) for each in plan.items] == [(REMOTE, str(FOUND), str(NEW))]
    shown = run("regions", "join")
    assert "replaced" in good(shown)
    assert "nothing was changed" in shown.stderr
    assert registers(state, REMOTE).hold is not None
    assert run("regions", "join", "--confirm").exit_code == 5
    assert registers(state, REMOTE).hold is not None
    result = run("regions", "join", "--confirm", "--yes", "-o", "json")
    assert operations(result) == [("regions-join", "done")]
    assert registers(state, REMOTE).hold is None
    assert registers(state, REMOTE).allowed == NEW
    assert registers(state, LOCAL).hold is not None


def test_a_region_that_waits_shows_all_that_is_due_and_then_takes_part(
    run: Run, state: SqlState, daemon: Driver
) -> None:
    with state.transaction() as tx:
        tx.set_identity(paused=JOINING)
    parts_of(daemon).group.paused = JOINING
    plan = FirstContactPlan.model_validate_json(good(run("regions", "join", "-o", "json")))
    assert plan.waits
    with state.transaction() as tx:
        due = {register.path for register in tx.due(100) if register.known is not None}
        assert plan.sent == len(tx.outbox(100))
    assert {each.path for each in plan.items} <= due
    assert REMOTE in {each.path for each in plan.items}
    assert len(plan.items) == plan.created + plan.replaced + plan.deleted
    shown = run("regions", "join")
    assert "values of this region are sent" in shown.stderr
    assert "would let this region take part" in shown.stderr
    assert [run(verb).exit_code for verb in ("pause", "resume")] == [5, 5]
    result = run("regions", "join", "--confirm", "--yes", "-o", "json")
    assert operations(result) == [("regions-join", "done")]
    with state.transaction() as tx:
        assert tx.identity().paused is None
    assert registers(state, REMOTE).hold is not None, "what differs waits for a second look"


def test_a_region_that_spoke_lately_is_not_forgotten_without_force(run: Run, state: SqlState, daemon: Driver) -> None:
    refused = run("regions", "forget", "there", "--yes")
    assert refused.exit_code == 5
    assert "it is there" in refused.stdout
    assert run("regions", "forget", "nobody", "--yes").exit_code == 1
    assert run("regions", "forget", "here", "--yes").exit_code == 5
    result = run("regions", "forget", "there", "--force", "--yes", "-o", "json")
    assert operations(result) == [("regions-forget", "done")]
    found = RegionList.model_validate_json(good(run("regions", "list", "-o", "json")))
    assert [(each.region, each.member) for each in found.items] == [("here", True), ("there", False)]
    with state.transaction() as tx:
        assert tx.peers()[0].document["refused"] == ["db-there"]


def test_a_region_leaves_only_once(run: Run, state: SqlState, daemon: Driver) -> None:
    parts_of(daemon).local.watch.scanned = True
    with state.transaction() as tx:
        tx.enqueue([of(QUIET, event(X, OLD))])
        tx.acknowledged([row.sequence for row in tx.outbox(100)])
    behind = run("regions", "leave", "--yes")
    assert behind.exit_code == 5
    assert "not every member has said that it has all changes of this region: there has 0 of" in behind.stdout
    result = run("regions", "leave", "--force", "--yes", "-o", "json")
    assert operations(result) == [("regions-leave", "done")]
    refused = [run("regions", "leave", "--yes", "-o", "json"), run("resume", "-o", "json")]
    assert [each.exit_code for each in refused] == [5, 5]
    assert all("under a region id that was never used" in each.stdout for each in refused), "what to do is said"
    for words in (("regions", "join"), ("regions", "join", "--confirm", "--yes")):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (5, "")
        assert "under a region id that was never used" in result.stderr
    with state.transaction() as tx:
        assert tx.membership().left_at == NOW


def test_a_region_with_unpublished_changes_does_not_leave(run: Run, state: SqlState, daemon: Driver) -> None:
    parts_of(daemon).local.watch.scanned = True
    with state.transaction() as tx:
        tx.enqueue([of(QUIET, event(X, OLD))])
    refused = run("regions", "leave", "--yes")
    assert refused.exit_code == 5
    assert "not published yet" in refused.stdout
