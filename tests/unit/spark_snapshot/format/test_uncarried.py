"""The file beside a manifest that tells what a store has and no snapshot holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_snapshot.format.places import place
from spark_snapshot.format.uncarried import UNCARRIED, FirstFormNamespaces, Uncarried, summed, uncarried
from syncer.errors import SnapshotDamaged

FOUND = Uncarried(first_form=FirstFormNamespaces(count=5, named=("'a/c/n'", "'b/c/n'")))


def test_counts_of_several_readers_add_up_and_the_first_names_stay() -> None:
    parts = [(3, ("b", "d", "e")), (0, ()), (2, ("a", "c"))]
    assert summed(parts) == Uncarried(first_form=FirstFormNamespaces(count=5, named=("a", "b", "c")))
    assert summed([(0, ()), (0, ())]) is None


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert uncarried(place(tmp_path)) is None
    (tmp_path / UNCARRIED).write_text(FOUND.text(), encoding="utf-8")
    assert uncarried(place(tmp_path)) == FOUND


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"first_form": {"count": 0, "named": []}}',
        '{"first_form": {"count": 9, "named": ["a", "b", "c", "d"]}}',
        '{"first_form": {"count": 1, "named": []}, "more": 1}',
        " " * 70_000 + FOUND.text(),
        "[" * 60_000,
    ],
)
def test_what_nobody_has_written_is_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / UNCARRIED).write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotDamaged, match=UNCARRIED):
        uncarried(place(tmp_path))
