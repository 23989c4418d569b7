"""The error tree and its one table are total: no error leaves the program in a way that nobody chose."""

from __future__ import annotations

import http
import logging
import re
from collections import Counter

import pytest

from syncer import errors
from syncer.dispositions import DISPOSITIONS, Disposition, ExitCode, disposition
from syncer.errors import SyncerError


def tree(root: type[SyncerError] = SyncerError) -> list[type[SyncerError]]:
    """List the classes that the package of errors defines itself, parents first."""
    own = [child for child in root.__subclasses__() if child.__module__.startswith(f"{errors.__name__}.")]
    return [root, *(cls for child in own for cls in tree(child))]


EVERY = tree()


def test_the_table_names_every_class_and_no_other() -> None:
    assert set(DISPOSITIONS) == set(EVERY)
    assert len(EVERY) == len(set(EVERY)) > 20


def test_codes_are_unique_and_kebab_case() -> None:
    counted = Counter(cls.code for cls in EVERY)
    assert [code for code, count in counted.items() if count > 1] == []
    assert [code for code in counted if not re.fullmatch(r"[a-z]+(-[a-z]+)*", code)] == []


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_each_class_says_what_it_is_and_what_to_do(cls: type[SyncerError]) -> None:
    assert "code" in vars(cls), "a code of its own, not its parent's"
    assert cls.__doc__
    error = cls("the thing at the place")
    assert str(error) == error.message == "the thing at the place"
    assert error.hint.endswith(".")
    assert cls("x", hint="Do this.").hint == "Do this."
    if cls.retryable:
        assert "default_hint" in vars(cls)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_each_disposition_can_be_used(cls: type[SyncerError]) -> None:
    row = DISPOSITIONS[cls]
    assert http.HTTPStatus(row.http_status) >= http.HTTPStatus.BAD_REQUEST
    assert row.exit_code in set(ExitCode) - {ExitCode.DONE, ExitCode.USAGE, ExitCode.DIFFERENT}
    assert row.log_level in {name.lower() for name in logging.getLevelNamesMapping()}
    assert disposition(cls) is disposition(cls("x")) is row


def test_a_class_without_a_row_has_its_parents() -> None:
    class NoQuorum(errors.StoreUnavailable):
        """A subclass as an adapter might make it."""

    assert disposition(NoQuorum("x")) == DISPOSITIONS[errors.StoreUnavailable]
    assert disposition(type("Other", (SyncerError,), {})) == DISPOSITIONS[SyncerError]


def test_a_bug_is_never_retried_and_is_the_loudest() -> None:
    assert not errors.InvariantBroken.retryable
    assert [cls for cls, row in DISPOSITIONS.items() if row.log_level == "critical"] == [errors.InvariantBroken]


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_exit_codes_follow_the_meaning(cls: type[SyncerError]) -> None:
    unavailable = issubclass(
        cls,
        (
            errors.StoreUnavailable,
            errors.BusUnavailable,
            errors.AdminUnreachable,
            errors.StateMissing,
            errors.NotInTime,
            errors.ServerUnreachable,
        ),
    )
    assert (disposition(cls).exit_code is ExitCode.UNREACHABLE) == unavailable
    if disposition(cls).exit_code is ExitCode.BAD_CONFIG:
        assert not cls.retryable, "the service manager does not start it again"


def test_exit_codes_are_the_documented_numbers() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "USAGE": 2,
        "DIFFERENT": 3,
        "UNREACHABLE": 4,
        "REFUSED": 5,
        "NOT_ALLOWED": 6,
        "BAD_CONFIG": 78,
    }


def test_the_drawing_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^ *[│├└─ ]*([A-Z]\w+)(?:  |$)", errors.__doc__ or "", re.MULTILINE)
    assert drawn == [cls.__name__ for cls in EVERY]


def test_a_disposition_is_a_value() -> None:
    assert Disposition(500, ExitCode.FAILED, "error") == DISPOSITIONS[SyncerError]
