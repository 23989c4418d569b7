"""Repair plans over HTTP: shown first, told by their checksum, once for each key; what is no plan leaves nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import pytest

from api.uploads import MAX_UPLOAD_BYTES
from syncer.config.model import Config
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.jobs.plans import plan_file
from syncer.model import Millis, Revision
from syncer.repair.loading import bring_in
from syncer.repair.repair_file import Head, RepairFile, write
from syncer.replacing import replace
from syncer.replication.driver import Driver
from syncer.state.contract.jobs import JobEnd, JobKind, JobState
from syncer.state.contract.operations import Asked
from syncer.state.contract.repairs import RepairState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.contract import Written
from syncer.waiting import WAIT_S, wait_until
from tests.api.conftest import Region
from tests.api.routes_table import API
from tests.support.jobs import ended, succeeded
from tests.support.parts import parts_of
from tests.support.region_database import CAPABILITIES
from tests.support.working import repeating
from tests.unit.cli.commands.snapshots.test_sync import findings, head
from tests.unit.registers import HERE

SYNCS: Final = f"{API}/snapshot-syncs"
FORCED: Final = f"{API}/snapshot-syncs-by-force"
ASKED: Final = f"{SYNCS}?reason=TICKET-7"
REAL: Final = f"{ASKED}&dry_run=false"
WAIT: Final = {"Prefer": "wait=30"}
DAY_MS: Final = 86_400_000


def now() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


@contextmanager
def telling(state: SqlState, *, repairs: bool = True) -> Iterator[Driver]:
    """A driver that does what it is asked, and tells repairs, at this machine's time; or it begins them, no more."""
    with state.transaction() as tx:
        tx.set_identity(first_scan_done=True, generation=1)
    driver = Driver(Replica(Settings(region=HERE)), Scope(), state, CAPABILITIES)
    raised = driver.raise_fence(None, "a store", now())
    driver.activated(raised, Written(path=raised.path, revision=Revision("1")), now())
    parts_of(driver).recovery.progress.unheard.clear()

    def step() -> None:
        driver.operate(now())
        if repairs:
            driver.repair(now())

    with repeating(step):
        yield driver


def plan(folder: Path, count: int = 2, deletes: int = 0, made: Head | None = None) -> bytes:
    file = folder / "made.jsonl"
    file.unlink(missing_ok=True)
    write(file, made or head(now() - 1_000), findings(count, deletes))
    return file.read_bytes()


def sent(region: Region, path: str, content: bytes, by: str = "operate", **headers: str) -> Any:
    return region.ask("POST", path, by, content=content, headers=headers)


def shown(region: Region, path: str, content: bytes, by: str = "operate") -> dict[str, str]:
    """The header by which it is told."""
    answer = sent(region, path, content, by)
    assert answer.status_code == 200, answer.text
    return {"If-Match": answer.headers["etag"]}


def left(views: Views, folder: Path) -> tuple[list[Any], list[Any], list[str]]:
    """Of operations, repairs, and files whose name we have not given."""
    databases = {f"{name}.db{end}" for name in ("state", "s", "b") for end in ("", "-wal", "-shm")}
    known = {*databases, "config.toml", "made.jsonl"}
    return views.operations(10), views.repairs(10), sorted({each.name for each in folder.iterdir()} - known)


def test_a_plan_is_shown_and_told_by_its_checksum(
    region: Region, state: SqlState, views: Views, tmp_path: Path
) -> None:
    content = plan(tmp_path)
    dry = sent(region, ASKED, content)
    assert (dry.status_code, dry.json()["paths"], dry.json()["objections"]) == (200, 2, [])
    assert dry.headers["etag"] == f'"{dry.json()["sha256"]}"'
    assert [each["path"] for each in dry.json()["items"]] == ["/admin/policies/t0", "/admin/policies/t1"]
    assert left(views, tmp_path) == ([], [], [])
    with telling(state):
        answer = sent(region, REAL, content, **{"If-Match": dry.headers["etag"]}, **WAIT)
        assert answer.status_code == 200, answer.text
        (operation,) = answer.json()["items"]
        assert (operation["kind"], operation["asked_by"], operation["reason"]) == (
            "snapshot-sync",
            "operate",
            "TICKET-7",
        )
        number = operation["arguments"]["repair"]
        wait_until(lambda: region.get(f"{SYNCS}/{number}", "read").json()["state"] != "running", "the run is over")
        found = region.get(f"{SYNCS}/{number}", "read").json()
    assert (found["state"], found["told"], found["refused"]) == ("done", 2, 0)
    over = region.ask("DELETE", f"{SYNCS}/{number}?reason=enough", "operate")
    assert (over.status_code, over.json()["code"]) == (412, "precondition-failed")


def test_without_the_checksum_or_by_another_one_nothing_is_told(region: Region, views: Views, tmp_path: Path) -> None:
    content = plan(tmp_path)
    bare = sent(region, REAL, content)
    assert (bare.status_code, bare.json()["code"]) == (428, "precondition-required")
    other = shown(region, ASKED, plan(tmp_path, 3))
    answer = sent(region, REAL, content, **other)
    assert (answer.status_code, answer.json()["now"]["paths"]) == (412, 2)
    assert {"If-Match": answer.headers["etag"]} == shown(region, ASKED, content)
    assert left(views, tmp_path) == ([], [], [])


