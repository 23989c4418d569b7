"""Calls of the REST API about configuration.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest
from syncer.documents.configuration import ProgramDocument


class ConfigurationCalls(ApiCalls):
    """Calls about configuration."""

    def configuration(self) -> ApiAnswer[dict[str, object]]:
        """Every setting in force, defaults included, secrets hidden. It names files of the daemon's host.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(ApiRequest(method="GET", path="/api/v1/configuration"))

    def program(self) -> ApiAnswer[ProgramDocument]:
        """Region and version of this daemon.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(ProgramDocument, ApiRequest(method="GET", path="/api/v1/version"))
