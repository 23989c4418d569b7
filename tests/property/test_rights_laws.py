"""Rights, whoever asks in whatever order: no more failures than allowed, and no text but a token's own opens."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from syncer.access import tokens
from syncer.access.failures import BURST, PAUSE_S, Failures
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES, RightsFile

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.lists(st.floats(0, 30), max_size=200))
def test_no_window_lets_more_failures_pass_than_the_burst_and_one_for_each_pause(steps: list[float]) -> None:
    failures, now, passed = Failures(), 0.0, list[float]()
    for step in steps:
        now += step
        if not failures.fail("192.0.2.1", now):
            passed.append(now)
    for at, begin in enumerate(passed):
        for count, end in enumerate(passed[at:], 1):
            assert count <= BURST + (end - begin) / PAUSE_S + 1e-3


@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 5))
def test_the_table_does_not_grow(hosts: list[int], most: int) -> None:
    failures = Failures(burst=1, most=most)
    for at, host in enumerate(hosts):
        failures.fail(f"192.0.2.{host}", at / 2)
        assert len(failures) <= most + 1


@given(st.binary(min_size=ID_BYTES + SECRET_BYTES, max_size=ID_BYTES + SECRET_BYTES), st.text(), st.integers(0, 80))
def test_only_the_whole_text_of_a_token_opens(randomness: bytes, odd: str, at: int) -> None:
    rights, made = tokens.made(
        RightsFile(), randomness, name="a", role=AccessRole.READ, values=False, expires=None, now=NOW
    )
    assert tokens.found_token(tokens.parse(tokens.dump(rights)), made.text) == made.entry
    changed = made.text[:at] + odd + made.text[at + 1 :]
    assert (tokens.found_token(rights, changed) is not None) == (changed == made.text)
    assert tokens.found_token(rights, odd) is None or odd == made.text
