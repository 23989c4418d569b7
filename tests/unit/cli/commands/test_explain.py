# ruff: noqa: F401 - the fixtures of a database with one of everything are those of its own tests
"""What ``syncer explain`` and ``syncer conflicts show`` say of values: nothing that is not so."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from syncer.cli.render import output
from syncer.cli.render.values import SHOWN_CHARS
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.documents.conflicts import ConflictDetail
from syncer.documents.explain import ExplainDocument
from syncer.documents.status import StatusDocument
from syncer.documents.values import KEPT_BYTES
from syncer.documents.words import stamped, with_times
from syncer.model import MetaPath, Millis, ResourceKind, Stamp
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.sql.database import SqlState
from syncer.stores.sqlite.writer import OutsideWriter
from tests.property.strategies import NOW
from tests.support.region_database import (
    FOUND,
    FUTURE,
    LOCAL,
    QUIET,
    REMOTE,
    Run,
    good,
    of,
    on,
)
from tests.unit.registers import THERE, X, Y, Z, at, event, settled_on, version

BROKEN: Final = MetaPath("/admin/policies/broken")
CLUSTER: Final = MetaPath("/admin/clusters/green")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OutsideWriter]:
    """The region's store: what its registers say, but for the path that cannot be read."""
    with closing(OutsideWriter(tmp_path / "s.db")) as opened:
        opened.put(QUIET, X)
        opened.put(REMOTE, X)
        yield opened


@pytest.fixture
def broken(state: SqlState) -> None:
    """A path whose value became unreadable after it was seated."""
    hold = Hold(reason=HoldReason.UNREADABLE, stamp=at(-5_000, THERE), since_ms=Millis(NOW), detail="no JSON: at 1")
    with state.transaction() as tx:
        tx.save([on(BROKEN, settled_on(X, at(-5_000, THERE)), hold=hold)])
        tx.quarantine(
            DeadLetter(
                origin="store", code="value-invalid", detail="no JSON", position="b", path=BROKEN, payload=b"{nope"
            ),
            Millis(NOW),
        )


def explained(run: Run, path: str, *more: str) -> ExplainDocument:
    return ExplainDocument.model_validate_json(good(run("explain", path, *more, "-o", "json")))


def test_a_value_that_cannot_be_read_is_said_to_be_so(
    run: Run,
    store: OutsideWriter,
    broken: None,
    tmp_path: Path,
) -> None:
    store.put(BROKEN, b"{nope, \x1b[2J")
    found = explained(run, BROKEN)
    assert "the store holds it" not in found.verdict
    assert "the store holds 11 bytes that cannot be read" in found.verdict
    assert found.present is not None
    assert found.present.as_seated is None
    assert found.present.value is not None
    assert (found.present.value.readable, found.present.value.size_bytes) == (False, 11)
    text = good(run("explain", BROKEN))
    assert "11 bytes, unreadable" in text
    assert "11 bytes, no JSON object, sha256" in text
    assert 'beginning "{nope, \\x1b[2J"' in text
    assert "quarantined as 2" in text

    # without the store nothing is said of what it holds now
    asked = explained(run, BROKEN, "--store-timeout", "0")
    assert "the store holds" not in asked.verdict
    assert "what the store was last seen to hold could not be read" in asked.verdict
    assert asked.present is not None
    assert (asked.present.read, asked.present.trouble) == (False, "not asked")

    store.put(BROKEN, X)
    assert "could not be read, and the daemon has not read it since" in explained(run, BROKEN).verdict


def test_what_cannot_be_read_is_in_no_comparison(run: Run, state: SqlState, broken: None) -> None:
    report: dict[str, object] = {"comparisons": {"there": {"state": "equal", "differing": 0, "equal_at_ms": NOW}}}
    with state.transaction() as tx:
        tx.save_status(report, Millis(NOW))
    assert "equal, but for 1 path that cannot be read here" in good(run("status"))
    found = StatusDocument.model_validate_json(good(run("status", "-o", "json")))
    assert (found.waiting.unreadable, found.peers[0].compared) == (1, "equal")
    with state.transaction() as tx:
        tx.save([on(BROKEN, settled_on(X, at(-5_000, THERE)))])
    assert "equal, but for" not in good(run("status"))


def test_bytes_that_are_no_text_are_shown_by_size_digest_and_beginning(
    run: Run,
    store: OutsideWriter,
    broken: None,
) -> None:
    value = bytes(range(128, 256)) * 2000
    store.put(BROKEN, value)
    found = explained(run, BROKEN)
    assert found.present is not None
    assert found.present.value is not None
    assert found.present.value.text is None
    assert base64.b64decode(found.present.value.base64 or "") == value[:KEPT_BYTES]
    assert not found.present.value.whole
    text = good(run("explain", BROKEN))
    assert f"{len(value)} bytes, no JSON object, sha256" in text
    assert '"\\x80\\x81' in text
    assert max(map(len, text.splitlines())) < 400