def test_what_is_repeated_with_its_key_is_brought_in_once(region: Region, views: Views, tmp_path: Path) -> None:
    content = plan(tmp_path)
    headers = {**shown(region, ASKED, content), "Idempotency-Key": "one"}
    first, again = sent(region, REAL, content, **headers), sent(region, REAL, content, **headers)
    assert first.status_code == again.status_code == 202
    assert first.json() == again.json()
    other = sent(region, REAL, plan(tmp_path, 3), **headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    assert (len(views.operations(10)), len(views.repairs(10))) == (1, 1)


@pytest.mark.parametrize("whole", [False, True])
def test_a_repeat_is_told_to_its_end_though_a_crash_has_left_what_was_brought_in_before(
    whole: bool, region: Region, state: SqlState, views: Views, tmp_path: Path
) -> None:
    content = plan(tmp_path)
    headers = {**shown(region, ASKED, content), "Idempotency-Key": "one"}
    left_over = bring_in(
        views, RepairFile(tmp_path / "made.jsonl"), Asked(by="operate", reason="TICKET-7"), made_at_ms=now()
    )
    if not whole:
        views.end_loading(replace(left_over, state=RepairState.LOADING))
    with telling(state):
        first = sent(region, REAL, content, **headers, **WAIT)
        again = sent(region, REAL, content, **headers, **WAIT)
        assert (first.status_code, again.json()) == (200, first.json()), first.text
        number = first.json()["items"][0]["arguments"]["repair"]
        wait_until(lambda: region.get(f"{SYNCS}/{number}", "read").json()["state"] != "running", "the run is over")
        found = region.get(f"{SYNCS}/{number}", "read").json()
    assert (found["state"], found["told"], len(views.operations(10))) == ("done", 2, 1)
    before = views.repair(left_over.id)
    assert before is not None
    assert (before.state, before.told) == (RepairState.READY if whole else RepairState.LOADING, 0)


def test_many_at_once_bring_it_in_once(region: Region, views: Views, tmp_path: Path) -> None:
    content = plan(tmp_path)
    headers = {**shown(region, ASKED, content), "Idempotency-Key": "one"}
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(sent(region, REAL, content, **headers).json())) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert len(found) == 4
    assert all(each == found[0] for each in found)
    assert (len(views.operations(10)), len(views.repairs(10))) == (1, 1)


def test_one_that_waits_is_ended(region: Region, state: SqlState, tmp_path: Path) -> None:
    content = plan(tmp_path)
    answer = sent(region, REAL, content, **shown(region, ASKED, content))
    number = answer.json()["items"][0]["arguments"]["repair"]
    assert region.ask("DELETE", f"{SYNCS}/{number}", "operate").status_code == 422, "a reason is wanted"
    assert region.ask("DELETE", f"{SYNCS}/{number}?reason=enough", "operate").status_code == 202
    with telling(state):
        wait_until(lambda: region.get(f"{SYNCS}/{number}").json()["state"] == "cancelled", "it is ended")
        found = region.get(f"{SYNCS}/{number}").json()
    assert found["detail"] == "enough"


def test_what_deletes_too_much_or_is_too_old_is_told_by_force_alone(
    region: Region, views: Views, tmp_path: Path
) -> None:
    content = plan(tmp_path, 20, 15, head(now() - 365 * DAY_MS))
    dry = sent(region, ASKED, content)
    assert [each.partition(" ")[0] for each in dry.json()["objections"]] == ["the", "15"]
    refused = sent(region, REAL, content, **{"If-Match": dry.headers["etag"]})
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition-failed")
    assert left(views, tmp_path) == ([], [], [])
    query = "?reason=TICKET-7&allow_deletes=true&force_old=true"
    assert sent(region, FORCED + query, content).json()["code"] == "forbidden"
    unknown = sent(region, ASKED + "&allow_deletes=true&force_old=true", content)
    assert (unknown.status_code, unknown.json()["code"]) == (422, "request-invalid"), "not without force"
    tag = shown(region, FORCED + query, content, "admin")
    assert sent(region, f"{FORCED}{query}&dry_run=false", content, "admin", **tag).status_code == 202
    (asked,) = views.operations(10)
    assert (asked.arguments["allow_deletes"], asked.arguments["force_old"]) == ("true", "true")


