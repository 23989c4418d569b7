"""Bodies that are too large for memory: read into a file without a name, of which nothing is left whatever happens."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import anyio.to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from syncer.errors import DiskFull, RequestInvalid, StateUnavailable

MAX_UPLOAD_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A body that was read. ``sha256`` is of all its bytes."""

    file: BinaryIO
    sha256: str


@contextlib.asynccontextmanager
async def uploaded(request: Request, beside: Path) -> AsyncIterator[Upload]:
    """Read the body of a request to its end.

    Args:
        request: Whose sender may send it: rights are checked before.
        beside: A file in whose directory there is room; where there is none, that of temporary files.

    Raises:
        RequestInvalid: The body was cut off.
        DiskFull: There is no room for it.
        StateUnavailable: It cannot be kept.
    """
    folder = beside.parent if beside.parent.is_dir() else None
    said = hashlib.sha256()
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            async for part in request.stream():
                said.update(part)
                await anyio.to_thread.run_sync(file.write, part)
            await anyio.to_thread.run_sync(file.flush)
        except ClientDisconnect as exc:
            raise RequestInvalid("the body was cut off", hint="Send it again, whole.") from exc
        except OSError as exc:
            if exc.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
                raise DiskFull(
                    "no room is left for the body of the request", hint="Make room beside the sidecar database."
                ) from exc
            raise StateUnavailable(f"the body of the request cannot be kept: {exc.strerror}") from exc
        yield Upload(file, said.hexdigest())
