"""Former values: what is set for the time of a migration, remembered before it is set, and put back.

Whoever sets something asks first for what is there, has the journal remember it, and only then sets it; it is forgotten
when it is back. So a run that was killed at any moment leaves in its journal all that has to be put back, and perhaps
something that never was changed: putting that back changes nothing.
Source: ``PersistentTopics`` (publishRate, backlogQuota), ``Namespaces`` (encryptionRequired), Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError
from syncer.migration.course import FORMER
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import MANY_ATTEMPTS, SERVER_ERROR, each_of, insist
from syncer.migration.running.journal import MigrationJournal
from syncer.model import Millis

GATE: Final[Mapping[str, object]] = {"limitSize": 0, "limitTime": -1, "policy": "producer_request_hold"}
"""Holds every producer that comes, whatever is stored. With another word in it the same limit throws away what is
stored: it is never put together from parts, and read back before anything else is done."""
_AGAIN_S: Final = 0.1
_KIND: Final = "destination_storage"
_GONE: Final = 404
"""The topic or namespace is no more."""
_QUOTA: Final = f"backlogQuota?backlogQuotaType={_KIND}"


class Setting(StrEnum):
    """Kinds of what is set, in the order in which they are put back while producers wait."""

    ENCRYPTION = "encryption-required"
    """Of a namespace: sends away every producer that does not encrypt."""
    QUOTA = "backlog-quota"
    """Of a topic: the gate."""
    RATE = "publish-rate"
    """Of a topic: the brake."""
    DYNAMIC = "dynamic-setting"
    """Of all brokers."""


OF_A_FLIP: Final = (Setting.ENCRYPTION, Setting.QUOTA, Setting.RATE)
"""What is set for one wave; the others stand until the end of the migration."""


@dataclass(frozen=True, slots=True, order=True)
class ChangedSetting:
    """Something that is set: its kind, and the topic, namespace or key that it is set for."""

    setting: Setting
    subject: str

    @property
    def key(self) -> str:
        """In the journal, behind the word for its cluster."""
        return f"{self.setting}/{self.subject}"


class FormerValues:
    """Sets what a migration needs of a cluster, and puts back what was there.

    Args:
        calls: The cluster's admin API.
        clock: The time, and waiting.
        journal: Remembers what was there.
        cluster: ``blue`` or ``green``: what was there is kept apart for each.
    """

    def __init__(self, calls: AdminCalls, clock: Clock, journal: MigrationJournal, *, cluster: str = "blue") -> None:
        self._calls = calls
        self._clock = clock
        self._journal = journal
        self._cluster = cluster
        self._start = FORMER[cluster]
        self._former: dict[ChangedSetting, object] = {}
        self._acts: list[dict[str, object]] = []

    async def load(self) -> None:
        """Take what an earlier run has left behind from the journal."""
        for key, value in (await self._journal.recall(self._start)).items():
            setting, _, subject = key.removeprefix(self._start).partition("/")
            self._former[ChangedSetting(Setting(setting), subject)] = value

    def standing(self, settings: Iterable[Setting] = OF_A_FLIP) -> tuple[ChangedSetting, ...]:
        """What is set, or may be, in the order in which it is put back."""
        order = tuple(settings)
        return tuple(sorted((each for each in self._former if each.setting in order), key=_order))

    def acts(self) -> list[dict[str, object]]:
        """What was set, and what was put back, each with its time; it is told once."""
        acts = list(self._acts)
        self._acts.clear()
        return acts

    def is_set(self, setting: Setting, subject: str) -> bool:
        """Whether this is set, or may be."""
        return ChangedSetting(setting, subject) in self._former

    async def remember_rate(self, topic: str) -> None:
        """Remember a topic's own rate, which is about to be set."""
        if not self.is_set(Setting.RATE, topic):
            own = await insist(self._clock, lambda: self._calls.topic_policy(topic, "publishRate"))
            await self._remember(ChangedSetting(Setting.RATE, topic), own)

    async def brake(self, topic: str, rate: int) -> None:
        """Hold a topic to a rate in bytes a second, with all its partitions, or to its own if that is lower."""
        await self.remember_rate(topic)
        own = self._former[ChangedSetting(Setting.RATE, topic)]
        own_rate = own.get("publishThrottlingRateInByte") if isinstance(own, Mapping) else None
        lower = min(rate, own_rate) if isinstance(own_rate, int) and own_rate > 0 else rate
        body = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": lower}
        await insist(self._clock, lambda: self._calls.set_topic_policy(topic, "publishRate", body))
        self._act("set", ChangedSetting(Setting.RATE, topic), lower)

    async def gate(self, topic: str) -> None:
        """Let no producer in to a topic any more, with all its partitions.

        Raises:
            AdminError: What was read back is not the gate; or a call was refused.
        """
        quotas = await self._quotas(topic)
        await self._remember(ChangedSetting(Setting.QUOTA, topic), quotas.get(_KIND))
        await insist(self._clock, lambda: self._calls.set_topic_policy(topic, _QUOTA, dict(GATE)))
        found = (await self._quotas(topic)).get(_KIND)
        if not isinstance(found, Mapping) or {**found, **GATE} != dict(found):
            raise AdminError(
                f"the gate of {topic} was read back as {found!r}",
                hint="Somebody else writes the policies of this topic: have it stopped, and see to the topic's quota.",
            )
        self._act("set", ChangedSetting(Setting.QUOTA, topic), GATE["policy"])

    async def kick(self, namespace: str, *, by_ms: Millis) -> None:
        """Send every producer of a namespace away that does not encrypt, and let none of them in.

        Raises:
            AdminError: It is too late, or the call was refused until it was; it may have been carried out.
        """
        changed = ChangedSetting(Setting.ENCRYPTION, namespace)
        await self._remember(changed, value=False)
        refused: AdminRefused | None = None
        while self._clock.now_ms() <= by_ms:
            try:
                await self._calls.set_namespace(namespace, "encryptionRequired", value=True)
            except AdminRefused as error:
                if error.status < SERVER_ERROR:
                    raise
                refused = error
            else:
                return self._act("set", changed, value=True)
            await self._clock.sleep(_AGAIN_S)
        raise AdminError(f"producers of {namespace} were not sent away in time") from refused

    async def set_dynamic(self, key: str, value: str, former: str | None) -> None:
        """Set something for all brokers; what was remembered first stays so."""
        changed = ChangedSetting(Setting.DYNAMIC, key)
        if changed not in self._former:
            await self._remember(changed, former)
        await insist(self._clock, lambda: self._calls.set_dynamic(key, value))
        self._act("set", changed, value)

    async def put_back(self, changed: ChangedSetting) -> None:
        """Put one thing back as it was, and forget it; that nothing was set is no error."""
        if changed not in self._former:
            return
        try:
            await insist(self._clock, lambda: self._restore(changed, self._former[changed]), MANY_ATTEMPTS)
        except AdminRefused as refused:
            if refused.status != _GONE:
                raise
        self._act("back", changed, self._former[changed])
        await self._journal.forget(f"{self._start}{changed.key}")
        self._former.pop(changed, None)

    async def put_all_back(self, settings: Collection[Setting] = OF_A_FLIP) -> None:
        """Put all back that is set: one kind after the other, and of each as much as can be.

        Raises:
            AdminError: Something could not be put back; the journal still has it.
        """
        for setting in settings:
            await each_of(self.put_back, self.standing((setting,)))

    def _act(self, act: str, changed: ChangedSetting, value: object) -> None:
        row = {"act": act, "cluster": self._cluster, "setting": changed.setting.value, "subject": changed.subject}
        self._acts.append({**row, "value": value, "at_ms": self._clock.now_ms()})

    async def _remember(self, changed: ChangedSetting, value: object) -> None:
        await self._journal.remember(f"{self._start}{changed.key}", value)
        self._former[changed] = value

    async def _restore(self, changed: ChangedSetting, former: object) -> None:
        calls, subject = self._calls, changed.subject
        match changed.setting:
            case Setting.ENCRYPTION:
                await calls.set_namespace(subject, "encryptionRequired", former)
            case Setting.QUOTA if former is None:
                await calls.remove_topic_policy(subject, _QUOTA)
            case Setting.QUOTA:
                await calls.set_topic_policy(subject, _QUOTA, former)
            case Setting.RATE if former is None:
                await calls.remove_topic_policy(subject, "publishRate")
            case Setting.RATE:
                await calls.set_topic_policy(subject, "publishRate", former)
            case Setting.DYNAMIC if former is None:
                await calls.remove_dynamic(subject)
            case Setting.DYNAMIC:
                await calls.set_dynamic(subject, str(former))

    async def _quotas(self, topic: str) -> Mapping[str, object]:
        found = await insist(self._clock, lambda: self._calls.topic_policy(topic, "backlogQuotaMap"))
        return found if isinstance(found, Mapping) else {}


def _order(changed: ChangedSetting) -> tuple[int, str]:
    return tuple(Setting).index(changed.setting), changed.subject
