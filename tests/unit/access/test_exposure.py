"""What a listener shows, for every combination of where it listens and what protects it."""

from __future__ import annotations

import itertools

import pytest

from syncer.access.exposure import PROBES_ONLY, UNPROTECTED, Exposure, Protection, decide, loopback
from syncer.errors import ConfigError

TLS, RIGHTS = Protection.TLS, Protection.RIGHTS
ELSEWHERE = ("0.0.0.0", "::", "192.0.2.1", "syncer.example", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST.", "::ffff:127.0.0.1"])
def test_loopback(host: str) -> None:
    assert loopback(host)


@pytest.mark.parametrize("host", [*ELSEWHERE, "127.0.0.1.evil.example", "localhost.evil.example", "::ffff:192.0.2.1"])
def test_not_loopback(host: str) -> None:
    assert not loopback(host)


@pytest.mark.parametrize(("tls", "without"), [*itertools.product([False, True], [frozenset(), frozenset(Protection)])])
def test_on_loopback_all_may_start(tls: bool, without: frozenset[Protection]) -> None:
    assert decide(host="::1", tls=tls, rights=False, without=without) == Exposure(probes_open=True, status_open=True)
    assert decide(host="::1", tls=tls, rights=True, without=without) == Exposure(probes_open=True)


@pytest.mark.parametrize("host", ELSEWHERE)
@pytest.mark.parametrize(
    ("has", "without", "expected"),
    [
        ({TLS, RIGHTS}, (), "guarded"),
        ({TLS, RIGHTS}, (TLS, RIGHTS), "guarded"),
        ((), (), "probes"),
        ((), (TLS,), "probes"),
        ((), (RIGHTS,), "probes"),
        ((), (TLS, RIGHTS), "open"),
        ({TLS}, (), "refused"),
        ({TLS}, (TLS,), "refused"),
        ({TLS}, (RIGHTS,), "open"),
        ({RIGHTS}, (), "refused"),
        ({RIGHTS}, (RIGHTS,), "refused"),
        ({RIGHTS}, (TLS,), "guarded"),
    ],
)
def test_elsewhere(host: str, has: set[Protection], without: tuple[Protection, ...], expected: str) -> None:
    def decided() -> Exposure:
        return decide(host=host, tls=TLS in has, rights=RIGHTS in has, without=frozenset(without))

    if expected == "refused":
        with pytest.raises(ConfigError, match=r"api\.listen") as refused:
            decided()
        assert "api.without" in refused.value.hint
        return
    found = decided()
    shown = {
        "guarded": (False, False, False),
        "probes": (True, True, False),
        "open": (False, True, True),
    }
    assert (found.probes_only, found.probes_open, found.status_open) == shown[expected]
    code = found.warning[0] if found.warning is not None else None
    assert code == (PROBES_ONLY if expected == "probes" else UNPROTECTED if len(has) < 2 else None)
