"""``syncer ledgers history``: audits as the database keeps them, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.ledgers.audit import LedgerAuditDocument, ledger_audit_document
from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
from syncer.ledgers.auditing.findings import findings
from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.auditing.standing import standing
from syncer.model import Millis, Region
from syncer.state.contract.work.ledger_audits import pack_audit
from syncer.state.sql.database import SqlState
from tests.support.stored_ledgers import StoredLedgers

TOPIC: Final = "persistent://acme/orders/t"
Run: TypeAlias = Callable[..., Result]
Keep: TypeAlias = Callable[[StoredLedgers], int]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", Region("here"))) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def keep(state: SqlState) -> Keep:
    """Keep the audit of a store as the active daemon does."""

    def kept(stored: StoredLedgers) -> int:
        return keep_document(state, audited(stored.picture()).model_dump_json().encode())

    return kept


def keep_document(state: SqlState, document: bytes) -> int:
    with state.transaction() as tx:
        return tx.keep_ledger_audit("lab", Millis(1_760_000_000_000), pack_audit(document), whole=True)


def audited(picture: LedgersPicture) -> LedgerAuditDocument:
    found = standing(picture, picture.lost())
    return ledger_audit_document(picture, found, findings(picture, found))


@pytest.fixture
def run(tmp_path: Path, state: SqlState) -> Run:
    del state
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n[state]\npath = "{tmp_path}/state.db"\n'
        '[cluster.lab]\nservice_url = "http://lab:8080"\nbroker_service_url = "pulsar://lab:6650"\n'
        '[cluster.lab.admin]\nurl = "http://lab:8080"\n',
        encoding="utf-8",
    )

    def invoke(*words: str) -> Result:
        command = ["-c", str(file), "ledgers", "history", *words, "--cluster", "lab"]
        return CliRunner().invoke(app, command, catch_exceptions=False)

    return invoke


def well() -> StoredLedgers:
    stored = StoredLedgers().bookies("abcd").topic(TOPIC, 1, 2).put("/ledgers/underreplication/leader", b'"a"')
    return stored.ledger(1, (3, 2, 2), (0, "abc")).ledger(2, (3, 2, 2), (0, "bcd"), last=None)


def harmed() -> StoredLedgers:
    return well().ledger(9, (2, 2, 2), (0, "xy"))


def test_audits_are_listed_the_latest_first_page_by_page(run: Run, keep: Keep) -> None:
    assert "no audit of lab is kept" in run("list").stderr
    numbers = [keep(well()) for _ in range(3)]
    told = KeptAuditList.model_validate_json(run("list", "--limit", "2", "-o", "json").stdout)
    assert ([each.number for each in told.items], told.next) == (numbers[:0:-1], numbers[1])
    text = run("list", "--limit", "2")
    assert "2025-10-09" in text.stdout
    assert f"more: --before {numbers[1]}" in text.stderr
    rest = KeptAuditList.model_validate_json(run("list", "--before", str(numbers[1]), "-o", "json").stdout)
    assert ([each.number for each in rest.items], rest.next) == (numbers[:1], None)


def test_an_audit_is_shown_as_it_was_kept(run: Run, keep: Keep) -> None:
    first, last = keep(well()), keep(harmed())
    found = run("show", "-o", "json")
    assert found.exit_code == 3
    assert LedgerAuditDocument.model_validate_json(found.stdout) == audited(harmed().picture())
    assert "entries-lost" in run("show", str(last)).stdout
    earlier = run("show", str(first))
    assert (earlier.exit_code, "no findings" in earlier.stderr) == (0, True)


def test_changes_tell_what_is_new_and_what_is_gone(run: Run, keep: Keep) -> None:
    first, last = keep(well()), keep(harmed())
    found = run("changes", "-o", "json")
    assert found.exit_code == 3
    told = LedgerChangesDocument.model_validate_json(found.stdout)
    assert (told.before.number, told.after.number, told.alike, told.worse) == (first, last, True, True)
    (lost,) = (each for each in told.findings if each.code == "entries-lost")
    assert (lost.turn, lost.before, lost.after, lost.remedy != "") == ("new", 0, 1, True)
    assert [(each.bookie, each.before) for each in told.bookies] == [("x", None), ("y", None)]
    assert (told.total_before.entries_lost, told.total_after.entries_lost) == (0, 100)
    text = run("changes", str(first), str(last))
    assert "(no reference)  appeared  0 -> 1" in text.stdout
    assert "worse" in text.stderr
    third = keep(well())
    mended = run("changes", "-o", "json")
    assert mended.exit_code == 0
    (gone,) = (
        each
        for each in LedgerChangesDocument.model_validate_json(mended.stdout).findings
        if each.code == "entries-lost"
    )
    assert (gone.turn, gone.before, gone.after) == ("gone", 1, 0)
    same = run("changes", str(first), str(third))
    assert (same.exit_code, same.stdout.count("->")) == (0, 0)
    assert "no finding came, changed or went" in same.stderr


def test_what_was_not_read_alike_is_not_called_gone(run: Run, keep: Keep) -> None:
    keep(harmed())
    partly = well()
    partly.refused.append("/ledgers/00/0000/L0009")
    keep(partly)
    found = run("changes")
    assert "entries-lost  critical  not seen" in found.stdout
    assert "NOT ALIKE" in found.stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("show",), 1, "no audit of lab is kept\nhint: The active daemon audits it on schedule where there is"),
        (("show", "7"), 1, "audit 7 of lab is not kept\nhint: See 'syncer ledgers history list --cluster lab'"),
        (("changes",), 1, "no audit of lab is kept"),
        (("changes", "1", "2"), 1, "audit 2 of lab is not kept"),
    ],
)
def test_what_is_not_kept_is_said(words: tuple[str, ...], status: int, says: str, run: Run) -> None:
    found = run(*words)
    assert (found.exit_code, says in found.stderr) == (status, True), found.output


def test_one_alone_has_no_changes_and_none_is_earlier_than_itself(run: Run, keep: Keep) -> None:
    number = str(keep(well()))
    assert f"no audit of lab before {number} is kept" in run("changes").stderr
    assert f"audit {number} is not earlier than audit {number}" in run("changes", number, number).stderr


@pytest.mark.parametrize("document", [b"{}", b"[", b'{"read": 1}'])
def test_an_audit_that_is_none_is_named(document: bytes, run: Run, state: SqlState) -> None:
    number = keep_document(state, document)
    found = run("show")
    assert found.exit_code != 0
    assert f"audit {number} of lab: it is no audit of ledgers" in found.stderr
    assert "hint: " in found.stderr
