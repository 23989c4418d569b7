"""Simulated metadata stores: true transactions, watches, parents and times as ZooKeeper or etcd have them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from syncer.conflict.projection import PROJECTIONS
from syncer.errors import NotEmpty, ParentMissing, RevisionMismatch
from syncer.model import Digest, MetaPath, Millis, Region, Revision, Stamp
from syncer.paths import OWN_PREFIX, classify, is_under
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Capabilities,
    Changed,
    Delete,
    Entry,
    Gap,
    Put,
    WatchSignal,
    Write,
    Written,
)
from tests.simulation import offloading, own_credentials
from tests.simulation.cluster_names import BrokerNames
from tests.simulation.history import Content, History, Violation
from tests.simulation.newer_fields import without_newer


class StoreKind(StrEnum):
    """What the store is like."""

    ZOOKEEPER = "zookeeper"
    """Modification times, real parents, compare-and-set on the node's last write."""

    ZOOKEEPER_ABA = "zookeeper-aba"
    """As the real one: the compare-and-set is on a version that begins anew when a node is made again."""

    ETCD = "etcd"
    """No modification times, no parents."""


@dataclass(frozen=True, slots=True)
class Node:
    """One stored value."""

    value: bytes
    modified: int
    created: int
    version: int
    modified_at_ms: Millis
    content: Content | None


@dataclass(eq=False, slots=True)
class Watch:
    """One watcher's signals, not yet taken. ``whole`` ends with a gap."""

    signals: deque[WatchSignal] = field(default_factory=lambda: deque([Armed()]))
    whole: bool = True

    def notice(self, path: MetaPath, mark: str) -> None:
        """A path changed, by the transaction of that name."""
        if self.whole:
            self.signals.append(Changed((path,), (mark,)))

    def tear(self) -> None:
        """What was not taken yet is lost, and whatever comes until the watcher arms again."""
        self.whole = False
        self.signals.clear()
        self.signals.append(Gap("simulated"))


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """A backup of a store."""

    nodes: Mapping[MetaPath, Node]
    absent: Mapping[MetaPath, Content]
    transactions: int


Overwritten = Callable[[MetaPath, Content, Content], None]

_ROOT: Final = MetaPath("")
GARBAGE: Final = b"{what nobody can read"


