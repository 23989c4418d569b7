"""Reading of what a daemon has answered: its documents, and the errors that its problems (RFC 9457) stand for.

Fields that this version does not know are left out: a newer daemon may add some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from syncer.dispositions import DISPOSITIONS, error_class
from syncer.errors import AnswerInvalid, ServerError, SyncerError
from syncer.terminal import visible

Found = TypeVar("Found")

MAX_WORDS: Final = 4_000
"""Of a message or a hint that somebody else has written."""
_CODES: Final = frozenset(cls.code for cls in DISPOSITIONS)
_PLAIN: Final = TypeAdapter(dict[str, Any])


class ProblemTold(BaseModel):
    """A problem, as far as a client goes by it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: int
    code: str
    detail: str
    hint: str = ""
    now: dict[str, Any] | None = None
    operations: Sequence[dict[str, Any]] | None = None


class ProblemCause(Exception):
    """Cause of an error that came as a problem: all that the daemon has said with it.

    Args:
        problem: As it came.
    """

    def __init__(self, problem: ProblemTold) -> None:
        super().__init__(problem.code)
        self.problem = problem


def document_in(content: bytes, model: type[Found], server: str) -> Found:
    """The document of an answer.

    Raises:
        AnswerInvalid: It is another one, or none.
    """
    try:
        return TypeAdapter(model).validate_json(content, extra="ignore")
    except ValidationError as exc:
        raise _unfit(exc, model.__name__, server) from None


def document_from(found: object, model: type[Found], server: str) -> Found:
    """The document that an object of an answer is, where an answer may be one of several.

    Raises:
        AnswerInvalid: It is another one.
    """
    try:
        return TypeAdapter(model).validate_python(found, extra="ignore")
    except ValidationError as exc:
        raise _unfit(exc, model.__name__, server) from None


def plain_in(content: bytes, server: str) -> dict[str, Any]:
    """The object of an answer that no document describes.

    Raises:
        AnswerInvalid: It is none.
    """
    try:
        return _PLAIN.validate_json(content)
    except ValidationError as exc:
        raise _unfit(exc, "object", server) from None


def _unfit(exc: ValidationError, name: str, server: str) -> AnswerInvalid:
    first = exc.errors(include_url=False, include_input=False)[0]
    at = ".".join(map(str, first["loc"]))
    return AnswerInvalid(f"{server} has answered with no {name}: {visible(f'{at}: ' if at else '')}{first['msg']}")


def error_in(content: bytes, status: int, server: str) -> SyncerError:
    """The error that an answer stands for: ours by its code, as if it had been raised here.

    Args:
        content: Body of an answer whose status is an error's.
        status: Of HTTP.
        server: Whose answer it is.
    """
    try:
        problem = ProblemTold.model_validate_json(content)
    except ValidationError:
        return AnswerInvalid(f"{server} has answered {status} without a problem document: it is no daemon, or a proxy")
    words, hint = problem.detail[:MAX_WORDS], problem.hint[:MAX_WORDS] or None
    known, cls = problem.code in _CODES, error_class(problem.code)
    error = cls(words, hint=hint) if known else ServerError(f"{words} ({problem.code[:100]})", hint=hint)
    error.__cause__ = ProblemCause(problem)
    return error


def problem_of(error: SyncerError) -> ProblemTold | None:
    """The problem that an error came as; ``None``: it came from elsewhere."""
    return error.__cause__.problem if isinstance(error.__cause__, ProblemCause) else None