def test_what_the_daemon_refuses_has_its_code(region: Region, state: SqlState, tmp_path: Path) -> None:
    made = head(now() - 1_000)
    part = made.regions[0].model_copy(update={"region": "stranger"})
    content = plan(tmp_path, made=made.model_copy(update={"regions": (*made.regions, part)}))
    tag = shown(region, ASKED, content)
    with telling(state):
        answer = sent(region, REAL, content, **tag, **WAIT)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert "stranger: not a region of the group" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b'{"format": "other"}\n', "no repair plan"),
        (b"\x00\xff" * 1_000 + b"\n", "no JSON"),
        (b"x" * (17 << 20) + b"\n", "too long"),
    ],
)
@pytest.mark.parametrize("path", [ASKED, REAL])
def test_what_is_no_plan_leaves_nothing(
    content: bytes, said: str, path: str, region: Region, views: Views, tmp_path: Path
) -> None:
    answer = sent(region, path, content, **{"If-Match": '"x"'})
    assert (answer.status_code, answer.json()["code"]) == (422, "plan-invalid")
    assert said in answer.json()["detail"]
    assert str(tmp_path) not in answer.text
    assert left(views, tmp_path) == ([], [], [])


def test_what_was_cut_off_or_edited_leaves_nothing(region: Region, views: Views, tmp_path: Path) -> None:
    content = plan(tmp_path)
    for damaged in (content[:-3], content.replace(b"/t1", b"/t9"), content + b"{}\n", content[: len(content) // 2]):
        answer = sent(region, ASKED, damaged)
        assert (answer.status_code, answer.json()["code"]) == (422, "plan-invalid")
    foreign = head(now(), {"tenant": "another"})
    answer = sent(region, ASKED, plan(tmp_path, made=foreign))
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert left(views, tmp_path) == ([], [], [])


def test_what_is_too_large_is_refused_as_soon_as_it_is(region: Region, views: Views, tmp_path: Path) -> None:
    told = region.ask("POST", ASKED, "operate", content=b"x", headers={"Content-Length": str(500 << 20)})
    assert (told.status_code, told.json()["code"]) == (413, "body-too-large")

    def endless() -> Iterator[bytes]:
        for _ in range(1_000):
            yield b"x" * (1 << 20)

    grown = region.ask("POST", ASKED, "operate", content=endless())
    assert (grown.status_code, grown.json()["code"]) == (413, "body-too-large")
    assert str(MAX_UPLOAD_BYTES) in grown.json()["detail"]
    assert left(views, tmp_path) == ([], [], [])


def test_nothing_is_kept_of_who_may_not(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr("api.uploads.tempfile.TemporaryFile", lambda **options: made.append(options))
    for by, status in (("nobody", 401), ("read-values", 403)):
        assert region.ask("POST", ASKED, by, content=b"x" * 1_000_000).status_code == status
    assert made == []


def test_no_room_is_told_as_such(region: Region, views: Views, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, **_: object) -> None: ...
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...
        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("api.uploads.tempfile.TemporaryFile", Full)
    answer = sent(region, ASKED, b"x")
    assert (answer.status_code, answer.json()["code"]) == (507, "disk-full")
    assert left(views, tmp_path) == ([], [], [])


# -- by a job


@pytest.fixture
def folder(region: Region, config: Config, tmp_path: Path) -> Path:
    """Where jobs keep their plans."""
    made = config.model_copy(
        update={"snapshots": config.snapshots.model_copy(update={"folder": str(tmp_path / "pics")})}
    )
    region.inside.config = made
    assert made.snapshots.workplace is not None
    plan_file(made.snapshots.workplace, "r1").parent.mkdir(parents=True)
    return made.snapshots.workplace


def test_a_plan_that_a_job_has_made_is_meant_by_its_number(
    region: Region, state: SqlState, tmp_path: Path, folder: Path
) -> None:
    content = plan(tmp_path)
    plan_file(folder, "r1").write_bytes(content)
    output = {"different": 2, "plan": {"file": str(plan_file(folder, "r1")), "paths": 2, "deletes": 0, "unstamped": 0}}
    number = ended(state, JobKind.DIFF, succeeded(output), plan=True)
    job = region.get(f"{API}/jobs/{number}", "read")
    assert job.json()["output"]["plan"] == {"paths": 2, "deletes": 0, "unstamped": 0}
    assert str(tmp_path) not in job.text
    dry = region.ask("POST", f"{ASKED}&job={number}", "operate")
    assert (dry.status_code, dry.json()["paths"]) == (200, 2)
    assert {"If-Match": dry.headers["etag"]} == shown(region, ASKED, content), "it is the same plan"
    tag = {"If-Match": dry.headers["etag"]}
    assert region.ask("POST", f"{REAL}&job={number}", "operate", headers=tag).status_code == 202


def test_a_job_without_a_plan_here_is_named(region: Region, state: SqlState, folder: Path) -> None:
    gone = ended(state, JobKind.DIFF, succeeded({"different": 1}), plan=True)
    none = ended(state, JobKind.DIFF, succeeded({"different": 1}))
    failed = ended(state, JobKind.DIFF, JobEnd(state=JobState.FAILED, at_ms=Millis(9)), plan=True)
    for number, said in ((gone, socket.gethostname()), (none, "no plan"), (failed, "no plan"), (99, "no job")):
        answer = region.ask("POST", f"{ASKED}&job={number}", "operate")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
        assert said in answer.json()["detail"]
        assert str(folder) not in answer.text
