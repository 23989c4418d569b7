"""The history of audits over HTTP: what the commands print on the host, by the same database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from syncer.cli.main import app
from syncer.config import load
from syncer.documents.ledgers.audit import ledger_audit_document
from syncer.ledgers.auditing.findings import findings
from syncer.ledgers.auditing.standing import standing
from syncer.model import Millis
from syncer.state.contract.work.ledger_audits import pack_audit
from syncer.state.sql.database import SqlState
from tests.api.conftest import Afar, Region, document_of
from tests.api.routes_table import API
from tests.support.stored_ledgers import StoredLedgers

CLUSTER: Final = f"{API}/clusters/lab"
ASKED: Final = (("list", "--limit", "1"), ("show",), ("show", "1"), ("changes",), ("changes", "1", "2"))
"""Commands that a daemon answers as this host does."""


@pytest.fixture
def lab(region: Region, state: SqlState, tmp_path: Path) -> Path:
    """The region, which has a cluster of which two audits are kept."""
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\npath = "{tmp_path}/state.db"\n'
        '[cluster.lab]\nservice_url = "http://lab:8080"\nbroker_service_url = "pulsar://lab:6650"\n'
        '[cluster.lab.admin]\nurl = "http://lab:8080"\n',
        encoding="utf-8",
    )
    region.inside.config = load(file)
    stored = StoredLedgers().bookies("abc").topic("persistent://acme/orders/t", 1).ledger(1, (3, 2, 2), (0, "abc"))
    for each in (stored, stored.ledger(2, (1, 1, 1), (0, "z"))):
        picture = each.picture()
        found = standing(picture, picture.lost())
        document = ledger_audit_document(picture, found, findings(picture, found)).model_dump_json()
        with state.transaction() as tx:
            tx.keep_ledger_audit("lab", Millis(picture.taken_ms), pack_audit(document.encode()), whole=True)
    return file


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"{API}/clusters/red/ledger-audits", 404, "not-found"),
        (f"{CLUSTER}/ledger-audits/7", 404, "not-found"),
        (f"{CLUSTER}/ledger-audits/0", 422, "request-invalid"),
        (f"{CLUSTER}/ledger-changes?earlier=2&later=1", 422, "request-invalid"),
        (f"{CLUSTER}/ledger-changes?later=1", 404, "not-found"),
    ],
)
def test_what_cannot_be_asked_is_said(path: str, status: int, code: str, region: Region, lab: Path) -> None:
    answer = region.ask("GET", path, "read")
    assert (answer.status_code, answer.json()["code"], bool(answer.json()["hint"])) == (status, code, True)


def test_another_host_reads_the_same_and_ends_the_same(lab: Path, from_afar: Afar) -> None:
    endings: set[int] = set()
    for words in ASKED:
        command = ["-o", "json", "ledgers", "history", *words, "--cluster", "lab"]
        far, near = from_afar(*command), CliRunner().invoke(app, ["-c", str(lab), *command])
        assert far.exit_code == near.exit_code, far.output
        assert document_of(far) == json.loads(near.stdout), words
        endings.add(near.exit_code)
    assert endings == {0, 3}
