"""Topics of policies beside a region's simulated store: what brokers take, and what stands there by the rules alone.

Whoever writes has the last word with the brokers. What counts is judged here once more, when a message arrives, of the
whole topic, whatever was compacted since: the referee's only source, beside what every reader makes of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from syncer.model import MetaPath, Millis, Stamp
from syncer.stores.contract import Entry
from syncer.system_topics.log import GONE, NOTHING, Held, LogMessage, WriterClaim
from syncer.system_topics.policies import key_of, namespace_of, path_of
from tests.simulation.history import Content, Violation
from tests.simulation.store import Node, SimStore, StoreCopy, digest_of

if TYPE_CHECKING:
    from tests.simulation.topic_daemon import SimTopicLog

_Kept = TypeVar("_Kept")

BASE: Final = "/admin/topic-policies/global"
TENANT: Final = MetaPath("/admin/policies/t")
NAMESPACES: Final = (MetaPath("/admin/policies/t/n"), MetaPath("/admin/policies/t/m"))
POLICIES: Final = (
    MetaPath(f"{BASE}/t/n/persistent/a"),
    MetaPath(f"{BASE}/t/n/persistent/b"),
    MetaPath(f"{BASE}/t/m/persistent/c"),
)


@dataclass(eq=False, slots=True)
class Appending:
    """A message of a daemon on its way to a broker; it may arrive after its author is gone."""

    namespace: str
    key: str
    held: bytes | None
    claim: WriterClaim
    stamp: Stamp | None
    id: str = ""
    forsaken: bool = False


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A broker's edit that was overwritten by a void message, and that a further edit kept from being put back."""

    path: MetaPath
    lost: Content
    by: Content


@dataclass(slots=True)
class _Key:
    standing: Content
    standing_id: str = NOTHING
    top: str = NOTHING
    gone: bool = True
    """Nothing stands, and nobody has decided that: its topic was deleted, or nothing was ever written."""
    value: bytes | None = None
    """What brokers answer."""
    stood: list[tuple[int, str, Content]] = field(default_factory=list)
    """From which message on what stood, and by which."""

    @property
    def owes(self) -> bool:
        """Whether something void stands for brokers."""
        return self.top not in {self.standing_id, NOTHING}


