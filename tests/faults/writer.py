"""Outside writers: threads that read and write stores, and call brokers, all the time, and record every answer."""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import Final

from deploy.lab import rest
from deploy.lab.process import ServerFailed
from syncer.model import MetaPath
from syncer.paths import namespace_path, tenant_path
from tests.faults.record import ROOT, TOPICS, Answer, Record, Write, token_of, value_of
from tests.faults.stores import TOGETHER, Away, Done, Found, OutcomeUnknown, OutsideStore, Refused

SHARED: Final = 400
"""Paths that writers of all regions change; a path that drops out is deleted."""
HOT: Final = 8
"""Paths that they quarrel about."""
HOT_WRITES: Final = 1_500
"""After so many draws the quarrel moves on to other paths."""


class Ground:
    """Which paths are written. For several threads.

    Args:
        shared: How many paths are in use at a time.
    """

    def __init__(self, shared: int = SHARED) -> None:
        self._lock = threading.Lock()
        self._shared: deque[MetaPath] = deque()
        self._limit = shared
        self._retired: deque[MetaPath] = deque()
        self._draws = 0

    def add(self, path: MetaPath) -> None:
        """A path is in use from now on."""
        with self._lock:
            self._shared.append(path)
            if len(self._shared) > self._limit:
                self._retired.append(self._shared.popleft())

    def retired(self) -> MetaPath | None:
        """A path that is no longer in use, to be deleted."""
        with self._lock:
            return self._retired.popleft() if self._retired else None

    def shared(self, source: random.Random) -> MetaPath | None:
        """Any path in use."""
        with self._lock:
            return source.choice(self._shared) if self._shared else None

    def hot(self, source: random.Random) -> MetaPath:
        """One of the few that all quarrel about."""
        with self._lock:
            self._draws += 1
            era = self._draws // HOT_WRITES
        return fresh_path(f"hot{era}x{source.randrange(HOT)}", source.randrange(3))


class Load:
    """Whether writers work, and what they share.

    Args:
        record: Where every answer goes.
        clusters: Names of all clusters, as documents name them.
    """

    def __init__(self, record: Record, clusters: Sequence[str]) -> None:
        self.record = record
        self.clusters = tuple(clusters)
        self.ground = Ground()
        self.over = threading.Event()
        self.open = threading.Event()

    def pause(self) -> None:
        """No write begins from now on."""
        self.open.clear()

    def go_on(self) -> None:
        """Let writers work."""
        self.open.set()

    def end(self) -> None:
        """End all writers."""
        self.over.set()
        self.open.set()


class Outsider(threading.Thread, ABC):
    """Does one thing after the other while the load goes on.

    Args:
        region: Id of the region that it works on.
        name: Its own.
        load: What it shares with others.
        pace_s: Rest between two things.
    """

    def __init__(self, region: str, name: str, load: Load, *, pace_s: float) -> None:
        super().__init__(name=name, daemon=True)
        self.region = region
        self.idle = threading.Event()
        """Set while it neither reads nor writes."""
        self._load = load
        self._pace_s = pace_s

    def run(self) -> None:
        """Work until the load is over."""
        try:
            with self._working() as once:
                while not self._load.over.wait(self._pace_s):
                    self.idle.set()
                    self._load.open.wait()
                    if self._load.over.is_set():
                        break
                    self.idle.clear()
                    if self._load.open.is_set():  # who pauses the load waits for the idle ones; nobody slips through
                        once()
        finally:
            self.idle.set()

    @abstractmethod
    def _working(self) -> AbstractContextManager[Callable[[], None]]:
        """What it needs for as long as it works; what to do once."""


class Writer(Outsider):
    """One outside writer of one region's store.

    Args:
        region: Id of the region.
        name: Its own.
        load: What it shares with others.
        connect: Makes its client.
        seed: Of its choices.
        pace_s: Rest between two writes.
    """

    def __init__(
        self, region: str, name: str, load: Load, connect: Callable[[], OutsideStore], *, seed: str, pace_s: float
    ) -> None:
        super().__init__(region, name, load, pace_s=pace_s)
        self._connect = connect
        self._source = random.Random(seed)
        self._numbers = 0

    @contextmanager
    def _working(self) -> Iterator[Callable[[], None]]:
        with closing(self._connect()) as store:
            yield partial(self._unless_away, store)

    def _unless_away(self, store: OutsideStore) -> None:
        try:
            self._once(store)
        except Away:
            self._load.record.away(self.region)

    def _once(self, store: OutsideStore) -> None:
        retired = self._load.ground.retired()
        if retired is not None:
            if (found := store.read(retired)) is not None:
                self._remove(store, retired, found, _now())
            return
        dice = self._source.random()
        if dice < 0.30:
            path, removes = self._new_path(), 0.0
        elif dice < 0.85:
            path, removes = self._load.ground.shared(self._source) or self._new_path(), 0.3
        else:
            path, removes = self._load.ground.hot(self._source), 0.2
        found = store.read(path)
        read_at = _now()
        if found is not None and self._source.random() < removes:
            self._remove(store, path, found, read_at)
        else:
            self._put(store, path, found, read_at)

    def put(self, store: OutsideStore, path: MetaPath) -> None:
        """Put a new value at a path, whatever it holds."""
        self._put(store, path, store.read(path), _now())

    def _new_path(self) -> MetaPath:
        self._numbers += 1
        path = fresh_path(f"{self.name}x{self._numbers}", self._source.randrange(3))
        self._load.ground.add(path)
        return path

    def _put(self, store: OutsideStore, path: MetaPath, found: Found | None, read_at: int) -> None:
        self._numbers += 1
        token = f"{self.name}.{self._numbers}"
        value = value_of(path, token, self._load.clusters)
        self._write(lambda: store.put(path, value, found), path, token, found, read_at)

    def _remove(self, store: OutsideStore, path: MetaPath, found: Found, read_at: int) -> None:
        self._write(lambda: store.delete(path, found), path, None, found, read_at)

    def _write(
        self, write: Callable[[], Done], path: MetaPath, token: str | None, found: Found | None, read_at: int
    ) -> None:
        sent, same_node = _now(), True
        try:
            done = write()
            answer, detail, same_node = Answer.ACKNOWLEDGED, str(done.revision), done.same_node
        except Refused as exc:
            answer, detail = Answer.REFUSED, str(exc)
        except OutcomeUnknown as exc:
            answer, detail = Answer.UNKNOWN, str(exc)
        self._load.record.add(
            Write(
                region=self.region,
                writer=self.name,
                path=path,
                token=token,
                over=token_of(path, found.value) if found is not None else None,
                over_known=same_node,
                read_at_ms=read_at,
                sent_at_ms=sent,
                answered_at_ms=_now(),
                answer=answer,
                detail=detail,
            )
        )


