"""Rows of a store, completed: value and digest are those of the whole, as the register's digest is."""

from __future__ import annotations

import json

from spark_snapshot.capture.completing import whole_row
from syncer.conflict.projection import json_of
from syncer.model import MetaPath
from syncer.plan.diffing import fingerprint
from tests.support.planning import value

SPACE = MetaPath("/admin/policies/acme/orders")
GONE = {"is_allow_auto_update_schema_with_replicator": True, "scalableTopicAutoScalePolicy": {"max": 2**70}}


def test_value_and_digest_are_of_the_whole() -> None:
    whole, digest = whole_row(SPACE, value(message_ttl_in_seconds=60), json_of(GONE))
    assert json.loads(whole) == {"message_ttl_in_seconds": 60, **GONE}
    assert digest == fingerprint(SPACE, value(message_ttl_in_seconds=60, **GONE))


def test_what_cannot_be_read_stays_as_it_is() -> None:
    assert whole_row(SPACE, b"no JSON", json_of(GONE)) == (b"no JSON", fingerprint(SPACE, b"no JSON"))