class SimStore:
    """One region's store.

    Args:
        region: Whose it is.
        kind: What it is like.
        history: Where contents are kept.
        clock: The store's own clock.
        overwritten: Told of each content that a daemon's write replaced, and by what.
        unprotected: Told of a content that is replaced unread, because the compare-and-set cannot tell it.
    """

    def __init__(
        self,
        region: Region,
        kind: StoreKind,
        history: History,
        clock: Callable[[], Millis],
        overwritten: Overwritten,
        unprotected: Callable[[Content], None],
    ) -> None:
        self.region = region
        self.kind = kind
        self.capabilities = Capabilities(
            modified_times=kind is not StoreKind.ETCD,
            real_parents=kind is not StoreKind.ETCD,
            transactions=True,
            max_batch_writes=4,
            max_batch_bytes=32_768,
            max_value_bytes=1_000_000,
        )
        self.nodes: dict[MetaPath, Node] = {}
        self.absent: dict[MetaPath, Content] = {}
        self.went: set[Content] = set()
        """What stood, or had stood, where brokers have deleted it with what it belongs to."""
        self.watches: list[Watch] = []
        self._history = history
        self._clock = clock
        self._overwritten = overwritten
        self._unprotected = unprotected
        self._transactions = 0
        self.wrote: Callable[[MetaPath, Stamp, bytes | None, bytes | None], None] = lambda *_: None
        """Told of each write of a daemon: the path, the stamp that it stands for, the value before and after."""
        self.carries: Callable[[], bool] = lambda: False
        """Whether the region is set to carry policies of offloading."""
        self.names: BrokerNames | None = None
        """What its brokers call clusters, if not as the group does; all else here has the group's names."""

    # -- for daemons

    def entry(self, path: MetaPath) -> Entry | None:
        """A linearizable read."""
        return self._entry(path) if self.names is None else self.names.read(self._entry(self.names.asked(path)))

    def _entry(self, path: MetaPath) -> Entry | None:
        node = self.nodes.get(path)
        if node is None:
            return None
        timed = self.capabilities.modified_times
        return Entry(
            path=path,
            value=node.value,
            revision=self._revision(node),
            modified_at_ms=node.modified_at_ms if timed else None,
            distinct=self._distinct,
        )

    @property
    def _distinct(self) -> bool:
        return self.kind is not StoreKind.ZOOKEEPER_ABA

    def content(self, path: MetaPath) -> Content:
        """What stands at a path; an inner node without a value counts as absent."""
        node = self.nodes.get(path)
        if node is not None and node.content is not None:
            return node.content
        if path not in self.absent:
            self.absent[path] = Content(0, path, None, self.region, outside=False)
        return self.absent[path]

    def listing(self) -> list[MetaPath]:
        """All paths, for a scan; daemons' own prefix left out."""
        paths = sorted(path for path in self.nodes if not is_under(path, OWN_PREFIX))
        return paths if self.names is None else list(map(self.names.noticed, paths))

    def watch(self) -> Watch:
        """Arm a watch."""
        watch = Watch()
        self.watches.append(watch)
        return watch

    def apply(self, writes: Sequence[Write], meaning: Mapping[MetaPath, Stamp]) -> tuple[Written, ...]:
        """Apply all writes or none. ``meaning``: the stamp of the version that each write carries, for the history.

        Raises:
            BatchRefused: As the contract says.
        """
        if self.names is not None:
            writes = [self.names.written(each) for each in writes]
            meaning = {self.names.asked(path): stamp for path, stamp in meaning.items()}
        self._transactions += 1
        before = self.nodes
        self.nodes = dict(before)
        answers: list[Written] = []
        changed: list[MetaPath] = []
        contents: list[tuple[MetaPath, Content, Content]] = []
        for index, write in enumerate(writes):
            stamp = meaning.get(write.path)
            new = self._carried(write, stamp) if stamp is not None else None
            if new is not None:
                contents.append((write.path, self.content(write.path), new))
            try:
                answers.append(self._put(write, new) if isinstance(write, Put) else self._delete(write))
            except (RevisionMismatch, ParentMissing, NotEmpty) as exc:
                self.nodes = before
                raise BatchRefused(index, exc) from exc
            changed.append(write.path)
        for write in writes:
            (offloading if self.carries() else own_credentials).check_write(
                self.region, write.path, _value(before.get(write.path)), _value(self.nodes.get(write.path))
            )
        for path, old, new in contents:
            if path not in self.nodes:
                self.absent[path] = new
            self._check_carried(path, new)
            assert new.stamp is not None
            self.wrote(path, new.stamp, _value(before.get(path)), _value(self.nodes.get(path)))
            if old.digest != new.digest:
                self._overwritten(path, old, new)
        self._tell(changed)
        if self.names is not None:
            return tuple(replace(each, path=self.names.noticed(each.path)) for each in answers)
        return tuple(answers)

    def _carried(self, write: Write, stamp: Stamp) -> Content:
        def written() -> Digest | None:
            return digest_of(write.path, write.value) if isinstance(write, Put) else None

        return self._history.carried(write.path, stamp, self.region, written)

    def _check_carried(self, path: MetaPath, new: Content) -> None:
        node = self.nodes.get(path)
        digest = digest_of(path, node.value) if node is not None else None
        if digest != new.digest:
            rule = "garbled" if self.names is None else "foreign name"
            raise Violation(rule, path, f"what was written at {self.region} is not what {new.stamp} stands for")

    def _put(self, write: Put, content: Content | None) -> Written:
        present = self.nodes.get(write.path)
        replaced = self._check(write.path, present, write.expected)
        if present is None:
            self._make_way(write)
        made = self._transactions if present is None else present.created
        version = 0 if present is None else present.version + 1
        node = Node(write.value, self._transactions, made, version, self._clock(), content)
        self.nodes[write.path] = node
        return Written(
            path=write.path,
            revision=self._revision(node),
            replaced_unread=replaced,
            mark=self._mark,
            distinct=self._distinct,
        )

    def _delete(self, write: Delete) -> Written:
        replaced = self._check(write.path, self.nodes.get(write.path), write.expected)
        if self.has_children(write.path):
            raise NotEmpty(f"{write.path} has children")
        del self.nodes[write.path]
        return Written(path=write.path, revision=None, replaced_unread=replaced, mark=self._mark)

    def _check(self, path: MetaPath, present: Node | None, expected: Revision | None) -> bool:
        """Compare; whether what passed was not what was read."""
        actual = self._revision(present) if present is not None else None
        if actual == expected:
            return False
        if self.kind is StoreKind.ZOOKEEPER_ABA and actual is not None and expected is not None:
            present_version, read_version = actual.split(".")[1], expected.split(".")[1]
            if present_version == read_version:
                if present is not None and present.content is not None:
                    self._unprotected(present.content)
                return True
        raise RevisionMismatch(f"{path} is at {actual}, not {expected}")

    def _make_way(self, write: Put) -> None:
        if not self.capabilities.real_parents:
            return
        segments = write.path.split("/")[1:-1]
        for depth in range(len(segments)):
            ancestor = MetaPath("/" + "/".join(segments[: depth + 1]))
            if ancestor in self.nodes:
                continue
            if ancestor not in write.scaffold:
                raise ParentMissing(f"{ancestor} does not exist")
            self.nodes[ancestor] = Node(b"", self._transactions, self._transactions, 0, self._clock(), None)

    def _revision(self, node: Node) -> Revision:
        if self.kind is StoreKind.ETCD:
            return Revision(str(node.modified))
        return Revision(f"{node.modified}.{node.version}.{node.created}")

    @property
    def _mark(self) -> str:
        """The name of the last transaction; a store may tell it or not."""
        return "" if self.kind is StoreKind.ETCD else str(self._transactions)

    def _tell(self, paths: Sequence[MetaPath]) -> None:
        for path in paths:
            if not is_under(path, OWN_PREFIX):
                told = path if self.names is None else self.names.noticed(path)
                for watch in self.watches:
                    watch.notice(told, self._mark)

    # -- for everybody else

    def copy(self) -> StoreCopy:
        """Make a backup."""
        return StoreCopy(dict(self.nodes), dict(self.absent), self._transactions)

    def put_back(self, copy: StoreCopy) -> None:
        """Everything is as it was, revisions too; whoever watches has missed that."""
        self.nodes, self.absent, self._transactions = dict(copy.nodes), dict(copy.absent), copy.transactions
        for watch in self.watches:
            watch.tear()

    def read_by(self, told: Mapping[str, str]) -> set[MetaPath]:
        """Its daemon reads it by another table of names: what it holds has another meaning, by nobody's write.

        Returns:
            Where it has.
        """
        names = self.names
        assert names is not None
        here = {path: names.value_here(node.value) for path, node in self.nodes.items() if node.content is not None}
        names.tell(told)
        changed = set()
        for path, value in here.items():
            node, meant = self.nodes[path], names.value_in_group(value)
            digest, over = digest_of(path, meant), self.content(path)
            content = self._history.written_outside(path, digest, over, self.region)
            self.nodes[path] = replace(node, value=meant, content=content)
            if content is not over:
                changed.add(path)
        return changed

    def has_children(self, path: MetaPath) -> bool:
        """Whether anything lives below the path."""
        return any(other.startswith(f"{path}/") for other in self.nodes)

    def put_outside(self, path: MetaPath, value: bytes, *, distinct: bool = False) -> Content | None:
        """Somebody creates or changes a path; ``None`` where the store would refuse that.

        Args:
            path: Where.
            value: What.
            distinct: It counts as another content although it is equal, but for newer fields.
        """
        present = self.nodes.get(path)
        resource = classify(path)
        if present is None and self.capabilities.real_parents and resource is not None and resource.parent is not None:
            below = is_under(path, resource.parent)
            if below and resource.parent not in self.nodes:
                return None
        self._transactions += 1
        digest, over = digest_of(path, value), self.content(path)
        content = self._history.written_outside(path, digest, over, self.region, distinct=distinct)
        if present is None:
            self._make_way(Put(path=path, value=value, expected=None, scaffold=_ancestors(path)))
        made = self._transactions if present is None else present.created
        version = 0 if present is None else present.version + 1
        self.nodes[path] = Node(value, self._transactions, made, version, self._clock(), content)
        self._tell([path])
        return content

    def garble(self, path: MetaPath, garbage: bytes = GARBAGE) -> bool:
        """Somebody writes what nobody can read; for the history what stood there stands there still."""
        present = self.nodes.get(path)
        if present is None or present.content is None or present.value == garbage:
            return False
        self._transactions += 1
        changed = replace(present, value=garbage, modified=self._transactions, version=present.version + 1)
        self.nodes[path] = replace(changed, modified_at_ms=self._clock())
        self._tell([path])
        return True

    def compact(self) -> bool:
        """Forget what no watch has taken yet."""
        behind = [watch for watch in self.watches if watch.whole and watch.signals]
        for watch in behind:
            watch.tear()
        return bool(behind)

    def delete_outside(self, path: MetaPath) -> Content | None:
        """Somebody deletes a path; ``None`` where the store would refuse that."""
        if path not in self.nodes or (self.capabilities.real_parents and self.has_children(path)):
            return None
        self._transactions += 1
        content = self._history.written_outside(path, None, self.content(path), self.region)
        del self.nodes[path]
        self.absent[path] = content
        self._tell([path])
        return content


def digest_of(path: MetaPath, value: bytes) -> Digest:
    """Digest of a value, by the path's kind; without the fields that not every broker knows, which have own rules."""
    resource = classify(path)
    if resource is None:
        raise Violation("out of scope", path, "a daemon wrote where no resource is")
    return PROJECTIONS[resource.kind].digest(without_newer(path, value))


def _value(node: Node | None) -> bytes | None:
    return node.value if node is not None and node.value else None


def _ancestors(path: MetaPath) -> tuple[MetaPath, ...]:
    segments = path.split("/")[1:-1]
    return tuple(MetaPath("/" + "/".join(segments[: depth + 1])) for depth in range(len(segments)))
