"""What projections withhold by now goes out of all that a database has kept, and out of its file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

import pytest

from syncer.conflict.acts import FillConflict, RecordConflict
from syncer.conflict.completing import without_withheld
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import WITHHELD
from syncer.conflict.register import Intent, Register
from syncer.conflict.withholding import holds_withheld, withheld_payload
from syncer.model import (
    Digest,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    ResourceKind,
    Stamp,
    Version,
)
from syncer.replacing import replace
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.state import State
from syncer.state.sql.database import SqlState
from tests.unit.state.test_contract import BY, EAST, T0, Subject, subject

__all__ = ["subject"]
SECRET: Final = "Geheimnis"
PATH: Final = MetaPath("/admin/policies/acme/orders")
VALUE: Final = json.dumps(
    {"message_ttl_in_seconds": 1, "offload_policies": {"s3ManagedLedgerOffloadCredentialSecret": SECRET}}
).encode()
LEFT: Final = b'{"message_ttl_in_seconds":1}'
STAMP: Final = Stamp(Millis(T0), EAST)


def version(value: bytes | None = VALUE) -> Version:
    return Version(stamp=STAMP, by=BY, seen={BY: Millis(T0)}, digest=Digest(b"d" * 16), value=value)


def event(value: bytes = VALUE) -> MetadataChangeEvent:
    return MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.NAMESPACE,
        resource_name="acme/orders",
        path=PATH,
        value=value,
        stamp=STAMP,
        by=BY,
        seen={BY: Millis(T0)},
    )


def kept(**more: Any) -> KeptFields:
    return KeptFields(gone={"offload_policies": {"newer": SECRET}, **more})


def planted(state: State) -> None:
    """A secret in every place that keeps a value."""
    register = Register(path=PATH, known=version(), own=Millis(T0), kept=kept(), intent=None)
    intent = Intent(batch="b", version=version(None), expected=None, kept=kept(clean=1))
    other = replace(register, path=MetaPath("/admin/policies/acme/a"), known=version(None), kept=None, intent=intent)
    plain = replace(register, path=MetaPath("/admin/policies/acme/b"), known=version(LEFT), kept=KeptFields({"a": 1}))
    inner = replace(plain, path=MetaPath("/admin/policies"), known=version(VALUE))
    record = RecordConflict(
        path=PATH, loser=STAMP, loser_seen={}, loser_digest=Digest(b"d" * 16), value=VALUE, winner=STAMP
    )
    with state.transaction() as tx:
        tx.save([register, other, plain, inner])
        tx.enqueue([event()])
        tx.hold_publication(event())
        tx.hold_event(event(), Millis(T0), Millis(T0))
        tx.conflict(record, Millis(T0))
        for number in range(700):
            plainly = replace(record, loser=Stamp(Millis(T0 + 1 + number), EAST), value=LEFT)
            tx.conflict(plainly, Millis(T0))
        for position, path, payload in (
            ("1", PATH, VALUE),
            ("2", PATH, VALUE[:-9]),
            ("3", None, b'{"value":"' + base64.b64encode(VALUE).rstrip(b"=") + b'"}'),
            ("4", PATH, b"nothing"),
        ):
            tx.quarantine(
                DeadLetter(origin="store", code="c", detail="d", position=position, path=path, payload=payload),
                Millis(T0),
            )


def test_it_goes_out_of_every_row(subject: Subject) -> None:
    planted(subject.state)
    with subject.state.transaction() as tx:
        assert tx.withhold(without_withheld) > 0
    with subject.state.transaction() as tx:
        assert tx.withhold(without_withheld) == 0
        found = tx.registers([PATH, MetaPath("/admin/policies/acme/a"), MetaPath("/admin/policies/acme/b")])
        register = found[PATH]
        assert register.known is not None
        assert register.known.value == LEFT
        assert register.kept is None or register.kept.empty
        intent = found[MetaPath("/admin/policies/acme/a")].intent
        assert intent is not None
        assert intent.kept == KeptFields(gone={"clean": 1})
        assert found[MetaPath("/admin/policies/acme/b")].kept == KeptFields({"a": 1})
        assert [row.event.value for row in tx.outbox(9)] == [LEFT]
        row = tx.conflict_row(1)
        assert row is not None
        assert row.value == LEFT
        payloads = [letter.poison.payload for number in range(1, 5) if (letter := tx.dead_letter(number)) is not None]
    assert payloads == [LEFT, WITHHELD, WITHHELD, b"nothing"]


def test_nothing_of_it_is_left_in_the_file(tmp_path: Path) -> None:
    state = SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST)
    state.activate()
    planted(state)
    with state.transaction() as tx:
        tx.fill_conflict(FillConflict(path=PATH, digest=Digest(b"x" * 16), value=VALUE))
        register = tx.registers([MetaPath("/admin/policies")])[MetaPath("/admin/policies")]
        tx.save([replace(register, known=version(LEFT))])
        tx.withhold(without_withheld)
    state.erase_deleted()
    found = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert SECRET.encode() not in found
    state.close()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (b"nothing", False),
        (b'{"offload_threshold":-1}', False),
        (VALUE, True),
        (VALUE.decode().encode("utf-16"), True),
        (base64.b64encode(VALUE), True),
        (b"0" * 25, False),
    ],
)
def test_a_piece_that_may_hold_it_is_known(text: bytes, holds: bool) -> None:
    assert holds_withheld(text) is holds
    assert (withheld_payload(None, text) is text) is not holds
