"""Documents as they leave over HTTP: as the command line prints them, with an ETag where one is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Path, Query, Response
from pydantic import BaseModel

from api.admission import REFUSALS
from api.problems import PROBLEM
from syncer.model import MetaPath
from syncer.paths import checked
from syncer.terminal import json_text

MAX_PAGE: Final = 1_000

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Items of a page.")]
AfterPath = Annotated[str, Query(max_length=4_096, description="Go on behind this path: 'next' of the page before.")]
AfterNumber = Annotated[
    int, Query(ge=0, le=2**63 - 1, description="Go on behind this number: 'next' of the page before.")
]
BeforeNumber = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="Only below this number: 'next' of the page before.")
]
Tenant = Annotated[str, Query(max_length=1_024, description="Only what belongs to this tenant.")]
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
StoreTimeout = Annotated[
    float, Query(ge=0, le=30, description="Seconds to wait for the store's own value; 0: not asked.")
]
StorePath = Annotated[
    str, Path(max_length=4_096, description="Of the store, percent-encoded, without the first slash.")
]

READING: Final[dict[int | str, dict[str, Any]]] = {
    **REFUSALS,
    422: {**PROBLEM, "description": "It is not what is accepted."},
}
FINDING: Final[dict[int | str, dict[str, Any]]] = {**READING, 404: {**PROBLEM, "description": "There is none."}}


def document(found: BaseModel, *, etag: str | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The response of a document."""
    tagged = {"ETag": f'"{etag}"'} if etag is not None else {}
    return Response(
        json_text(found.model_dump(mode="json")),
        media_type="application/json",
        headers={**tagged, **(headers or {})},
    )


def store_path(text: str) -> MetaPath:
    """The path of the store that a URL names.

    Raises:
        ValueRefused: It is none.
    """
    return checked(f"/{text}")