def test_a_long_value_is_bounded(run: Run, store: OutsideWriter) -> None:
    letters = "é" * KEPT_BYTES
    store.put(QUIET, json.dumps({"adminRoles": [letters]}, ensure_ascii=False).encode())
    found = explained(run, QUIET)
    assert found.present is not None
    assert found.present.value is not None
    assert found.present.value.text is not None
    assert found.present.value.text.startswith('{"adminRoles": ["ééé')
    assert len(found.present.value.text.encode()) <= KEPT_BYTES
    line = next(line for line in good(run("explain", QUIET)).splitlines() if "é" in line)
    assert len(line) < SHOWN_CHARS + 250
    assert "-o json has more" in line


def test_a_document_of_several_lines_is_shown_in_one(run: Run, store: OutsideWriter) -> None:
    store.put(QUIET, b'{\n  "adminRoles": [],\n  "number": 1\n}\n')
    assert '{ "adminRoles": [], "number": 1 }\n' in good(run("explain", QUIET))


def test_the_verdict_is_about_what_stands_in_the_store(run: Run, store: OutsideWriter) -> None:
    assert explained(run, QUIET).verdict.endswith("so it won; the store holds it.")
    store.put(QUIET, Y)
    found = explained(run, QUIET)
    assert found.verdict.endswith("the store holds another value now, which the daemon has not taken yet.")
    assert found.present is not None
    assert found.present.as_seated is False
    store.delete(QUIET)
    assert "the store holds nothing there now" in explained(run, QUIET).verdict
    assert explained(run, QUIET, "--store-timeout", "0").verdict.endswith("the store was last known to hold it.")


def test_a_store_that_does_not_answer_is_said_and_hides_nothing_else(
    run: Run,
    tmp_path: Path,
) -> None:
    (tmp_path / "s.db").write_bytes(b"no database" * 1000)
    found = explained(run, QUIET)
    assert found.present is not None
    assert not found.present.read
    assert found.present.trouble
    assert found.verdict.endswith("the store was last known to hold it.")
    text = good(run("explain", QUIET))
    assert "not read: " in text
    assert "not known: the store was not read" in text


def test_what_every_other_version_would_change_is_shown_as_a_plan_shows_it(
    run: Run,
    store: OutsideWriter,
    state: SqlState,
) -> None:
    found = explained(run, REMOTE)
    (newest,) = found.others
    assert (newest.what, newest.action, newest.stamp) == ("newest", "update", str(at(-5_000, THERE)))
    (change,) = newest.changes
    assert newest.change == f"~ {change.field}: {change.before} → {change.after}"
    assert (change.before, change.after) == _role(X, Y)
    assert newest.change in good(run("explain", REMOTE))

    with state.transaction() as tx:
        tx.hold_event(of(REMOTE, event(None, at(90_000_000, THERE))), Millis(NOW + 1), Millis(NOW))
    newest, future = explained(run, REMOTE).others
    assert (future.what, future.deleted, future.change) == ("from-the-future", True, "- the whole value")

    store.delete(FUTURE)
    (early,) = explained(run, FUTURE).others
    assert (early.action, early.change) == ("create", "+ the whole value")
    assert "+ the whole value" in good(run("explain", FUTURE))

    store.put(QUIET, Z)
    lost, put_aside = explained(run, QUIET).others
    assert (lost.what, lost.number, lost.action) == ("lost", 1, "update")
    assert lost.value is not None
    assert lost.value.text == X.decode()
    assert (put_aside.what, put_aside.action, put_aside.change) == ("quarantined", None, "")


def test_what_is_not_kept_is_not_invented(run: Run, state: SqlState) -> None:
    with state.transaction() as tx:
        tx.save([Register(path=BROKEN, known=version(Y, at(-5_000, THERE), kept=False))])
    (newest,) = explained(run, BROKEN).others
    assert (newest.value, newest.deleted, newest.action) == (None, False, None)
    assert "not kept here" in good(run("explain", BROKEN))
    assert "waits for an operator before it is published: mass-delete" in explained(run, LOCAL).verdict


def test_a_conflict_is_shown_with_both_values_and_their_difference(
    run: Run,
    store: OutsideWriter,
) -> None:
    store.put(QUIET, Y)
    found = ConflictDetail.model_validate_json(good(run("conflicts", "show", "1", "-o", "json")))
    assert found.present is not None
    assert found.present.value is not None
    assert (found.value, found.present.value.text) == (X.decode(), Y.decode())
    (change,) = found.changes
    assert (change.before, change.after) == _role(Y, X)
    text = good(run("conflicts", "show", "1"))
    assert f"lost value              {X.decode()}" in text
    assert f"in the store now        {Y.decode()}" in text
    assert f"a restore would change  ~ {change.field}: {change.before} → {change.after}" in text
    store.put(QUIET, X)
    assert "a restore would change  nothing" in good(run("conflicts", "show", "1"))
    store.put(QUIET, b"}")
    assert "in the store now        1 bytes, no JSON object" in good(run("conflicts", "show", "1"))


