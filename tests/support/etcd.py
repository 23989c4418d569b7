"""An etcd server with options (TLS, users, flags), and a writer that speaks to etcd without the product's code.

The writer uses etcd's JSON gateway, so that what it writes and reads shares no line with the adapter under test.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command
from deploy.lab.server import Server
from deploy.lab.software import etcd_binary

TIMEOUT_S: Final = 60.0
SAVE_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdTls:
    """Files (PEM) of a server that speaks TLS; with ``client_cert_file`` it asks clients for a certificate too."""

    ca_file: Path
    cert_file: Path
    key_file: Path
    client_cert_file: Path | None = None
    client_key_file: Path | None = None


class EtcdServer(Server):
    """A single etcd process with the options that the shared one lacks.

    Args:
        directory: Holds data and log.
        tls: Serve clients by TLS.
        flags: More flags of etcd's command line (``--auth-token-ttl=1``).
    """

    def __init__(self, directory: Path, *, tls: EtcdTls | None = None, flags: tuple[str, ...] = ()) -> None:
        self._tls = tls
        self._flags = flags
        port, self._peer_port = free_ports(2)
        super().__init__(directory, name="etcd", port=port, data_directory=directory / "data", leashed=True)

    def _command(self) -> Command:
        client_url = f"{'http' if self._tls is None else 'https'}://{self.endpoint}"
        peer_url = f"http://{HOST}:{self._peer_port}"
        words = [
            str(etcd_binary()),
            "--name=test",
            f"--data-dir={self.data_directory}",
            f"--listen-client-urls={client_url}",
            f"--advertise-client-urls={client_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=test={peer_url}",
            "--unsafe-no-fsync",
            "--log-level=error",
            *self._flags,
        ]
        if self._tls is not None:
            words += [f"--cert-file={self._tls.cert_file}", f"--key-file={self._tls.key_file}"]
            if self._tls.client_cert_file is not None:
                words += ["--client-cert-auth", f"--trusted-ca-file={self._tls.ca_file}"]
        return Command(words=tuple(words), directory=self.directory)

    def restart(self) -> None:
        """Kill it and start it again on the same ports and data."""
        self.kill()
        self.start()

    def gateway(self, *, user: str = "", password: str = "") -> EtcdGateway:
        """A writer of its own connection."""
        return EtcdGateway(self.endpoint, tls=self._tls, user=user, password=password)

    def _serves(self) -> bool:
        try:
            with self.gateway() as gateway:
                gateway.call("maintenance/status", {})
        except (OSError, http.client.HTTPException, EtcdRefused):
            return False
        return True


class EtcdRefused(Exception):
    """The gateway answered with an error."""


class EtcdGateway:
    """Blocking client of the JSON gateway; not safe for several threads."""

    def __init__(self, endpoint: str, *, tls: EtcdTls | None = None, user: str = "", password: str = "") -> None:
        host, _, port = endpoint.rpartition(":")
        if tls is None:
            self._connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
        else:
            context = ssl.create_default_context(cafile=str(tls.ca_file))
            if tls.client_cert_file is not None:
                context.load_cert_chain(str(tls.client_cert_file), str(tls.client_key_file))
            self._connection = http.client.HTTPSConnection(host, int(port), timeout=TIMEOUT_S, context=context)
        self._headers = {"Content-Type": "application/json"}
        if user:
            self._headers["Authorization"] = self.call("auth/authenticate", {"name": user, "password": password})[
                "token"
            ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def reconnect(self) -> None:
        """Drop the connection; the next call opens another."""
        self._connection.close()

    def call(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        """One call, ``POST /v3/<method>``."""
        try:
            self._connection.request("POST", f"/v3/{method}", json.dumps(body), self._headers)
            response = self._connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        answer: dict[str, Any] = json.loads(raw)
        if response.status != 200:
            raise EtcdRefused(f"{method}: {response.status} {raw!r}")
        return answer

    def put(self, path: str, value: bytes, *, lease: int = 0) -> int:
        """Write without a condition; the new revision."""
        body = {"key": _b64(path.encode()), "value": _b64(value), "lease": str(lease)}
        return int(self.call("kv/put", body)["header"]["revision"])

    def write(self, puts: Mapping[str, bytes], deletes: Iterable[str] = ()) -> None:
        """Write and delete in one transaction, at most 128 keys."""
        operations: list[dict[str, Any]] = [
            {"request_put": {"key": _b64(path.encode()), "value": _b64(value)}} for path, value in puts.items()
        ]
        operations += [{"request_delete_range": {"key": _b64(path.encode())}} for path in deletes]
        self.call("kv/txn", {"success": operations})

    def delete(self, path: str) -> None:
        """Delete without a condition."""
        self.call("kv/deleterange", {"key": _b64(path.encode())})

    def get(self, path: str) -> bytes | None:
        """The value, or ``None``."""
        found = self.call("kv/range", {"key": _b64(path.encode())}).get("kvs")
        return base64.b64decode(found[0].get("value", "")) if found else None

    def held(self, start: str, end: str) -> list[tuple[str, tuple[bytes, int]]]:
        """Of each key of a range the value, and the revision of its last write."""
        found = self.call("kv/range", {"key": _b64(start.encode()), "range_end": _b64(end.encode())}).get("kvs", [])
        return [
            (base64.b64decode(kv["key"]).decode(), (base64.b64decode(kv.get("value", "")), int(kv["mod_revision"])))
            for kv in found
        ]

    def grant_lease(self, ttl_s: int) -> int:
        """A lease that lives for so long unless it is renewed."""
        return int(self.call("lease/grant", {"TTL": str(ttl_s)})["ID"])

    def revoke_lease(self, lease: int) -> None:
        """End a lease and delete its keys."""
        self.call("lease/revoke", {"ID": str(lease)})

    def enable_auth(self, root_password: str) -> None:
        """Make the user ``root`` and ask every client for a user and a password from now on."""
        self.call("auth/user/add", {"name": "root", "password": root_password})
        self.call("auth/role/add", {"name": "root"})
        self.call("auth/user/grant", {"user": "root", "role": "root"})
        self.call("auth/enable", {})

    def revision(self) -> int:
        """The store's newest revision."""
        return int(self.call("kv/range", {"key": _b64(b"\0"), "count_only": True})["header"]["revision"])

    def compact(self) -> None:
        """Forget all history before the newest revision."""
        with contextlib.suppress(EtcdRefused):  # compacted to this very revision before
            self.call("kv/compaction", {"revision": str(self.revision()), "physical": True})


def save_snapshot(endpoint: str, file: Path) -> Path:
    """Have etcd's own ``etcdctl snapshot save`` write a file; it must not be there yet."""
    etcdctl = etcd_binary().with_name("etcdctl")
    words = [str(etcdctl), "--endpoints", endpoint, "snapshot", "save", str(file)]
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=SAVE_TIMEOUT_S)
    return file


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
