"""Requests that are made of the interface's own description, valid and not: every answer is one that it describes."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode

from api.app import create_app
from tests.api.test_app import Daemon
from tests.fuzz.shares import drawing

MODES: Final = list(GenerationMode)


@cache
def described() -> Any:
    """The interface as it describes itself, of an app that answers."""
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(Daemon()))


def operations() -> list[tuple[str, str]]:
    """Path and method of everything that is described."""
    return [(path, method) for path, methods in described().raw_schema["paths"].items() for method in methods]


def test_everything_is_described() -> None:
    assert ("/api/v1/status", "get") in operations()


@pytest.mark.parametrize("mode", MODES)
@drawing("REST")
@given(data=st.data())
def test_every_answer_is_as_described(mode: GenerationMode, data: st.DataObject) -> None:
    path, method = data.draw(st.sampled_from(operations()))
    operation = described()[path][method.upper()]
    case = data.draw(operation.as_strategy(generation_mode=mode))
    case.call_and_validate()
