"""Outside clients of real stores: read, and write on condition of what was read; no line of the adapters is used."""

from __future__ import annotations

import base64
import http.client
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError, RolledBackError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.model import MetaPath
from tests.support.etcd import EtcdGateway, EtcdRefused

ANSWER_S: Final = 10.0
TOGETHER: Final = 50
"""Paths of one transaction; the servers allow more."""
_REFUSALS: Final = (BadVersionError, NodeExistsError, NoNodeError, RolledBackError)


class Away(Exception):
    """The store did not answer, and nothing was written."""


class OutcomeUnknown(Exception):
    """The connection was lost, or the answer is late: the write may have happened, or may yet happen."""


class Refused(Exception):
    """The store says that nothing was written."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a path holds. ``version`` is for the next write's condition, ``birth`` names the node."""

    value: bytes
    version: int
    birth: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """An acknowledgement: the store's revision of the write, and whether the node was the one that had been read."""

    revision: int
    same_node: bool = True


class OutsideStore(Protocol):
    """What a writer needs of a store. For one thread.

    ``put`` and ``delete`` hold only if the path is as ``found`` says (``None``: absent). They raise
    :class:`Refused` or :class:`OutcomeUnknown`; ``read`` raises :class:`Away`.
    """

    def read(self, path: MetaPath) -> Found | None: ...

    def put(self, path: MetaPath, value: bytes, found: Found | None) -> Done: ...

    def delete(self, path: MetaPath, found: Found) -> Done: ...

    def create_all(self, values: Mapping[MetaPath, bytes]) -> Done:
        """Create all of at most :data:`TOGETHER` absent paths, or none."""
        ...

    def delete_all(self, paths: Sequence[MetaPath]) -> Done:
        """Delete all of at most :data:`TOGETHER` paths, whatever they hold, or none."""
        ...

    def close(self) -> None: ...


def outside_store(server: ZooKeeperServer | EtcdNode) -> OutsideStore:
    """A client of its own for a server."""
    return OutsideZooKeeper(server.endpoint) if isinstance(server, ZooKeeperServer) else OutsideEtcd(server.endpoint)


class OutsideZooKeeper:
    """ZooKeeper by kazoo, without its retries: a write is sent once."""

    def __init__(self, hosts: str) -> None:
        forever = KazooRetry(max_tries=-1, delay=0.1, max_delay=0.5)
        self._client = KazooClient(hosts=hosts, timeout=4.0, connection_retry=forever)
        self._client.start_async()

    def read(self, path: MetaPath) -> Found | None:
        try:
            value, stat = self._client.get_async(path).get(timeout=ANSWER_S)
        except NoNodeError:
            return None
        except (KazooException, KazooTimeoutError) as exc:
            raise Away(type(exc).__name__) from exc
        return Found(value, stat.version, stat.czxid) if value else None

    def put(self, path: MetaPath, value: bytes, found: Found | None) -> Done:
        if found is None:
            _, stat = self._answer(self._client.create_async(path, value, include_data=True, makepath=True))
            return Done(stat.mzxid)
        stat = self._answer(self._client.set_async(path, value, version=found.version))
        return Done(stat.mzxid, same_node=stat.czxid == found.birth)

    def delete(self, path: MetaPath, found: Found) -> Done:
        self._answer(self._client.delete_async(path, version=found.version))
        return Done(self._client.last_zxid)

    def create_all(self, values: Mapping[MetaPath, bytes]) -> Done:
        transaction = self._client.transaction()
        for path, value in values.items():
            transaction.create(path, value)
        return self._commit(transaction)

    def delete_all(self, paths: Sequence[MetaPath]) -> Done:
        transaction = self._client.transaction()
        for path in paths:
            transaction.delete(path)
        return self._commit(transaction)

    def close(self) -> None:
        self._client.stop()
        self._client.close()

    def _commit(self, transaction: Any) -> Done:
        results = self._answer(transaction.commit_async())
        failed = next((each for each in results if isinstance(each, Exception)), None)
        if failed is not None:
            raise Refused(type(failed).__name__)
        return Done(self._client.last_zxid)

    def _answer(self, request: Any) -> Any:
        try:
            return request.get(timeout=ANSWER_S)
        except _REFUSALS as exc:
            raise Refused(type(exc).__name__) from exc
        except (KazooException, KazooTimeoutError) as exc:
            raise OutcomeUnknown(type(exc).__name__) from exc


class OutsideEtcd:
    """etcd by its JSON gateway: each write is one transaction on the revision that was read."""

    def __init__(self, endpoint: str) -> None:
        self._gateway = EtcdGateway(endpoint)

    def read(self, path: MetaPath) -> Found | None:
        try:
            found = self._gateway.call("kv/range", {"key": _b64(path)}).get("kvs")
        except (OSError, http.client.HTTPException, EtcdRefused, ValueError) as exc:
            raise Away(type(exc).__name__) from exc
        return Found(base64.b64decode(found[0].get("value", "")), int(found[0]["mod_revision"])) if found else None

    def put(self, path: MetaPath, value: bytes, found: Found | None) -> Done:
        return self._transact({path: found.version if found is not None else 0}, [_put(path, value)])

    def delete(self, path: MetaPath, found: Found) -> Done:
        return self._transact({path: found.version}, [_delete(path)])

    def create_all(self, values: Mapping[MetaPath, bytes]) -> Done:
        return self._transact(dict.fromkeys(values, 0), [_put(path, value) for path, value in values.items()])

    def delete_all(self, paths: Sequence[MetaPath]) -> Done:
        return self._transact({}, [_delete(path) for path in paths])

    def close(self) -> None:
        self._gateway.close()

    def revision_at(self, path: MetaPath, revision: int) -> int:
        """Revision of the latest change of a path at a revision of the store; 0 when it was absent."""
        body = {"key": _b64(path), "revision": str(revision)}
        found = self._gateway.call("kv/range", body).get("kvs")
        return int(found[0]["mod_revision"]) if found else 0

    def _transact(self, conditions: Mapping[MetaPath, int], changes: Sequence[dict[str, Any]]) -> Done:
        body = {
            "compare": [
                {"key": _b64(path), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
                for path, revision in conditions.items()
            ],
            "success": list(changes),
        }
        try:
            answer = self._gateway.call("kv/txn", body)
        except ConnectionRefusedError as exc:
            raise Refused("nobody listens") from exc
        except (OSError, http.client.HTTPException, EtcdRefused, ValueError) as exc:
            raise OutcomeUnknown(type(exc).__name__) from exc
        if not answer.get("succeeded"):
            raise Refused("the revision is another one")
        return Done(int(answer["header"]["revision"]))


def _put(path: MetaPath, value: bytes) -> dict[str, Any]:
    return {"requestPut": {"key": _b64(path), "value": base64.b64encode(value).decode()}}


def _delete(path: MetaPath) -> dict[str, Any]:
    return {"requestDeleteRange": {"key": _b64(path)}}


def _b64(path: str) -> str:
    return base64.b64encode(path.encode()).decode()
