"""Explanations of paths as the command line and REST give them, beside what the store holds now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.conflict.settings import Direction
from syncer.documents.explain import ExplainDocument, explanation
from syncer.errors import NotFound

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.documents.values import Present
    from syncer.model import MetaPath
    from syncer.state.views.region import Views


def explained(views: Views, config: Config, path: MetaPath, present: Present, limit: int) -> ExplainDocument:
    """Why a path is as it is.

    Args:
        views: Of the sidecar database.
        config: Of the region.
        path: Where.
        present: What the store holds.
        limit: So many of the latest decisions.

    Raises:
        NotFound: Nothing was ever seen of it.
    """
    found = explanation(views, config, path, present, limit)
    if views.register(path) is None and not found.candidates and not found.others:
        subject = found.path if found.resource is None else f"{found.resource} ({found.path})"
        outside = ", whose scope leaves it out" if found.scope == Direction.IGNORE.value else ""
        raise NotFound(
            f"nothing was ever seen of {subject} in region {config.region}{outside}", hint="Check the spelling."
        )
    return found


def stands(views: Views, path: MetaPath) -> bool:
    """Whether something is known to stand at a path in the region's store."""
    register = views.register(path)
    return register is not None and register.stored_alive