class Caller(Outsider):
    """Makes tenants by the REST API of a broker, each once, as an operator's script would.

    Args:
        region: Id of the region.
        admin_url: Of its broker.
        load: What it shares with others.
        pace_s: Rest between two calls.
    """

    def __init__(self, region: str, admin_url: str, load: Load, *, pace_s: float) -> None:
        super().__init__(region, f"{region}-rest", load, pace_s=pace_s)
        self._admin_url = admin_url
        self._numbers = 0

    @contextmanager
    def _working(self) -> Iterator[Callable[[], None]]:
        yield self._once

    def _once(self) -> None:
        self._numbers += 1
        self._make(f"{ROOT}-{self.name}x{self._numbers}", f"{self.name}.{self._numbers}")

    def _make(self, name: str, token: str) -> None:
        body = {"adminRoles": [token], "allowedClusters": sorted(self._load.clusters)}
        sent = _now()
        try:
            rest.send("PUT", f"{self._admin_url}/admin/v2/tenants/{name}", body)
            answer, detail = Answer.ACKNOWLEDGED, "2xx"
        except ServerFailed as exc:
            answer, detail = Answer.UNKNOWN, str(exc)[-120:]
        path = tenant_path(name)
        self._load.record.add(
            Write(
                region=self.region,
                writer=self.name,
                path=path,
                token=token,
                over=None,
                read_at_ms=sent,
                sent_at_ms=sent,
                answered_at_ms=_now(),
                answer=answer,
                detail=detail,
            )
        )
        self._load.ground.add(path)


class Bursts:
    """Very many writes in little time: topics that come, and go again.

    Args:
        region: Id of the region.
        store: A client of its store.
        load: Where they are recorded.
        name: Of the writer.
    """

    def __init__(self, region: str, store: OutsideStore, load: Load, *, name: str) -> None:
        self._region = region
        self._store = store
        self._load = load
        self._name = name

    def create(self, count: int) -> list[MetaPath]:
        """Create so many topics; those that stand."""
        made: list[MetaPath] = []
        for first in range(0, count, TOGETHER):
            tokens = {
                MetaPath(f"{TOPICS}/{self._name}x{number}"): f"{self._name}.{number}"
                for number in range(first, min(first + TOGETHER, count))
            }
            values = {path: value_of(path, token, self._load.clusters) for path, token in tokens.items()}
            if self._together(lambda values=values: self._store.create_all(values), tokens, {}):  # type: ignore[misc]  # mypy has no type for a default
                made += tokens
        return made

    def delete(self, paths: Sequence[MetaPath]) -> int:
        """Delete topics that :meth:`create` made; how many are gone."""
        gone = 0
        for first in range(0, len(paths), TOGETHER):
            some = paths[first : first + TOGETHER]
            over = {path: f"{self._name}.{path.rpartition('x')[2]}" for path in some}
            done = self._together(lambda some=some: self._store.delete_all(some), dict.fromkeys(some), over)  # type: ignore[misc]  # likewise
            gone += len(some) if done else 0
        return gone

    def _together(
        self, write: Callable[[], Done], tokens: Mapping[MetaPath, str | None], over: Mapping[MetaPath, str]
    ) -> bool:
        sent = _now()
        try:
            answer, detail = Answer.ACKNOWLEDGED, str(write().revision)
        except Refused as exc:
            answer, detail = Answer.REFUSED, str(exc)
        except OutcomeUnknown as exc:
            answer, detail = Answer.UNKNOWN, str(exc)
        now = _now()
        self._load.record.add(
            *(
                Write(
                    region=self._region,
                    writer=self._name,
                    path=path,
                    token=token,
                    over=over.get(path),
                    read_at_ms=sent,
                    sent_at_ms=sent,
                    answered_at_ms=now,
                    answer=answer,
                    detail=detail,
                )
                for path, token in tokens.items()
            )
        )
        return answer is Answer.ACKNOWLEDGED


def fresh_path(name: str, kind: int) -> MetaPath:
    """A path of a name: a tenant, a namespace or a partitioned topic, none of which has anything below it."""
    if kind == 0:
        return tenant_path(f"{ROOT}-{name}")
    if kind == 1:
        return namespace_path(ROOT, name)
    return MetaPath(f"{TOPICS}/{name}")


def _now() -> int:
    return time.time_ns() // 1_000_000
