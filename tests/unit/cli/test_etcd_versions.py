"""What ``config check --connect`` says of brokers whose metadata is in etcd."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from syncer.cli.etcd_versions import etcd_warnings
from syncer.config.model import Config
from syncer.documents.configuration import DependencyDocument
from syncer.waiting import WAIT_S
from tests.support.admin_server import Asked, serving

ADMIN = DependencyDocument(name="admin", ok=True, cause="", hint="")


def config(url: str | None, kind: str = "etcd") -> Config:
    store: dict[str, Any] = {"kind": "etcd", "endpoints": ["127.0.0.1:1"]}
    if kind == "sqlite":
        store = {"kind": "sqlite", "path": "/s.db"}
    document = {"region": "east", "clusters": ["east"], "store": store, "bus": {"kind": "embedded", "path": "/b.db"}}
    return Config.model_validate({**document, **({"admin": {"url": url}} if url else {})})


@contextmanager
def broker(version: str) -> Iterator[str]:
    """A cluster of one broker."""
    here: list[str] = []

    def answer(asked: Asked) -> tuple[int, str]:
        listed = f'["{here[0].removeprefix("http://")}"]'
        return 200, version if asked.path.endswith("/version") else listed

    with serving(answer) as url:
        here.append(url)
        yield url


def test_brokers_at_the_end_are_named() -> None:
    with broker("4.2.4") as url:
        (said,) = etcd_warnings(config(url), [ADMIN], timeout_s=WAIT_S)
    assert "Pulsar 4.2.4" in said
    assert said.endswith("(etcd-ends)")


def test_older_brokers_and_other_stores_are_no_matter() -> None:
    with broker("4.0.8") as url:
        assert etcd_warnings(config(url), [ADMIN], timeout_s=WAIT_S) == []
        assert etcd_warnings(config(url, "sqlite"), [ADMIN], timeout_s=WAIT_S) == []


def test_where_nobody_can_be_asked_that_is_said() -> None:
    (said,) = etcd_warnings(config(None), [], timeout_s=WAIT_S)
    assert "no [admin] is configured" in said
    silent = ADMIN.model_copy(update={"ok": False})
    (said,) = etcd_warnings(config("http://127.0.0.1:1"), [silent], timeout_s=WAIT_S)
    assert "does not answer" in said


def test_a_broker_that_takes_its_time_is_not_waited_for_beyond_the_deadline() -> None:
    (said,) = etcd_warnings(config("http://10.255.255.1:8080"), [ADMIN], timeout_s=0.3)
    assert "is not known" in said
