"""The log: one chain for everybody, and no secret gets through it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import stamina
import structlog
from structlog.contextvars import bound_contextvars

from syncer.bus.pulsar.log import Relay
from syncer.errors import AdminUnreachable
from syncer.log import HIDDEN, Redactor, configure
from tests.support.logs import logging_restored

PLANTED = "s3cr3t-Pa55phrase"
URL_PASSWORD = "in-the-url"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with logging_restored():
        yield


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_its_data_and_context() -> None:
    stream = io.StringIO()
    configure(stream=stream)
    with bound_contextvars(region="east"):
        structlog.get_logger("syncer.test").info("event_applied", path="/admin/policies/t", duration_s=0.25)
    (line,) = lines(stream)
    assert line.pop("at").endswith("Z")
    assert line == {
        "event": "event_applied",
        "level": "info",
        "logger": "syncer.test",
        "region": "east",
        "path": "/admin/policies/t",
        "duration_s": 0.25,
    }


def test_a_terminal_gets_words_for_people() -> None:
    stream = Terminal()
    configure(stream=stream)
    structlog.get_logger().warning("watch_gap", region="east")
    with pytest.raises(json.JSONDecodeError):
        json.loads(stream.getvalue())
    assert "watch_gap" in stream.getvalue()


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure(stream=stream)
    structlog.get_logger().warning("watch_gap")
    assert "\x1b" not in stream.getvalue()


def test_json_can_be_forced_on_a_terminal() -> None:
    stream = Terminal()
    configure(stream=stream, form="json")
    structlog.get_logger().warning("watch_gap")
    assert lines(stream)[0]["event"] == "watch_gap"


@pytest.mark.parametrize("name", ["kazoo.client", "uvicorn.error", "sqlalchemy.engine", "grpc._channel", "pulsar"])
def test_libraries_go_through_the_same_chain(name: str) -> None:
    stream = io.StringIO()
    configure(stream=stream, secrets=[PLANTED])
    logging.getLogger(name).error("connection to %s failed with %s", "host:1", PLANTED)
    (line,) = lines(stream)
    assert line["event"] == "library_said"
    assert line["logger"] == name
    assert line["message"] == f"connection to host:1 failed with {HIDDEN}"


def test_what_somebody_else_tells_is_left_out_until_the_log_is_set_up_anew() -> None:
    for but, told in ((("pulsar",), 0), ((), 1)):
        stream = io.StringIO()
        configure(stream=stream, but=but)
        logging.getLogger("pulsar").error("no connection")
        assert len(lines(stream)) == told


@pytest.mark.parametrize(("level", "told"), [("ERROR", 1), ("WARN ", 0)])
def test_a_line_of_pulsars_client_is_one_of_them(level: str, told: int) -> None:
    stream, relay = io.StringIO(), Relay()
    configure(stream=stream, secrets=[PLANTED])
    relay.take(f"2026-01-01 00:00:00.000 {level} [140539034859200] ClientConnection:485 | refused with {PLANTED}")
    found = [(line["logger"], line["level"], line["message"]) for line in lines(stream)]
    assert found == [("pulsar", "error", f"refused with {HIDDEN}")] * told


def test_a_call_that_is_made_again_is_told_as_a_fact() -> None:
    stream = io.StringIO()
    configure(stream=stream, secrets=[PLANTED])
    for attempt in stamina.retry_context(on=AdminUnreachable, wait_initial=0, wait_jitter=0):
        with attempt:
            if attempt.num == 1:
                raise AdminUnreachable(f"GET http://x/{PLANTED}: connection refused")
    (line,) = lines(stream)
    assert (line["event"], line["code"]) == ("call_repeats", "admin-unreachable")
    assert line["cause"] == f"GET http://x/{HIDDEN}: connection refused"


@pytest.mark.parametrize(("level", "count"), [("info", 0), ("debug", 1)])
def test_libraries_tell_every_call_only_when_asked(level: str, count: int) -> None:
    stream = io.StringIO()
    configure(stream=stream, level=level)
    logging.getLogger("kazoo.client").info("Sending request")
    assert len(lines(stream)) == count


def test_the_level_holds_for_our_own_events() -> None:
    stream = io.StringIO()
    configure(stream=stream, level="warning")
    structlog.get_logger().info("event_applied")
    structlog.get_logger().warning("watch_gap")
    assert [line["event"] for line in lines(stream)] == ["watch_gap"]


def test_a_second_call_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure(stream=first)
    configure(stream=second)
    structlog.get_logger().info("started")
    assert first.getvalue() == ""
    assert len(lines(second)) == 1


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_planted_secret_is_ever_written(form: Any) -> None:
    stream = io.StringIO()
    configure(stream=stream, form=form, level="debug", secrets=[PLANTED, "x"])
    log = structlog.get_logger()
    log.info("a", password=PLANTED, token="short", config={"auth": {"secret": "deep", "user": "u"}})
    log.info("b", text=f"before {PLANTED} after", items=[PLANTED, {"k": f"={PLANTED}="}])
    log.info("c", url=f"postgresql://me:{URL_PASSWORD}@db/x", header="Bearer abc.def.ghi")
    log.info("d", payload=PLANTED.encode(), thing=ValueError(f"bad {PLANTED}"))
    log.info(PLANTED, **{PLANTED: 1, "nested": {PLANTED: 1}})
    with bound_contextvars(api_key="from-the-context"):
        log.info("e")
    try:
        raise RuntimeError(f"cannot log in with {PLANTED} at http://me:{URL_PASSWORD}@host/")
    except RuntimeError:
        log.exception("f")
        logging.getLogger("grpc").exception("g %s", PLANTED)
    logging.getLogger("uvicorn").error("with extra", extra={"authorization": "extra-secret"})
    written = stream.getvalue()
    for secret in (PLANTED, URL_PASSWORD, "short", "deep", "abc.def.ghi", "from-the-context", "extra-secret"):
        assert secret not in written, secret
    assert "RuntimeError" in written
    assert "me:" in written


def test_names_of_secret_files_and_counts_are_no_secrets() -> None:
    redact = Redactor().value
    assert redact("/etc/x/token", "token_file") == "/etc/x/token"
    assert redact(3, "token_count") == 3
    assert redact(None, "password") is None
    assert redact(False, "password") is False
    assert redact(12345, "password") == HIDDEN


def test_values_without_end_are_cut() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    assert "…" in str(Redactor().value(loop))


def test_without_a_stream_it_is_stderr_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    configure(form="json")
    structlog.get_logger().info("started")
    captured = capsys.readouterr()
    assert json.loads(captured.err)["event"] == "started"
    assert captured.out == ""
