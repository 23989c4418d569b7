"""Atomic files: written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from syncer.errors import PreconditionFailed


@contextlib.contextmanager
def whole(path: Path, *, replace: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place at the end; after an error there is none.

    Args:
        path: Its place.
        replace: Put it in the place of a file that exists; otherwise such a file is left as it is.

    Raises:
        PreconditionFailed: The file exists, or cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if replace:
                Path(name).replace(path)
            else:
                path.hardlink_to(name)
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()
    except FileExistsError as exc:
        raise PreconditionFailed(f"{path} exists; it is left as it is", hint="Name another file.") from exc
    except OSError as exc:
        raise PreconditionFailed(
            f"{path} cannot be written: {exc.strerror}", hint="Make its directory writable, or name another place."
        ) from exc
