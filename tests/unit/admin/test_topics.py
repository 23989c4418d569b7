"""Topics below a path, asked of brokers that serve it and of brokers that do not."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.topics import AdminProbe
from syncer.conflict.guards import Topics
from syncer.model import MetaPath
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio

NAMESPACE = MetaPath("/admin/policies/t/n")
TOPIC = MetaPath("/admin/partitioned-topics/t/n/non-persistent/a")
PERSISTENT = "/admin/v2/persistent/t/n"
LEFT_OUT = "Namespace missing local cluster name in clusters list: local_cluster=x ns=t/n clusters=[y]"
BY_NOBODY = "Namespace does not have any clusters configured : local_cluster=x ns=t/n"
DELETED = "Namespace is deleted"


async def told(path: MetaPath, status: int, reason: str, *, persistent: list[str] | None = None) -> Topics:
    """What is told of a path whose brokers refuse to list what is not persistent."""

    def answer(asked: Asked) -> tuple[int, str]:
        if asked.path.startswith("/admin/v2/non-persistent/"):
            return status, json.dumps({"reason": reason})
        if asked.path == PERSISTENT:
            return 200, json.dumps(persistent or [])
        return 404, json.dumps({"reason": "HTTP 404 Not Found"})

    with serving(answer) as url:
        client = AdminClient(AdminSettings(url=url, retry_for=timedelta(0)))
        try:
            return await AdminProbe(client).ask(path)
        finally:
            await client.close()


@pytest.mark.parametrize("path", [NAMESPACE, TOPIC])
@pytest.mark.parametrize("reason", [LEFT_OUT, BY_NOBODY])
async def test_what_no_broker_here_serves_has_no_topics_in_brokers(path: MetaPath, reason: str) -> None:
    assert await told(path, 412, reason) is Topics.NONE


async def test_topics_that_a_cluster_kept_when_it_was_left_out_count() -> None:
    assert await told(NAMESPACE, 412, LEFT_OUT, persistent=["persistent://t/n/kept"]) is Topics.SOME


@pytest.mark.parametrize(("status", "reason"), [(412, DELETED), (412, ""), (403, LEFT_OUT), (500, LEFT_OUT)])
async def test_another_refusal_leaves_it_open(status: int, reason: str) -> None:
    assert await told(NAMESPACE, status, reason) is Topics.CANNOT_ASK
    assert await told(TOPIC, status, reason) is Topics.CANNOT_ASK
