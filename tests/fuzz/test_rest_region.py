"""Requests that are made of the description of a whole region, valid and not: answers are described, and none is a 500.

The region is a real sidecar database with one of everything; whoever asks may do everything, so nothing is refused for
want of rights before it is looked at. Nothing that it depends on is away, so no answer is a 5xx at all. In runs of many
requests each may build on the one before: what was found is decided about by its ETag, what was asked is performed by
the real driver, and what was answered 202 is looked up where its Location says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.config import load
from syncer.model import Millis
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Inside, made_tokens
from tests.api.routes_table import HELD
from tests.api.test_app import Daemon
from tests.fuzz.shares import ALWAYS_THE_SAME, drawing
from tests.property.strategies import NOW
from tests.support.region_database import driver_of, template
from tests.unit.registers import HERE

__all__ = ["template"]

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
MODES: Final = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
PARTS: Final = 2
"""Tests that each take a part of the routes, so that as many workers share them."""
RUNS, STEPS = (60, 25) if ALWAYS_THE_SAME else (600, 50)
STREAMS: Final = "/api/v1/streams/"
"""Answers without an end: tests/api/test_streams.py follows them."""
THERE: Final[dict[str, list[object]]] = {
    "path": [HELD, "admin/policies/held-local", "admin/policies/from-the-future", "admin/policies/quiet"],
    "number": [1, 2],
    "reason": ["first-contact", "mass-delete", "from-the-future"],
    "region": ["here", "there"],
    "cluster": ["green"],  # which the configuration has not: a look at one is what tests/api/test_clusters.py is for
}
"""What the region has, by the parameter of a path that names it."""


@schemathesis.serializer("application/jsonl")
def plan_as_sent(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """A generated body of a route that takes a plan: whatever it is, as text."""
    return str(value).encode("utf-8", "surrogatepass")


class DescribedRegion:
    """The region, behind one application that describes itself: each run has a database of its own.

    Args:
        folder: For its files.
        template: A database with one of everything.
    """

    def __init__(self, folder: Path, template: Path) -> None:
        (folder / "config.toml").write_text(
            f'region = "here"\n[store]\nkind = "sqlite"\npath = "{folder}/s.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{folder}/b.db"\n[state]\npath = "{folder}/state.db"\n',
            encoding="utf-8",
        )
        self._template, self._file = template, folder / "state.db"
        self._stack = ExitStack()
        self._token = made_tokens(folder)["admin-values"]
        nothing: Any = None  # until a run begins
        self._inside = Inside(load(folder / "config.toml"), nothing)
        admission = Admission(gate=Gate(RightsReader(folder / "tokens.json")), exposure=Exposure())
        app = create_app(Daemon(), inside=self._inside, admitting=admission)
        self.described = schemathesis.openapi.from_asgi("/openapi.json", app)
        paths = self.described.raw_schema["paths"]
        self.operations = [
            (path, method.upper()) for path in paths if not path.startswith(STREAMS) for method in paths[path]
        ]

    def begin(self) -> SqlState:
        """Give it a new database."""
        self.end()
        shutil.copy(self._template, self._file)
        url = f"sqlite:///{self._file}"
        state = self._stack.enter_context(closing(SqlState.open(url, HERE)))
        state.activate()
        self._inside.views = self._stack.enter_context(closing(Views.open(url, HERE)))
        return state

    def end(self) -> None:
        """Let go of the database."""
        self._stack.close()

    def ask(self, case: Any) -> Any:
        """Send a request, and check the answer by the description."""
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {self._token}"}
        return case.call_and_validate(checks=CHECKS)


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Iterator[DescribedRegion]:
    made = DescribedRegion(tmp_path_factory.mktemp("region"), template)
    yield made
    made.end()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", MODES)
def test_every_answer_of_a_region_is_as_described(mode: GenerationMode, part: int, region: DescribedRegion) -> None:
    region.begin()

    @drawing("REST of a region", parts=len(MODES) * PARTS)
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        path, method = data.draw(st.sampled_from(region.operations[part::PARTS]))
        case: Any = data.draw(region.described[path][method].as_strategy(generation_mode=mode))
        # A list of one is written as its only value is, so that what was broken by it is whole again when it is sent.
        assume(not any(isinstance(each, list) and len(each) == 1 for each in (case.query or {}).values()))
        region.ask(case)

    ask()


class RegionRun(RuleBasedStateMachine):
    """Requests one after the other, and the daemon that performs what they ask for."""

    region: ClassVar[DescribedRegion]

    def __init__(self) -> None:
        super().__init__()
        self._driver = driver_of(self.region.begin())

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        """Ask for something, of what is there more often than not; decide by what a look has found."""
        path, method = data.draw(st.sampled_from(self.region.operations))
        case: Any = data.draw(self.region.described[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE))
        if data.draw(st.integers(0, 3)):
            there = {name: data.draw(st.sampled_from(THERE[name])) for name in case.path_parameters or {}}
            case.path_parameters = {**(case.path_parameters or {}), **there}
        looked_at = next(
            (each for each in (path, path.rpartition("/")[0]) if (each, "GET") in self.region.operations), ""
        )
        if method == "POST" and looked_at and data.draw(st.integers(0, 3)):
            look = self.region.described[looked_at]["GET"].Case(path_parameters=case.path_parameters)
            tag = self.region.ask(look).headers.get("etag", ['""'])[0]
            case.headers = {**(case.headers or {}), "If-Match": tag}
        answer = self.region.ask(case)
        if answer.status_code == 202:
            number = int(answer.headers["location"][0].rpartition("/")[2])
            found = self.region.ask(
                self.region.described["/api/v1/operations/{number}"]["GET"].Case(path_parameters={"number": number})
            )
            assert found.status_code == 200
            assert found.json()["id"] == number

    @rule()
    def perform(self) -> None:
        """The daemon comes to what was asked."""
        self._driver.operate(Millis(NOW))

    def teardown(self) -> None:
        self.region.end()


def test_every_answer_in_a_run_of_requests_is_as_described(region: DescribedRegion) -> None:
    RegionRun.region = region
    run_state_machine_as_test(
        RegionRun,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=ALWAYS_THE_SAME,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
            print_blob=True,
        ),
    )
