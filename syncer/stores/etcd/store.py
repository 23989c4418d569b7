"""The store itself: reads, transactions, scans; the watch that arms again."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import grpc
from pydantic import BaseModel

from syncer import local_files
from syncer.errors import (
    AccessDenied,
    ConfigError,
    InvariantBroken,
    StoreError,
    StoreUnavailable,
    ValueRefused,
)
from syncer.local_files import MAX_CERTIFICATES_BYTES
from syncer.model import MetaPath, Revision
from syncer.stores.contract import BatchRefused, Capabilities, Entry, Gap, Put, WatchSignal, Write, Written
from syncer.stores.etcd.comparisons import Compare, comparisons_of, refusal
from syncer.stores.etcd.config import EtcdConfig, EtcdTls
from syncer.stores.etcd.connection import AnswerTooLarge, EtcdConnection
from syncer.stores.etcd.keys import KeySpace, covers
from syncer.stores.etcd.paging import PageSize, Paging
from syncer.stores.etcd.watch import Watch
from syncer.stores.etcd.wire import Dynamic, load

MAX_TXN_OPERATIONS: Final = 128
"""etcd's default ``--max-txn-ops``."""

READS_IN_FLIGHT: Final = 8
PAGE: Final = PageSize(first_keys=16, max_keys=1000, page_bytes=1024 * 1024)

REARM_PAUSE_S: Final = 0.1
MAX_REARM_PAUSE_S: Final = 2.0


