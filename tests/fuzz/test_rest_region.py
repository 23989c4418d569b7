"""Requests that are made of the description of a whole region, valid and not: answers are described, and none is a 500.

The region is a real sidecar database with one of everything; whoever asks may do everything, so nothing is refused for
want of rights before it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
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
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Inside, made_tokens
from tests.api.test_app import Daemon
from tests.fuzz.shares import drawing
from tests.support.region_database import fill
from tests.unit.registers import HERE

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """The description, and the token of somebody who may do everything."""
    folder = tmp_path_factory.mktemp("region")
    (folder / "config.toml").write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{folder}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/b.db"\n[state]\npath = "{folder}/state.db"\n',
        encoding="utf-8",
    )
    url, token = f"sqlite:///{folder / 'state.db'}", made_tokens(folder)["admin-values"]
    with closing(SqlState.open(url, HERE)) as state:
        state.activate()
        fill(state)
    admission = Admission(gate=Gate(RightsReader(folder / "tokens.json")), exposure=Exposure())
    with closing(Views.open(url, HERE)) as views:
        app = create_app(Daemon(), inside=Inside(load(folder / "config.toml"), views), admitting=admission)
        yield schemathesis.openapi.from_asgi("/openapi.json", app), token


@pytest.mark.parametrize("mode", list(GenerationMode))
@drawing("REST of a region")
@given(data=st.data())
def test_every_answer_of_a_region_is_as_described(
    mode: GenerationMode, data: st.DataObject, region: tuple[Any, str]
) -> None:
    described, token = region
    paths = described.raw_schema["paths"]
    path, method = data.draw(st.sampled_from([(path, method) for path in paths for method in paths[path]]))
    case = data.draw(described[path][method.upper()].as_strategy(generation_mode=mode))
    if "store_timeout" in (case.query or {}) or path == "/api/v1/paths/{path}":
        case.query = {**(case.query or {}), "store_timeout": "0"}
    case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
    case.call_and_validate(checks=CHECKS)
