"""What stands in a store beside what its daemon keeps of it."""

from __future__ import annotations

import json

import pytest

from syncer.conflict.fields.kept import KeptFields
from syncer.documents.values import Present, changes_to, present_document
from syncer.model import MetaPath
from syncer.plan.diffing import fingerprint
from tests.support.planning import value

SPACE = MetaPath("/admin/policies/acme/orders")
NEWER = {"is_allow_auto_update_schema_with_replicator": False}
RAW, WHOLE = value(message_ttl_in_seconds=60), value(message_ttl_in_seconds=60, **NEWER)
KEPT = KeptFields(gone=NEWER)


def test_the_store_is_shown_as_it_is_and_the_kept_fields_beside_it() -> None:
    found = present_document(Present(RAW, kept=KEPT), SPACE, fingerprint(SPACE, WHOLE))
    assert found.value is not None
    assert (found.value.text, found.as_seated) == (RAW.decode(), True)
    assert json.loads(found.kept or "") == NEWER


@pytest.mark.parametrize("present", [Present(WHOLE, kept=KEPT), Present(RAW), Present(RAW, kept=KeptFields(NEWER))])
def test_what_is_not_gone_completes_nothing(present: Present) -> None:
    found = present_document(present, SPACE, fingerprint(SPACE, WHOLE))
    assert (found.kept, found.as_seated) == (None, present.value == WHOLE)


def test_nothing_and_what_cannot_be_read_stay_as_they_are() -> None:
    assert present_document(Present(kept=KEPT), SPACE, None).kept is None
    assert present_document(Present(b"no JSON", kept=KEPT), SPACE, None).as_seated is None


def test_what_another_version_would_change_is_told_of_the_whole_value() -> None:
    assert changes_to(SPACE, Present(RAW, kept=KEPT), WHOLE) == (None, [], "nothing")
    action, changes, _ = changes_to(SPACE, Present(RAW, kept=KEPT), value(message_ttl_in_seconds=61, **NEWER))
    assert (action, [each.field for each in changes]) == ("update", ["message_ttl_in_seconds"])
