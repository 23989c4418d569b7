"""Operators are told of what waits for them, by a daemon as it is: once, over restarts, and never at its expense."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
from structlog.testing import capture_logs

from syncer.daemon import Daemon
from syncer.notices.rules import NoticeKind
from syncer.notifier.notifier import FAILING, Notifier
from syncer.state.sql.work.notices import NoticesTold
from syncer.waiting import starvation, until
from tests.shell.conftest import MakeSite
from tests.shell.region import NAMESPACE, TENANT, Site, active, tenant
from tests.support.webhook_server import WebhookServer, answering, hanging, receiving

NOTIFY = {"interval": "1s", "reminder": "1h"}
UNKNOWN = (
    b'{"replication_clusters":["east","nowhere"],"bundles":{"boundaries":["0x00000000","0xffffffff"],"numBundles":1}}'
)


class CountingNotifier(Notifier):
    """Counts how often it has looked what stands."""

    looks = 0

    async def _look_anew(self) -> None:
        await super()._look_anew()
        self.looks += 1


@asynccontextmanager
async def told_of(site: Site, **overrides: Any) -> AsyncIterator[tuple[Daemon, CountingNotifier]]:
    """Run a daemon with what tells operators beside it, as ``syncer run`` does."""
    async with site.running(**overrides) as daemon, anyio.create_task_group() as tasks:
        notifier = CountingNotifier(daemon)
        tasks.start_soon(notifier.run)
        yield daemon, notifier
        tasks.cancel_scope.cancel()


def events(server: WebhookServer) -> list[tuple[str, str, int]]:
    """Kind, occasion and count of what was posted."""
    found = [json.loads(each.body)["data"] for each in server.posted]
    return [(each["kind"], each["event"], each["count"]) for each in found]


def kept(site: Site, webhook: str) -> bool:
    """Whether the database has that a webhook was told of what is held."""
    with closing(NoticesTold(site.config().database_url())) as told:
        return (webhook, NoticeKind.HOLDS) in told.read()


def hold(site: Site, name: str) -> None:
    """Have a change held: a value that the store cannot have made."""
    site.writer.put(f"/admin/policies/{name}", b"{")


async def test_a_hold_is_told_once_over_a_restart_and_told_to_be_over(make_site: MakeSite, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("whsec_" + base64.b64encode(b"k" * 32).decode())
    secret.chmod(0o600)
    with receiving() as server:
        site = make_site("east", notify=NOTIFY, webhook={"ops": {"url": server.url, "secret_file": str(secret)}})
        site.writer.put(TENANT, tenant("a"))
        async with told_of(site):
            await active(site)
            hold(site, "broken")
            await until(site.holds, "it is held")
            await until(lambda: server.posted, "it is told")
            await until(lambda: kept(site, "ops"), "that it was told is kept: what is not kept is told again")
        assert events(server)[0] == ("holds", "raised", 1)
        posted = server.posted[0]
        signed = f"{posted.headers['webhook-id']}.{posted.headers['webhook-timestamp']}.".encode() + posted.body
        mac = base64.b64encode(hmac.digest(b"k" * 32, signed, hashlib.sha256)).decode()
        assert posted.headers["webhook-signature"] == f"v1,{mac}"
        assert json.loads(posted.body)["data"]["paths"] == ["/admin/policies/broken"]
        assert len([each for each in events(server) if each[0] == "holds"]) == 1
        async with told_of(site) as (daemon, notifier):
            await until(lambda: daemon.role == "active", "it is active again")
            looks = notifier.looks
            await until(lambda: notifier.looks >= looks + 3, "it has looked what stands")
            site.writer.put("/admin/policies/broken", tenant("b"))
            await until(lambda: not site.holds(), "nothing is held")
            await until(lambda: ("holds", "cleared", 0) in events(server), "that it is over is told")
        told = [each for each in events(server) if each[0] == "holds"]
        assert told == [("holds", "raised", 1), ("holds", "cleared", 0)], "what was told before is not told again"
        assert len(set(server.ids())) == len(server.ids())


async def test_a_webhook_that_does_not_take_it_gets_the_same_notice_again(make_site: MakeSite) -> None:
    with receiving(answering(500), answering(429), answering(200)) as server:
        site = make_site("east", notify=NOTIFY, webhook={"ops": {"url": server.url, "kinds": ["holds"]}})
        async with told_of(site) as (_, notifier):
            await active(site)
            hold(site, "broken")
            await until(lambda: len(server.posted) == 3, "it is told again and again")
            await until(lambda: notifier.tally["notices", "delivered"] >= 2, "it is taken, and in the log")
        assert len(set(server.ids())) == 1
        assert notifier.tally["webhook_attempts", "failed"] == 2


async def test_a_webhook_that_hangs_or_is_gone_holds_up_neither_the_others_nor_the_daemon(make_site: MakeSite) -> None:
    with receiving(hanging()) as slow, receiving(answering(410)) as gone, receiving() as well, capture_logs() as logs:
        hooks = {name: {"url": server.url, "kinds": ["holds"]} for name, server in (("slow", slow), ("gone", gone))}
        site = make_site("east", notify=NOTIFY, webhook={**hooks, "well": {"url": well.url, "kinds": ["holds"]}})
        async with told_of(site):
            await active(site)
            hold(site, "broken")
            await until(lambda: well.posted and slow.posted and gone.posted, "each is called")
            site.writer.put(TENANT, tenant("a"))
            site.writer.put(NAMESPACE, UNKNOWN)
            await until(lambda: site.ask(lambda views: views.register(TENANT)), "the daemon goes on")
            await until(lambda: FAILING in site.conditions(), "the status tells")
            assert "gone" in site.conditions()[FAILING]
            began = time.monotonic()
        assert time.monotonic() - began < 5 * starvation.patience(), "a call that hangs does not hold up the end"
        assert len(gone.posted) == 1
    assert [each["kind"] for each in logs if each["event"] == "notice"][:1] == [NoticeKind.HOLDS]
