"""Topic loads: the topics of a picture's bundles, where all that a cut goes by is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.load import TopicLoad
from syncer.balancer.ranges import range_of_bundle, topic_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.picture import LoadPicture


@dataclass(frozen=True, slots=True)
class SeenTopics:
    """Tells the topics of a picture; a bundle with one of which a figure is missing has none."""

    picture: LoadPicture

    def of(self, bundle: str) -> Sequence[TopicLoad]:
        """List the topics of a bundle, by their places; none where they are not all known."""
        seen = self.picture.bundles.get(bundle)
        if seen is None or seen.topics is None:
            return ()
        lower, upper = range_of_bundle(bundle)
        found = []
        for name, topic in seen.topics.value.items():
            position = topic_hash(name)
            if topic.producers is None or topic.consumers is None or not topic.traffic.sound:
                return ()
            if not lower <= position < upper:
                return ()
            found.append(
                TopicLoad(
                    position=position,
                    traffic=topic.traffic,
                    producers=topic.producers,
                    consumers=topic.consumers,
                )
            )
        return sorted(found, key=lambda topic: topic.position)

    def bundle_count(self, namespace: str) -> int | None:
        """Count the bundles of a namespace by its boundaries; None where they are not known."""
        seen = self.picture.namespaces.get(namespace)
        return None if seen is None or seen.boundaries is None else len(seen.boundaries.value) - 1
