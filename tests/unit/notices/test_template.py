"""Templates of bodies: known names only, and no value ends the string that it stands in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import ConfigError
from syncer.notices.template import MAX_CHARS, NAMES, checked, rendered


@given(st.text())
def test_a_value_stays_within_its_string(value: str) -> None:
    values = dict.fromkeys(NAMES, value) | {"count": "3"}
    made = rendered(checked('{"text": "so: ${text} $$", "n": $count}'), values)
    assert json.loads(made) == {"text": f"so: {value} $", "n": 3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": "$secret"}', "names 'secret'"),
        ('{"text": "costs $"}', "without a name"),
        ('{"text": $text}', "no JSON"),
        ("plain $text", "no JSON"),
        ('"' + "a" * MAX_CHARS + '"', "more than"),
    ],
)
def test_what_is_no_template_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        checked(text)
