"""Calls of the REST API about status.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest
from syncer.documents.status import StatusDocument


class StatusCalls(ApiCalls):
    """Calls about status."""

    def status(self) -> ApiAnswer[StatusDocument]:
        """The document that ``syncer status -o json`` prints, as of a second ago at the earliest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(StatusDocument, ApiRequest(method="GET", path="/api/v1/status"))