class TopicStore(SimStore):
    """A region's store, whose topic policies are kept in topics; what brokers answer of them is shown as nodes."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.messages: dict[str, list[LogMessage]] = {}
        self.number = 0
        """Of the last message."""
        self.under_way: list[Appending] = []
        self.opened: list[SimTopicLog] = []
        self.overtaken: list[Overtaken] = []
        self.withheld_until: dict[str, int] = {}
        self.forges: Callable[[], WriterClaim | None] = lambda: None
        """Whether the next edit claims to be a daemon's, under a fence that nobody has had."""
        self.gone: set[MetaPath] = set()
        """Where the topic does not exist."""
        self._tombstones: set[int] = set()
        """Messages without a value, of brokers that deleted a topic: they are compacted away."""
        self._keys: dict[MetaPath, _Key] = {}
        self._fences: dict[tuple[str, str], int] = {}

    # -- what stands

    def _key(self, path: MetaPath) -> _Key:
        if path not in self._keys:
            self._keys[path] = _Key(self._first(path))
        return self._keys[path]

    def content(self, path: MetaPath) -> Content:
        """What stands at a path, whatever brokers answer."""
        return super().content(path) if namespace_of(path) is None else self._key(path).standing

    def listing(self) -> list[MetaPath]:
        """All paths of the store itself."""
        return [path for path in super().listing() if namespace_of(path) is None]

    def read_as(self, path: MetaPath, entry: Entry | None, number: int) -> Content:
        """What a reader has read who had taken all messages up to a number.

        Raises:
            Violation: It is not what stood there.
        """
        stood, content = NOTHING, self._first(path)
        for at, by, what in self._key(path).stood:
            if at <= number:
                stood, content = by, what
        if (entry is None) != (content.digest is None):
            raise Violation("wrong standing", path, f"{self.region} reads {entry}, and {content} stands there")
        if entry is not None and entry.revision != stood:
            raise Violation("wrong standing", path, f"{self.region} reads {entry.revision}, and {stood} stands there")
        return content

    def _first(self, path: MetaPath) -> Content:
        if path not in self.absent:
            self.absent[path] = Content(0, path, None, self.region, outside=False)
        return self.absent[path]

    def written_by(self, entry: Entry) -> Content:
        """What a message stands for.

        Raises:
            Violation: It never stood there.
        """
        for _, by, content in self._key(entry.path).stood:
            if by == entry.revision:
                return content
        raise Violation("wrong standing", entry.path, f"{self.region} lists {entry.revision}, which never stood there")

    def owing(self) -> MetaPath | None:
        """A path at which what brokers answer does not count."""
        return next((path for path, key in self._keys.items() if key.owes), None)

    # -- what comes in

    def _add(self, path: MetaPath, held: Held, claim: WriterClaim | None) -> LogMessage:
        self.number += 1
        message = LogMessage(
            id=f"0:{self.number}", key=key_of(path), held=held, published_ms=Millis(self._clock()), claim=claim
        )
        self.messages.setdefault(namespace_of(path) or "", []).append(message)
        for each in self.opened:
            each.pushed()
        return message

    def _stands(self, path: MetaPath, message: LogMessage, content: Content, *, gone: bool = False) -> None:
        key = self._key(path)
        key.gone = gone
        if key.owes and key.standing.outside and key.standing.digest != content.digest:
            self.overtaken.append(Overtaken(path, key.standing, content))
        key.standing, key.standing_id = content, message.id
        key.stood.append((self.number, message.id, content))

    def _answers(self, path: MetaPath, message: LogMessage) -> None:
        key = self._key(path)
        key.top, key.value = message.id, message.held if isinstance(message.held, bytes) else None
        if key.value is None:
            self.nodes.pop(path, None)
        else:
            number = self.number
            self.nodes[path] = Node(key.value, number, number, 0, self._clock(), key.standing)

    def _edited(self, path: MetaPath, value: bytes | None) -> Content:
        """A broker takes an edit."""
        digest = digest_of(path, value) if value is not None else None
        content = self._history.written_outside(path, digest, self._key(path).standing, self.region)
        message = self._add(path, value, self.forges())
        self._stands(path, message, content)
        self._answers(path, message)
        return content

    def put_outside(self, path: MetaPath, value: bytes, *, distinct: bool = False) -> Content | None:
        """Somebody creates or changes a path; of a topic's policies, by a broker."""
        if namespace_of(path) is None:
            return super().put_outside(path, value, distinct=distinct)
        return self._edited(path, value) if path not in self.gone else None

    def delete_outside(self, path: MetaPath) -> Content | None:
        """Somebody deletes a path; of a topic's policies, by a broker."""
        if namespace_of(path) is None:
            return super().delete_outside(path)
        return self._edited(path, None) if path in self.nodes and path not in self.gone else None

    def delete_topic(self, path: MetaPath) -> None:
        """A broker deletes the topic of a path, its policies first: nobody has removed these."""
        self.gone.add(path)
        if path in self.nodes:
            self.went.update(name for each in self._key(path).standing.past for name in each.names)
            message = self._add(path, GONE, None)
            self._tombstones.add(self.number)
            self._stands(path, message, Content(0, path, None, self.region, outside=False), gone=True)
            self._answers(path, message)

    def arrive(self, sent: Appending) -> bool:
        """A message of a daemon arrives; whether it counts."""
        self.under_way.remove(sent)
        path, claim = path_of(sent.key), sent.claim
        assert path is not None
        key, before = self._key(path), self._key(path).value
        fences = (sent.namespace, claim.store_id)
        fresh = claim.fence >= self._fences.get(fences, 0)
        self._fences[fences] = max(claim.fence, self._fences.get(fences, 0))
        counts = fresh and key.top in {claim.expected, NOTHING}
        message = self._add(path, sent.held, claim)
        sent.id = message.id
        if counts and claim.restores:
            self._restored(path, message)
        elif counts:
            self._carried_by(path, message, sent, before)
        self._answers(path, message)
        return counts

    def _restored(self, path: MetaPath, message: LogMessage) -> None:
        key, held = self._key(path), message.held
        if (digest_of(path, held) if isinstance(held, bytes) else None) != key.standing.digest:
            raise Violation("put back wrongly", path, f"{message.id} of {self.region} is not {key.standing}")
        if message.claim is None or message.claim.gone != key.gone:
            raise Violation("put back wrongly", path, f"{message.id} of {self.region}: who has removed {key.standing}")
        key.standing_id = message.id
        key.stood.append((self.number, message.id, key.standing))

    def _carried_by(self, path: MetaPath, message: LogMessage, sent: Appending, before: bytes | None) -> None:
        assert sent.stamp is not None, "nobody knows what a daemon writes"
        digest = digest_of(path, sent.held) if sent.held is not None else None
        old = self._key(path).standing
        new = self._history.carried(path, sent.stamp, self.region, lambda: digest)
        if digest != new.digest:
            raise Violation("garbled", path, f"what was written at {self.region} is not what {new.stamp} stands for")
        self._stands(path, message, new)
        self.wrote(path, sent.stamp, before, sent.held)
        if old.digest != new.digest:
            self._overwritten(path, old, new)

    def put_back(self, copy: StoreCopy) -> None:
        """The metadata store is as it was; topics are not kept there, and stay as they are."""
        nodes = _apart(copy.nodes, in_topics=False) | _apart(self.nodes, in_topics=True)
        absent = _apart(copy.absent, in_topics=False) | _apart(self.absent, in_topics=True)
        super().put_back(StoreCopy(nodes, absent, copy.transactions))

    # -- what befalls a topic

    def compact_topics(self) -> bool:
        """Keep the last message of each key, but for those without a value that every open reader has taken.

        No message is on its way for so long that a compaction would come between, and nothing is owed: what is lost by
        that is said in ``limits.md``.
        """
        if self.under_way or self.owing() is not None or not self.number:
            return False
        for namespace, messages in self.messages.items():
            taken = min((each.taken for each in self.opened if each.namespace == namespace), default=self.number)
            gone = {number for number in self._tombstones if number <= taken}
            last = {each.key: each for each in messages}
            self.messages[namespace] = [each for each in last.values() if number_of(each.id) not in gone]
            for key, each in last.items():
                path = path_of(key)
                if number_of(each.id) in gone and path is not None:
                    self._keys[path].top = NOTHING
        return True


def _apart(found: Mapping[MetaPath, _Kept], *, in_topics: bool) -> dict[MetaPath, _Kept]:
    """Those that are kept in topics, or the others."""
    return {path: each for path, each in found.items() if (namespace_of(path) is not None) == in_topics}


def number_of(message_id: str) -> int:
    """Number of a message in its region."""
    return int(message_id.partition(":")[2])
