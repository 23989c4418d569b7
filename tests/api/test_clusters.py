"""A cluster's load balancing over HTTP: the commands' documents, by looks that are shared, few, and bounded in time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from typer.testing import CliRunner

from api.inquiries import Inquiries
from syncer.balancer.running import plan_file
from syncer.cli.main import app
from syncer.config import load
from syncer.config.model import Config
from syncer.documents.balancing.advice import AdviceDocument
from syncer.errors import InquiriesFull, NotInTime
from syncer.inspection.balancing.questions import LoadQuestion, LookWish
from tests.api.conftest import Afar, Region
from tests.api.routes_table import API
from tests.support.load_sources import RUNTIME, Answer, brokers_with, store_with
from tests.support.logs import logging_restored
from tests.unit.cli.commands.balancing.test_advise import CONFIGURED, uneven

GREEN: Final = f"{API}/clusters/green"
PATIENT: Final = "within=100"
ASKED: Final[dict[str, tuple[str, ...]]] = {
    "load?": ("load",),
    "advice?reach=0.02&": ("advise", "--reach", "0.02"),
    "drain?broker=b3:8080&": ("drain", "b3:8080"),
    "doctor?": ("doctor",),
    "comparison?rounds=2&strategy=ThresholdShedder&setting=maxUnloadPercentage=0.3&": (
        "compare", "--rounds", "2", "--strategy", "ThresholdShedder", "--set", "maxUnloadPercentage=0.3",
    ),
}  # fmt: skip
"""What is asked over HTTP, and the command that answers the same."""


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


@contextmanager
def cluster(
    folder: Path, answers: Mapping[str, Answer] = CONFIGURED, documents: Mapping[str, Any] | None = None
) -> Iterator[Path]:
    """A configuration with a cluster whose store and brokers are there."""
    place = folder / "green"
    place.mkdir()

    async def fill() -> None:
        async with store_with(place, uneven() if documents is None else documents):
            pass

    anyio.run(fill)
    with brokers_with(answers) as url:
        file = place / "config.toml"
        file.write_text(
            f'region = "here"\n[store]\nkind = "sqlite"\npath = "{folder}/s.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{folder}/b.db"\n[state]\npath = "{folder}/state.db"\n'
            '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
            f'[cluster.green.admin]\nurl = "{url}"\n'
            f'[cluster.green.store]\nkind = "sqlite"\npath = "{place}/store.db"\n',
            encoding="utf-8",
        )
        yield file


@pytest.fixture
def green(region: Region, tmp_path: Path) -> Iterator[Path]:
    """The region, whose configuration has the cluster; its file."""
    with cluster(tmp_path) as file:
        region.inside.config = load(file)
        yield file


def lasting(found: Any) -> Any:
    """Without what differs between two looks."""
    if isinstance(found, dict):
        return {name: lasting(each) for name, each in found.items() if name not in {"taken_ms", "age_ms"}}
    return [lasting(each) for each in found] if isinstance(found, list) else found


def printed(file: Path, *words: str) -> Any:
    result = CliRunner().invoke(app, ["-c", str(file), "-o", "json", "balancer", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(("path", "words"), ASKED.items())
def test_an_answer_is_the_commands_document(path: str, words: tuple[str, ...], region: Region, green: Path) -> None:
    told = region.get(f"{GREEN}/{path}{PATIENT}", "read").json()
    assert lasting(told) == lasting(printed(green, *words, "--cluster", "green"))


def test_a_plan_is_the_sealed_file_by_the_same_picture_as_the_advice(region: Region, green: Path) -> None:
    seen = AdviceDocument.model_validate(region.get(f"{GREEN}/advice?{PATIENT}", "read").json())
    path = f"{GREEN}/advice/plan?{PATIENT}&per_hour=7&quiet=22:00-05:30&taken_ms={seen.taken_ms}"
    answer = region.get(path, "read")
    plan = plan_file.from_text(answer.content)
    assert answer.content == plan_file.to_text(plan).encode(), "the bytes are those that the command writes"
    assert seen.plan is not None
    assert [each.bundle for each in plan.moves] == [each.bundle for each in seen.plan.moves] != []
    assert (plan.table, plan.taken_ms, plan.bounds.per_hour) == ("green", seen.taken_ms, 7)
    assert plan.bounds.quiet is not None
    assert (plan.bounds.quiet.first, plan.bounds.quiet.end) == (22 * 60, 5 * 60 + 30)
    late = region.ask("GET", f"{GREEN}/advice/plan?{PATIENT}&taken_ms=1", "read")
    assert (late.status_code, late.json()["code"]) == (412, "precondition-failed")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"{API}/clusters/red/load", 404, "not-found"),
        (f"{GREEN}/load?within=0", 422, "request-invalid"),
        (f"{GREEN}/load?listen=61", 422, "request-invalid"),
        (f"{GREEN}/drain", 422, "request-invalid"),
        (f"{GREEN}/advice/plan?quiet=22-5", 422, "request-invalid"),
        (f"{GREEN}/advice/plan?quiet=22:00-22:00", 422, "plan-invalid"),
        (f"{GREEN}/comparison?setting=x", 422, "request-invalid"),
        (f"{GREEN}/drain?broker=b9:8080&{PATIENT}", 422, "request-invalid"),
        (f"{GREEN}/advice?most_usage=0.5&rolling_restart=true&{PATIENT}", 422, "request-invalid"),
        (f"{GREEN}/comparison?strategy=Ours&{PATIENT}", 422, "request-invalid"),
    ],
)
def test_what_cannot_be_asked_is_said(path: str, status: int, code: str, region: Region, green: Path) -> None:
    answer = region.ask("GET", path, "read")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["hint"]


def test_who_has_no_rights_is_told_nothing(region: Region, green: Path) -> None:
    for path in ("load", "advice", "advice/plan", "doctor", "drain?broker=b", "drain/plan?broker=b", "comparison"):
        assert region.ask("GET", f"{GREEN}/{path}", "nobody").status_code == 401


def test_brokers_that_refuse_without_a_store_are_named_without_places_of_the_host(
    region: Region, tmp_path: Path
) -> None:
    refusing = dict.fromkeys((RUNTIME, "/clusters", "/brokers/green"), (403, {"reason": "not you"}))
    with cluster(tmp_path, refusing) as file:
        gone = file.read_text(encoding="utf-8").replace(f"{file.parent}/store.db", f"{tmp_path}/no/store.db")
        file.write_text(gone, encoding="utf-8")
        region.inside.config = load(file)
        answer = region.ask("GET", f"{GREEN}/load?{PATIENT}", "read")
    assert answer.status_code in {502, 503}, answer.text
    assert answer.json()["code"] in {"admin-access-denied", "store-unavailable", "store-error"}
    assert str(tmp_path) not in answer.text


@contextmanager
def hanging(folder: Path) -> Iterator[tuple[Config, list[None]]]:
    """A cluster whose broker hangs until left; and how often it was asked."""
    asked, released = list[None](), threading.Event()

    def hang() -> tuple[int, Any]:
        asked.append(None)
        released.wait(60)
        return CONFIGURED[RUNTIME]  # type: ignore[return-value]  # it is no function

    with ExitStack() as stack:
        file = stack.enter_context(cluster(folder, {RUNTIME: hang}))
        stack.callback(released.set)
        yield load(file), asked


def test_a_broker_that_hangs_keeps_nobody_longer_than_was_said_nor_too_many(tmp_path: Path) -> None:
    codes: list[str] = []

    async def ask(inquiries: Inquiries, config: Config) -> None:
        try:
            await inquiries.ask(config, LookWish(table="green", listen_s=0), LoadQuestion(), 4)
        except (InquiriesFull, NotInTime) as exc:
            codes.append(exc.code)

    async def all_ask(config: Config) -> Inquiries:
        inquiries = Inquiries(look_s=20, most=2)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask, inquiries, config)
        return inquiries

    with hanging(tmp_path) as (config, asked):  # for longer than is waited, shorter than a broker is waited for
        inquiries = anyio.run(all_ask, config)
        assert len(asked) <= 1, "both have shared one look"
    assert sorted(codes) == ["cluster-inquiries-full", "not-in-time", "not-in-time"]
    assert inquiries.asked == {"load": 3}
    assert inquiries.failed == {"cluster-inquiries-full": 1, "not-in-time": 2}


def test_a_look_is_shared_for_a_while_and_then_made_anew(tmp_path: Path) -> None:
    looked, clock_s = list[None](), [0.0]

    def settings() -> tuple[int, Any]:
        looked.append(None)
        return CONFIGURED[RUNTIME]  # type: ignore[return-value]  # it is no function

    async def look(config: Config) -> None:
        inquiries, wish = Inquiries(kept_s=30, clock_s=lambda: clock_s[0]), LookWish(table="green", listen_s=0)
        told: list[bytes] = []

        async def ask() -> None:
            told.append(await inquiries.ask(config, wish, LoadQuestion(), 100))

        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(ask)
        once = len(looked)
        clock_s[0] = 29.0
        await ask()
        assert len(looked) == once > 0
        assert len({json.loads(each)["taken_ms"] for each in told}) == 1
        clock_s[0] = 30.0
        await ask()
        assert len(looked) == 2 * once

    with cluster(tmp_path, {RUNTIME: settings}) as file:
        anyio.run(look, load(file))


def test_another_hosts_command_keeps_the_same_plan(green: Path, tmp_path: Path, from_afar: Afar) -> None:
    far_plan = ("--save", str(tmp_path / "far.json"), "--quiet", "01:00-02:00")
    kept = from_afar("balancer", "advise", "--cluster", "green", *far_plan)
    assert kept.exit_code == 0, kept.output
    refused = from_afar("balancer", "drain", "b9:8080", "--cluster", "green")
    assert (refused.exit_code, "b1:8080" in refused.output) == (2, True)
    here = ("--cluster", "green", "--save", str(tmp_path / "near.json"), "--quiet", "01:00-02:00")
    printed(green, "advise", *here)
    far, near = (plan_file.read(tmp_path / f"{name}.json") for name in ("far", "near"))
    assert (far.moves, far.bounds, far.table, far.cluster) == (near.moves, near.bounds, near.table, near.cluster)
