"""Notices as they are written: one for many paths, bounded, and without a sign that acts on a terminal."""

from __future__ import annotations

import json

import pytest

from syncer.documents.notices import MAX_PATH_CHARS, NoticeDocument, body_of, notice_document, template_values
from syncer.notices.rules import NoticeEvent, NoticeKind, Outstanding
from syncer.notices.template import NAMES

HELD = Outstanding(
    count=37,
    newest=9,
    since_ms=1_700_000_000_000,
    reasons=(("mass-delete", 30), ("flipping", 7)),
    paths=("/admin/policies/a", "/\x1b[2J" + "x" * 1000),
)


def made(event: NoticeEvent, standing: Outstanding = HELD, kind: NoticeKind = NoticeKind.HOLDS) -> NoticeDocument:
    return notice_document("east", kind, event, standing, "msg_1", 1_700_000_000_500)


def test_one_notice_tells_of_all() -> None:
    document = made(NoticeEvent.RAISED)
    assert document.type == "syncer.holds.raised"
    assert document.timestamp == "2023-11-14T22:13:20.500Z"
    assert document.data.message == (
        "east: 37 changes are held: mass-delete 30, flipping 7, since 2023-11-14 22:13:20.000Z"
    )
    assert (document.data.next, document.data.command) == (
        "look at each, then confirm or reject it",
        "syncer holds list",
    )
    assert document.data.paths[0] == "/admin/policies/a"
    assert len(document.data.paths[1]) == MAX_PATH_CHARS
    assert "\x1b" not in body_of(document).decode()
    assert json.loads(body_of(document)) == document.model_dump(mode="json")


@pytest.mark.parametrize("kind", list(NoticeKind))
def test_every_kind_has_words_for_each_occasion(kind: NoticeKind) -> None:
    said = {made(event, Outstanding(count=count), kind).data.message for event, count in WORDS}
    assert len(said) == len(WORDS)
    assert "." not in made(NoticeEvent.MORE, kind=kind).type.removeprefix("syncer.").partition(".")[2]


WORDS = [
    (NoticeEvent.RAISED, 1),
    (NoticeEvent.RAISED, 2),
    (NoticeEvent.REMINDER, 2),
    (NoticeEvent.CLEARED, 0),
    (NoticeEvent.TEST, 0),
]


def test_a_template_has_a_value_for_every_name() -> None:
    assert template_values(made(NoticeEvent.MORE)).keys() == NAMES.keys()
