"""Addresses of brokers, as a configuration names them."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

BrokerUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s@]+/?$")]
"""Base URL of a broker's admin REST API. Whatever else stood there would be passed over in silence."""
