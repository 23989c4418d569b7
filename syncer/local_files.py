"""Files that are named to the program, opened so that none of them keeps it waiting or fills its memory.

A name may lead to a pipe that nobody writes to, a device that never ends, a folder. What is wrong with a file is always
an :class:`OSError` with its reason in words, whatever its name or its bytes are.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

MAX_SECRET_BYTES: Final = 64 * 1024
"""Of a file with a password or a token."""

MAX_CERTIFICATES_BYTES: Final = 4 << 20
"""Of a file with certificates: a bundle of all authorities has some hundred kilobytes."""


def opened(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file to read it.

    Args:
        path: Its name.
        follow: Follow a link as its last part; the folders before are followed always.

    Raises:
        OSError: There is none, it may not be read, or it is a pipe, a device, a folder, or a link that is not followed.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError as exc:  # a NUL, or a sign that no name can have
        raise OSError(errno.EINVAL, f"no file can have this name: {exc}") from exc
    except OSError as exc:
        if exc.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from exc
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read(path: Path, most: int) -> bytes:
    """Read a whole file.

    Args:
        path: Its name.
        most: Bytes that it may have.

    Raises:
        OSError: It cannot be read, see :func:`opened`, or has more bytes.
    """
    with opened(path) as file:
        # A file that is too long takes no memory; one that grows meanwhile is cut off where it is.
        found = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    if found is None or len(found) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return found


def secret_text(path: Path) -> str:
    """The text of a file with a secret, without what ends its lines.

    Raises:
        OSError: It cannot be read, is too long to be one, is no text, or holds a NUL.
    """
    try:
        text = read(path, MAX_SECRET_BYTES).decode()
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "it is not UTF-8", str(path)) from None  # the cause would show what it holds
    if "\0" in text:
        raise OSError(errno.EILSEQ, "it holds a NUL", str(path))
    return text.rstrip("\r\n")
