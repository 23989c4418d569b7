"""JSON documents of the bus's topic: what it needs in each cluster."""

from __future__ import annotations

from typing import Literal

from syncer.documents.document import Document


class StepDocument(Document):
    """One thing that the bus needs in a cluster."""

    cluster: str
    subject: str
    wanted: str
    found: str
    state: Literal["present", "needed", "done"]


class TopicDocument(Document):
    """``syncer topic init``."""

    topic: str
    steps: list[StepDocument]