def test_a_secret_of_a_cluster_stays_in_the_store(run: Run, store: OutsideWriter, state: SqlState) -> None:
    value = b'{"peerClusterNames": ["blue"], "brokerClientAuthenticationParameters": "token:hush"}'
    with state.transaction() as tx:
        tx.save([on(CLUSTER, settled_on(X, at(-5_000, THERE)))])
    for stored in (value, value[:-1]):
        store.put(CLUSTER, stored)
        for form in ("table", "json"):
            result = run("explain", CLUSTER, "-o", form)
            assert "hush" not in good(result) + result.stderr
    assert "blue" not in good(run("explain", CLUSTER, "-o", "json"))
    store.put(CLUSTER, value)
    assert "blue" in good(run("explain", CLUSTER, "-o", "json"))


def _role(before: bytes, after: bytes) -> tuple[str, str]:
    """The field in which two tenants differ, on both sides."""
    first, second = (PROJECTIONS[ResourceKind.TENANT].project(each) for each in (before, after))
    ((name, old, new),) = [(key, first[key], second[key]) for key in first if first[key] != second[key]]
    assert name
    return json.dumps(old), json.dumps(new)


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        (Stamp(Millis(1_795_362_897_610), THERE), "2026-11-22 15:54:57.610Z there"),
        (FOUND, "found at the first scan of here"),
        (Stamp(Millis(0), THERE), "without a time, there"),
        (Stamp(Millis(10**17), THERE), "100000000000000000 ms there"),
        (None, "-"),
    ],
)
def test_a_stamp_is_shown_as_people_read_times(stamp: Stamp | None, words: str) -> None:
    assert stamped(stamp) == words
    assert stamped(None if stamp is None else str(stamp)) == words


def test_stamps_in_a_text_of_the_daemon_are_shown_alike() -> None:
    said = "b: 1795362897610@us-west.2, and 999999999999@east; 7@x, a1795362897610@y, oldest stamped 1795362897610."
    assert with_times(said) == (
        "b: 2026-11-22 15:54:57.610Z us-west.2, and found at the first scan of east; 7@x, a1795362897610@y, oldest "
        "stamped 2026-11-22 15:54:57.610Z."
    )


def test_no_table_shows_a_number_for_a_time(run: Run, state: SqlState, broken: None, store: OutsideWriter) -> None:
    """In JSON the numbers stay."""
    with state.transaction() as tx:
        tx.quarantine(
            DeadLetter(origin="write", code="x", detail=f"{FOUND}", position=f"{REMOTE} {at(-5_000)}", path=REMOTE),
            Millis(NOW),
        )
    commands = (
        "status", "regions list", "regions join", "events tail", f"explain {QUIET}", f"explain {REMOTE}",
        f"explain {BROKEN}", "conflicts list --all", "conflicts show 1", "holds list", "quarantine list", "parked list",
        "pause --timeout 0", f"holds confirm {REMOTE} --yes --timeout 0", "conflicts restore 1 --yes --timeout 0",
        "regions join --confirm --yes --timeout 0", "conflicts discard --by here --yes --timeout 0",
    )  # fmt: skip
    for command in commands:
        result = run(*command.split())
        assert result.exit_code in {0, 4}, (command, result.stderr)
        assert not re.search(r"\d{12,}", result.stdout + result.stderr), (command, result.stdout, result.stderr)
    assert str(NOW - 5_000) in good(run("holds", "list", "-o", "json"))
    assert "this region" in run("pause", "--timeout", "0").stdout
    assert "all regions" in run("pause", "--everywhere", "--yes", "--timeout", "0").stdout


def test_a_stamp_is_taken_as_the_table_shows_it(run: Run) -> None:
    shown = "2023-11-14 22:13:15.000Z there"
    for stamp in (shown, str(at(-5_000, THERE))):
        assert run("holds", "confirm", REMOTE, "--stamp", stamp, "--yes", "--timeout", "0").exit_code == 4
        assert run("conflicts", "restore", "1", "--over", stamp, "--yes", "--timeout", "0").exit_code == 4
    assert run("holds", "confirm", REMOTE, "--stamp", shown.replace("15", "16"), "--yes").exit_code == 5


def test_a_name_is_the_path_that_is_known_by_it(run: Run, state: SqlState) -> None:
    assert explained(run, "quiet").path == QUIET
    assert explained(run, "parked/ns").path == "/admin/policies/parked/ns"
    with state.transaction() as tx:
        tx.save([on(CLUSTER, settled_on(X, at(-5_000, THERE)))])
    assert explained(run, "green").path == CLUSTER, "no tenant of this name is known"
    with state.transaction() as tx:
        tx.save([on(MetaPath("/admin/policies/green"), settled_on(X, at(-5_000, THERE)))])
    both = run("explain", "green")
    assert both.exit_code == 2
    for path in ("/admin/policies/green", CLUSTER):
        assert path in both.stderr
    assert run("holds", "confirm", "held-remote", "--yes", "--timeout", "0").exit_code == 4
