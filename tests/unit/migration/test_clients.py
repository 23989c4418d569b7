"""Client versions: who follows a redirect."""

from __future__ import annotations

import pytest

from syncer.client_versions import parse
from syncer.migration.clients import follows, needs_every_address


@pytest.mark.parametrize(
    ("said", "goes"),
    [
        ("Pulsar-Java-v3.2.0", True),
        ("Pulsar-Java-v3.1.2", False),
        ("Pulsar-Java-v3.0.7", True),
        ("Pulsar-Java-v3.0.6", False),
        ("2.11.0", False),
        ("Pulsar-CPP-v3.5.0", True),
        ("Pulsar-CPP-v3.4.2", False),
        ("Pulsar-Go-0.13.0", True),
        ("Pulsar-Go-0.12.1", False),
        ("Pulsar Go", False),
        ("DotPulsar 3.1.0", False),
        ("", False),
    ],
)
def test_only_those_known_to_follow_do(said: str, goes: bool) -> None:
    assert follows(parse(said)) is goes


@pytest.mark.parametrize(
    ("said", "harmed"),
    [
        ("Pulsar-Java-v4.0.0", True),
        ("Pulsar-Java-v4.0.1", False),
        ("Pulsar-Java-v", True),
        ("Pulsar-CPP-v3.5.0", False),
        ("DotPulsar 3.1.0", False),
    ],
)
def test_older_java_clients_need_every_address(said: str, harmed: bool) -> None:
    assert needs_every_address(parse(said)) is harmed
