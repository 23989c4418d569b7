"""The commands of a page are read as it shows them, and what was printed is the same as shown only where it is."""

from __future__ import annotations

import pytest

from tests.docs.comparing import same
from tests.docs.reading import steps_in

PAGE = """\
1. First:

   ```console
   $ syncer one \\
       --two
   shown
     in two lines
   # systemctl start it
   ```

```toml
$ = "no command"
```

```bash
store() { true; }
store
```

Text.

```text
printed
```

```text
something else
```
"""


def test_commands_and_what_they_show_are_read_in_their_order() -> None:
    steps = steps_in(PAGE, "page")
    assert [(step.line, step.text, step.shown) for step in steps] == [
        (4, "syncer one \\\n    --two", ("shown", "  in two lines")),
        (8, "systemctl start it", ()),
        (16, "store() { true; }\nstore", ("printed",)),
    ]


@pytest.mark.parametrize("text", ["```console\nno prompt\n```\n", "```console\n$ no end\n"])
def test_a_block_that_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="block"):
        steps_in(text, "page")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("paths       3", "paths  3\n"),
        ("heard 75ms ago, -64ms", "heard 1.2s ago, 0.1ms\n"),
        ("1795231065557@east", "1795231999999@east\n"),
        ("2026-11-21 03:17:51.916Z", "2027-01-01 00:00:00Z\n"),
        ("east-1  812  0.1.0  active", "some.host 99 1.2.0 active\n"),
        ("20261121T030000123Z-1a2b3c", "20270101T000000000Z-000000\n"),
        ("all good, …", "all good, and more\n"),
        ("a\n…\nz", "a\nb\nc\nz\n"),
        ("a\n…\nz", "a\nz\n"),
        ("a\n\nb", "a\nb\n"),
    ],
)
def test_what_varies_is_the_same(shown: str, printed: str) -> None:
    assert same(shown.splitlines(), printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("paths 3", "paths 4\n"),
        ("a", "a\nb\n"),
        ("a\nb", "a\n"),
        ("a\nb", "b\na\n"),
        ("a", ""),
        ("1795231065557@east", "1795231065557@west\n"),
        ("1.2s ago", "never\n"),
        ("a b", "ab\n"),
        ("a.c", "abc\n"),
        ("a … z", "a … y\n"),
    ],
)
def test_anything_else_is_not(shown: str, printed: str) -> None:
    assert not same(shown.splitlines(), printed)
