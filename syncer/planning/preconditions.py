"""Preconditions of a plan, read from its target: parents, children, clusters, topics."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from syncer.admin.topic_probe import TopicProbe
from syncer.conflict.guards import Related
from syncer.conflict.projection import Document, parse
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, ResourceKind
from syncer.paths import CLUSTERS, GLOBAL_TOPIC_POLICIES, child_prefixes, classify, kind_at, resource_at
from syncer.plan.operations import Plan
from syncer.plan.review import Reason, Review, TargetFacts, review, to_be_asked, to_be_read
from syncer.planning.sources import READ_PATHS, held, value_of
from syncer.stores.contract import MetadataStore


async def reviewed(
    plan: Plan,
    store: MetadataStore,
    probe: TopicProbe,
    *,
    settings: Settings,
    scope: Scope,
    allow: frozenset[Reason] = frozenset(),
    deletes: bool = False,
) -> Review:
    """Judge a plan by what the store and the clusters of its region are like now.

    Raises:
        StoreError: The store cannot be asked.
    """
    around = await survey(plan, store, settings=settings, scope=scope)
    while True:  # whether topics exist may decide that related values are needed, and the other way about
        reads, asks = to_be_read(plan, around), to_be_asked(plan, around)
        if not reads and not asks:
            return review(plan, around, allow=allow, deletes=deletes)
        around = dataclasses.replace(
            around,
            related={**around.related, **await _related(store, reads)},
            topics={**around.topics, **{path: await probe.ask(path) for path in asks}},
        )


async def survey(plan: Plan, store: MetadataStore, *, settings: Settings, scope: Scope) -> TargetFacts:
    """Read the facts of the target, but for topics and related values."""
    parents = {each.resource.parent for each in plan.operations if each.after is not None}
    return TargetFacts(
        settings=settings,
        scope=frozenset(each.path for each in plan.operations if scope.contains(each.path)),
        applied=frozenset(each.path for each in plan.operations if scope.direction(each.path).applies),
        clusters=await _clusters(store),
        alive=await _alive(store, {each for each in parents if each is not None}),
        children={
            each.path: await living_children(store, scope, each.path) for each in plan.operations if each.after is None
        },
    )


async def living_children(store: MetadataStore, scope: Scope, path: MetaPath) -> frozenset[MetaPath]:
    """Resources in scope that live below a path and would outlive it."""
    found: set[MetaPath] = set()
    for prefix in child_prefixes(path):
        async for page in store.scan(MetaPath(prefix.rstrip("/"))):
            found.update(
                entry.path
                for entry in page
                if held(entry)
                and scope.contains(entry.path)
                and (resource := classify(entry.path)) is not None
                and resource.parent == path
            )
    return frozenset(found)


async def _alive(store: MetadataStore, paths: set[MetaPath]) -> frozenset[MetaPath]:
    ordered, found = sorted(paths), set[MetaPath]()
    for start in range(0, len(ordered), READ_PATHS):
        some = ordered[start : start + READ_PATHS]
        entries = await store.read(some)
        found.update(path for path in some if value_of(entries, path) is not None)
    return frozenset(found)


async def _related(store: MetadataStore, paths: Collection[MetaPath]) -> dict[MetaPath, Related]:
    """Read the namespaces of some topic policies, and the topic policies of some namespaces.

    The latter are found in one scan, whatever the scope: brokers go by each.
    """
    parents = {path: resource_at(path).parent for path in paths}
    spaces = sorted({each for path, each in parents.items() if each and kind_at(path) is ResourceKind.TOPIC_POLICY})
    found = {path: _Read() for path in paths}
    for start in range(0, len(spaces), READ_PATHS):
        entries = await store.read(spaces[start : start + READ_PATHS])
        for path, parent in parents.items():
            if parent is not None and parent in entries:
                found[path].take(parent, value_of(entries, parent))
    if any(kind_at(path) is ResourceKind.NAMESPACE for path in paths):
        async for page in store.scan(MetaPath(GLOBAL_TOPIC_POLICIES)):
            for entry in page:
                resource = classify(entry.path)
                if resource is not None and resource.parent in found and held(entry):
                    found[resource.parent].take(entry.path, entry.value)
    return {path: Related(documents=each.documents, untold=each.untold) for path, each in found.items()}


@dataclasses.dataclass(slots=True)
class _Read:
    documents: dict[MetaPath, Document | None] = dataclasses.field(default_factory=dict)
    untold: dict[MetaPath, str] = dataclasses.field(default_factory=dict)

    def take(self, path: MetaPath, value: bytes | None) -> None:
        """Take what stands at a path."""
        try:
            self.documents[path] = parse(value) if value is not None else None
        except ValueInvalid:
            self.untold[path] = "its value is no JSON object"


async def _clusters(store: MetadataStore) -> frozenset[str]:
    found: set[str] = set()
    async for page in store.scan(MetaPath(CLUSTERS)):
        for entry in page:
            resource = classify(entry.path)
            if resource is not None and resource.kind is ResourceKind.CLUSTER and held(entry):
                found.add(resource.name)
    return frozenset(found)
