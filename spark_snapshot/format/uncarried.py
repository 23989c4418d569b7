"""Resources of a store that no snapshot holds and nothing carries, as a file beside the manifest tells of them.

The file is beside the manifest and not in it, so that programs that do not know of it read the snapshot all the same.
A snapshot without such resources has no such file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import Field, ValidationError

from spark_snapshot.format.manifest import ManifestTable
from spark_snapshot.format.places import Place
from syncer.errors import SnapshotDamaged

UNCARRIED: Final = "UNCARRIED.json"
NAMED: Final = 3
"""So many are named; all are counted."""
_MAX_BYTES: Final = 64 << 10


class FirstFormNamespaces(ManifestTable):
    """Namespaces of the form ``PROPERTY/CLUSTER/NAMESPACE``: how many, and the first by name, as errors show names."""

    count: int = Field(ge=1)
    named: tuple[str, ...] = Field(max_length=NAMED)


class Uncarried(ManifestTable):
    """Resources that were met while the store was read, and are not in the snapshot."""

    first_form: FirstFormNamespaces

    def text(self) -> str:
        """Return the file's text."""
        return f"{self.model_dump_json(indent=2)}\n"


def summed(parts: Iterable[tuple[int, tuple[str, ...]]]) -> Uncarried | None:
    """Add up the counts and names of several readers; ``None``: none has met any."""
    counted = list(parts)
    count = sum(each for each, _ in counted)
    if not count:
        return None
    names = sorted(name for _, named in counted for name in named)
    return Uncarried(first_form=FirstFormNamespaces(count=count, named=tuple(names[:NAMED])))


def uncarried(snapshot: Place) -> Uncarried | None:
    """Read the file of a snapshot; ``None``: it has none.

    Args:
        snapshot: The snapshot's folder.

    Raises:
        SnapshotDamaged: The file is not as it was written.
    """
    where = snapshot / UNCARRIED
    size = where.size()
    if size is None:
        return None
    try:
        if size > _MAX_BYTES:
            raise ValueError(f"it has {size} bytes, and at most {_MAX_BYTES} were written")
        return Uncarried.model_validate_json(where.read())
    except (OSError, ValidationError, ValueError) as exc:
        why = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else exc
        raise SnapshotDamaged(
            f"{where} is not as it was written: {why}",
            hint="Remove the file: it says only which resources of the store are in no snapshot.",
        ) from exc
