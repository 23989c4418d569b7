"""Frames of server-sent events, read back by a parser of the standard."""

from __future__ import annotations

from api.streams import framing
from tests.support.event_streams import EventParser, SentEvent


def test_an_event_is_one_line_of_json_with_its_type_and_id() -> None:
    data = {"path": "/a\nb\r\u2028\u0000", "detail": "data: x\n\nevent: end"}
    frame = framing.numbered("4f0c21aa-1", framing.event("event", data))
    assert frame.count(b"\n") == 4, "no sign of the data begins a line"
    parser = EventParser()
    assert parser.feed(frame) == [SentEvent("event", data, "4f0c21aa-1")]
    assert parser.feed(framing.event("end", {})) == [SentEvent("end", {}, "4f0c21aa-1")], "the id stays"


def test_an_opening_gives_an_id_without_an_event_and_a_heartbeat_nothing_at_all() -> None:
    parser = EventParser()
    assert parser.feed(framing.opening("7") + framing.HEARTBEAT) == []
    assert (parser.last_id, parser.retry_ms, parser.comments) == ("7", framing.RETRY_MS, 1)
    assert EventParser().feed(framing.opening()) == []
