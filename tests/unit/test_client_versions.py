"""A client's version is read as its library writes it."""

from __future__ import annotations

import pytest

from syncer.client_versions import Language, parse, release_of

SAID = [
    ("Pulsar-Java-v4.0.8", Language.JAVA, (4, 0, 8)),
    ("Pulsar-CPP-v3.5.1", Language.CPP, (3, 5, 1)),
    ("Pulsar-Go-0.13.0", Language.GO, (0, 13, 0)),
    ("Pulsar Go 0.9.0", Language.GO, (0, 9, 0)),
    ("Pulsar-Go-version-0.14.0", Language.GO, (0, 14, 0)),
    ("Pulsar Go", Language.GO, None),
    ("2.10.4", Language.JAVA, (2, 10, 4)),
    ("4.1.0-SNAPSHOT", Language.JAVA, (4, 1, 0)),
    ("Pulsar-Java-v3.2", Language.JAVA, (3, 2, 0)),
    ("", Language.OTHER, None),
    ("DotPulsar 3.1.0", Language.OTHER, None),
    ("pulsar-rs-v6.3", Language.OTHER, None),
]


@pytest.mark.parametrize(("said", "language", "release"), SAID)
def test_a_version_is_read_as_its_client_writes_it(
    said: str, language: Language, release: tuple[int, ...] | None
) -> None:
    found = parse(said)
    assert (found.language, found.release, found.said) == (language, release, said)


def test_a_release_is_what_a_version_begins_with() -> None:
    assert release_of("4.0.8-rc1") == (4, 0, 8)
    assert release_of("latest") is None