class EtcdStore:
    """A region's metadata in etcd."""

    config_model: ClassVar[type[BaseModel]] = EtcdConfig

    def __init__(self, config: EtcdConfig) -> None:
        self._config = config
        self._keys = KeySpace(config.namespace)
        self._connection: EtcdConnection | None = None
        self._opening = False

    @property
    def capabilities(self) -> Capabilities:
        """No modification times, no parents; a batch leaves room for a fence beside 120 comparisons."""
        return Capabilities(
            modified_times=False,
            real_parents=False,
            transactions=True,
            max_batch_writes=120,
            max_batch_bytes=self._config.max_value_bytes + 64 * 1024,
            max_value_bytes=self._config.max_value_bytes,
            delete_weight=2,
        )

    async def open(self) -> None:
        """Connect and log in; see the contract. May be called again after it failed."""
        if self._opening or self._connection is not None:
            raise InvariantBroken("the etcd store was opened twice")
        self._opening = True
        connection = connection_of(self._config)
        try:
            await connection.open()
            await self._check_access(connection)
        except BaseException:
            await connection.close()
            raise
        finally:
            self._opening = False
        self._connection = connection

    async def close(self) -> None:
        """Disconnect; see the contract."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read in transactions of up to 128 paths, several in flight; one that answered out of order is asked again."""
        legal = [path for path in paths if self._keys.holds(path)]  # any other cannot exist
        chunks = [legal[at : at + MAX_TXN_OPERATIONS] for at in range(0, len(legal), MAX_TXN_OPERATIONS)]
        found: dict[MetaPath, Entry | None] = dict.fromkeys(paths)
        newest = 0
        for at in range(0, len(chunks), READS_IN_FLIGHT):
            window = chunks[at : at + READS_IN_FLIGHT]
            for chunk, first_try in zip(window, await self._read_together(window), strict=True):
                answer = first_try if first_try.first_revision >= newest else await self._read_chunk(chunk)
                newest = answer.last_revision
                found.update(zip(chunk, answer.entries, strict=True))
        return found

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all or nothing; see the contract."""
        if not writes:
            return ()
        comparisons = self._comparisons(writes)
        request = load().messages["TxnRequest"]()
        for comparison in comparisons:
            comparison.add_to(request)
        for write in writes:
            self._add_write(request, write)
        try:
            answer = await self._connected().call("KV.Txn", request, repeatable=False)
        except (ValueRefused, AccessDenied) as exc:
            raise BatchRefused(_largest(writes), exc) from exc
        if not answer.succeeded:
            raise refusal(self._keys, writes, comparisons, answer) or InvariantBroken(
                "etcd refused a batch although all that it compared was as expected"
            )
        revision = Revision(str(answer.header.revision))
        return tuple(
            Written(path=write.path, revision=revision if isinstance(write, Put) else None) for write in writes
        )

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream pages in the order of the keys, each read at the newest revision when it is asked for.

        So a page is never older than the call that fetched it, and a compaction cannot break a long scan. Pages aim at
        the size of ``PAGE``; none is larger than ``connection.MAX_MESSAGE_BYTES``.
        """
        request = load().messages["RangeRequest"]
        paging = Paging(*self._keys.range(prefix), PAGE)
        while (due := paging.due) is not None:
            try:
                answer = await self._connected().call("KV.Range", request(**due), repeatable=True)
            except AnswerTooLarge:
                if not paging.smaller():
                    raise
                continue
            paging.took(answer)
            entries = (self._entry(kv) for kv in answer.kvs)
            page = tuple(entry for entry in entries if entry is not None and covers(prefix, entry.path))
            if page:
                yield page

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes; a cut stream, a silent server and a compaction are gaps. See the contract.

        While the server is away, each attempt to arm again yields a ``Gap`` with its reason. A ``Beat`` is etcd's
        answer to a progress request; servers before 3.5.8 may give it some milliseconds before the last events.
        """
        pause_s = REARM_PAUSE_S
        while True:
            connection = self._connected()
            try:
                async with contextlib.aclosing(Watch(self._keys, connection, prefixes).signals()) as signals:
                    async for signal in signals:
                        pause_s = REARM_PAUSE_S
                        yield signal
            except AccessDenied:
                raise
            except StoreError as exc:
                reason = exc.message
            if self._connection is None:
                return
            connection.advance()
            yield Gap(reason)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_REARM_PAUSE_S)

    async def _check_access(self, connection: EtcdConnection) -> None:
        request = load().messages["RangeRequest"](key=self._keys.key(MetaPath("/")), keys_only=True)
        try:
            await connection.call("KV.Range", request, repeatable=True)
        except AccessDenied:
            if self._config.username is None:
                raise
            # Logged in; a role may allow some prefixes only, which the calls on them will tell.

    def _connected(self) -> EtcdConnection:
        if self._connection is None:
            raise StoreUnavailable("the etcd store is not open")
        return self._connection

    def _entry(self, kv: Dynamic) -> Entry | None:
        path = self._keys.path(kv.key)
        if path is None:
            return None
        return Entry(
            path=path,
            value=kv.value,
            revision=Revision(str(kv.mod_revision)),
            modified_at_ms=None,
            ephemeral=kv.lease != 0,
        )

    async def _read_together(self, chunks: Sequence[Sequence[MetaPath]]) -> list[_Answer]:
        if len(chunks) == 1:
            return [await self._read_chunk(chunks[0])]
        tasks = [asyncio.create_task(self._read_chunk(chunk)) for chunk in chunks]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_chunk(self, paths: Sequence[MetaPath]) -> _Answer:
        request = load().messages["TxnRequest"]()
        for path in paths:
            request.success.add().request_range.key = self._keys.key(path)
        try:
            answer = await self._connected().call("KV.Txn", request, repeatable=True)
        except AnswerTooLarge:
            if len(paths) == 1:
                raise
            middle = len(paths) // 2
            left, right = await self._read_chunk(paths[:middle]), await self._read_chunk(paths[middle:])
            return _Answer(left.first_revision, right.last_revision, left.entries + right.entries)
        entries = []
        for response in answer.responses:
            kvs = response.response_range.kvs
            entries.append(self._entry(kvs[0]) if kvs else None)
        return _Answer(answer.header.revision, answer.header.revision, entries)

    def _comparisons(self, writes: Sequence[Write]) -> list[Compare]:
        if len({write.path for write in writes}) != len(writes):
            raise InvariantBroken("a batch names one path twice; etcd cannot apply that")
        comparisons = list(comparisons_of(self._keys, writes, self._config.max_value_bytes))
        if len(comparisons) > MAX_TXN_OPERATIONS:
            raise InvariantBroken(f"a batch with {len(comparisons)} comparisons; etcd takes {MAX_TXN_OPERATIONS}")
        return comparisons

    def _add_write(self, request: Dynamic, write: Write) -> None:
        key = self._keys.key(write.path)
        if isinstance(write, Put):
            put = request.success.add().request_put
            put.key, put.value = key, write.value
        else:
            request.success.add().request_delete_range.key = key


def connection_of(config: EtcdConfig) -> EtcdConnection:
    """A connection by a store's settings, not yet opened; its files are read when it is."""
    return EtcdConnection(
        endpoints=config.endpoints,
        credentials=None if config.tls is None else functools.partial(_credentials, config.tls),
        login=None if config.username is None else functools.partial(_login, config),
        timeout_s=config.request_timeout.total_seconds(),
    )


def _credentials(tls: EtcdTls) -> grpc.ChannelCredentials:
    try:
        ca, key, cert = (
            None if file is None else local_files.read(file, MAX_CERTIFICATES_BYTES)
            for file in (tls.ca_file, tls.key_file, tls.cert_file)
        )
    except OSError as exc:
        raise ConfigError(f"cannot read a TLS file of the etcd store: {exc}") from exc
    return grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)


def _login(config: EtcdConfig) -> tuple[str, str]:
    assert config.username is not None  # noqa: S101 - narrows the type
    assert config.password_file is not None  # noqa: S101 - narrows the type
    try:
        return config.username, local_files.secret_text(config.password_file)
    except OSError as exc:
        raise ConfigError(
            f"cannot read the password file of the etcd store, {config.password_file}: {exc.strerror}"
        ) from exc


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answered read: the store's revision at its first and its last path, and the entries in order."""

    first_revision: int
    last_revision: int
    entries: list[Entry | None]


def _largest(writes: Sequence[Write]) -> int:
    """Index of the write that most likely made a request too large."""
    sizes = [len(write.value) if isinstance(write, Put) else 0 for write in writes]
    return sizes.index(max(sizes))
