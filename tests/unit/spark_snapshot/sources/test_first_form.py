"""Namespaces of the first form among what a reader finds: taken out, counted, the first of them named."""

from __future__ import annotations

from itertools import starmap

from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.format.uncarried import NAMED
from spark_snapshot.sources.first_form import FirstFormCount
from spark_snapshot.sources.found import ResourceBatch, Row
from spark_snapshot.sources.reach import FIRST_FORM
from syncer.model import MetaPath, Millis, Revision


def row(number: int, *, first_form: bool) -> Row:
    if first_form:
        return MetaPath(f"/admin/policies/t/c/n{number:03}"), FIRST_FORM, "t", b"{}", Millis(1), Revision("1")
    return MetaPath(f"/admin/policies/t/n{number:03}"), "namespace", "t", b"[]", None, Revision("2")


@given(drawn=st.lists(st.lists(st.booleans(), min_size=1, max_size=5), max_size=5), digested=st.booleans())
def test_they_are_counted_and_the_others_are_as_they_were(drawn: list[list[bool]], digested: bool) -> None:
    numbers = iter(range(100))
    rows = [[(next(numbers), each) for each in batch] for batch in drawn]
    batches = [ResourceBatch.of(starmap(lambda number, first: row(number, first_form=first), batch)) for batch in rows]
    if digested:
        for each in batches:
            each.digest()
    count = FirstFormCount()
    assert count.told() == {}
    found = list(count.taken_out(batches))
    assert all(found)
    plain = [number for batch in rows for number, first in batch if not first]
    assert (
        [each for batch in found for each in batch]
        == list(ResourceBatch.of(row(number, first_form=False) for number in plain))
        if plain
        else found == []
    )
    assert all(len(each.digests) == (len(each) if digested else 0) for each in found)
    first = [f"'t/c/n{number:03}'" for batch in rows for number, first in batch if first]
    assert (count.count, count.named) == (len(first), first[:NAMED])
    assert count.told() == ({"first_form": len(first), "first_form_named": first[:NAMED]} if first else {})
