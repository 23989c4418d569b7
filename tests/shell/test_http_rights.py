"""Rights over HTTP of a whole daemon: what it shows, and the conditions by which it says what is wanting."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deploy.lab.ports import free_ports
from syncer.errors import ConfigError
from syncer.running import run
from syncer.surface import Surface
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import active
from tests.shell.test_slow_clients import asked


async def test_an_installation_of_before_that_listens_everywhere_has_its_probes_and_says_what_to_do(
    make_site: MakeSite,
) -> None:
    (port,) = free_ports(1)
    east = make_site("east", api={"enabled": True, "listen": f"0.0.0.0:{port}"})
    async with east.running() as daemon, anyio.create_task_group() as tasks:
        await active(east)
        tasks.start_soon(Surface(daemon, version="1").serve)
        assert "200 OK" in await to_thread.run_sync(asked, port, "/livez")
        assert "404 Not Found" in await to_thread.run_sync(asked, port, "/api/v1/status")
        await until(lambda: "api-probes-only" in east.conditions(), "the status says it")
        tasks.cancel_scope.cancel()


async def test_a_file_of_tokens_that_breaks_is_a_condition_until_it_is_mended(
    make_site: MakeSite, tmp_path: Path
) -> None:
    (port,), file = free_ports(1), tmp_path / "tokens.json"
    east = make_site("east", api={"enabled": True, "listen": f"127.0.0.1:{port}", "tokens": str(file)})
    async with east.running() as daemon, anyio.create_task_group() as tasks:
        await active(east)
        tasks.start_soon(Surface(daemon, version="1").serve)
        assert "401 Unauthorized" in await to_thread.run_sync(asked, port, "/api/v1/status")
        counted = 'syncer_http_requests_refused_total{code="unauthorized"} 1.0'

        async def is_counted() -> bool:
            return counted in await to_thread.run_sync(asked, port, "/metrics")

        await until(is_counted, "the refusal is counted")
        file.write_text("nonsense")
        file.chmod(0o600)
        await until(lambda: "api-rights-unreadable" in east.conditions(), "the status says it")
        assert "503 Service Unavailable" in await to_thread.run_sync(asked, port, "/api/v1/status")
        file.unlink()
        await until(lambda: "api-rights-unreadable" not in east.conditions(), "it is mended")
        tasks.cancel_scope.cancel()


def test_half_protected_nothing_starts(make_site: MakeSite, tmp_path: Path) -> None:
    api = {"enabled": True, "listen": "0.0.0.0:1", "tokens": str(tmp_path / "tokens.json")}
    with pytest.raises(ConfigError, match=r"api\.listen"):
        run(make_site("east", api=api).config())
