"""Contexts of a user: daemons by name, each with its address and the files by which it is trusted and knows us.

They are kept in one file of the user's configuration directory (XDG), for the user alone, written whole. No secret is
in it: tokens and keys stay in files of their own. Whoever writes the file says where tokens are sent, so one that
others may write is not used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from syncer import local_files
from syncer.errors import ConfigError, NotFound, PreconditionFailed
from syncer.planning.whole_file import whole

if TYPE_CHECKING:
    from syncer.client.server import Server

MAX_FILE_BYTES: Final = 1 << 20
MAX_CONTEXTS: Final = 200
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class RegionContext(BaseModel):
    """A daemon by name, as it is kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    server: str = Field(max_length=1_000)
    token_file: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    without_tls: bool = False

    def reached(self) -> Server:
        """The daemon's REST API, with the secrets read.

        Raises:
            ConfigError: The address or a file cannot be used.
        """
        from syncer.client.server import Server, token_from

        return Server.of(
            self.server,
            token=token_from(self.token_file) if self.token_file is not None else "",
            ca=self.ca,
            certificate=self.certificate,
            key=self.key,
            without_tls=self.without_tls,
        )


class KeptContexts(BaseModel):
    """All contexts of a user, and the one in use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    current: str | None = None
    contexts: Mapping[str, RegionContext] = Field(default={}, max_length=MAX_CONTEXTS)

    def named(self, name: str) -> RegionContext:
        """The context of that name.

        Raises:
            NotFound: There is none.
        """
        found = self.contexts.get(name)
        if found is None:
            raise NotFound(f"no context {name!r}", hint="See 'syncer context list'; 'syncer context add' makes one.")
        return found

    def adding(self, name: str, context: RegionContext) -> KeptContexts:
        """With one more.

        Raises:
            PreconditionFailed: There is one of that name, or no room.
        """
        if name in self.contexts:
            raise PreconditionFailed(
                f"there is a context {name!r}; it is left as it is",
                hint=f"Give another name, or remove it first: 'syncer context remove {name}'.",
            )
        if len(self.contexts) >= MAX_CONTEXTS:
            raise PreconditionFailed(
                f"{MAX_CONTEXTS} contexts are kept; no more are", hint="Remove one: 'syncer context remove NAME'."
            )
        return self.model_copy(update={"contexts": {**self.contexts, name: context}})

    def without(self, name: str) -> KeptContexts:
        """Without one; if it was in use, none is.

        Raises:
            NotFound: There is none of that name.
        """
        self.named(name)
        rest = {each: context for each, context in self.contexts.items() if each != name}
        return KeptContexts(current=None if self.current == name else self.current, contexts=rest)

    def using(self, name: str | None) -> KeptContexts:
        """With another one in use, or with none.

        Raises:
            NotFound: There is none of that name.
        """
        if name is not None:
            self.named(name)
        return self.model_copy(update={"current": name})


def contexts_file() -> Path:
    """Where a user's contexts are kept."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(named) if named.startswith("/") else Path.home() / ".config"
    return folder / "pulsar-syncer" / "contexts.json"


def read_contexts(file: Path) -> KeptContexts:
    """The contexts that are kept; none where there is no file.

    Raises:
        ConfigError: It cannot be read, is something else, or others may write it.
    """
    try:
        with local_files.opened(file) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return KeptContexts()
    except OSError as exc:
        raise ConfigError(
            f"the contexts in {file} cannot be read: {exc.strerror or exc}",
            hint="Give the file to this user, or name a server by --server.",
        ) from exc
    if mode & _OTHERS_WRITE:
        raise ConfigError(
            f"{file} may be written by others than its owner (mode {stat.S_IMODE(mode):04o})",
            hint=f"Look whether all servers in it are yours, then 'chmod 600 {file}'.",
        )
    try:
        return KeptContexts.model_validate_json(content)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"{file} holds no contexts: {f'{at}: ' if at else ''}{first['msg']}",
            hint="Mend it, or move it away and add them again: 'syncer context add'.",
        ) from None


def write_contexts(file: Path, kept: KeptContexts) -> None:
    """Keep contexts in the place of the former ones.

    Raises:
        PreconditionFailed: They cannot be written; the former ones are as they were.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise PreconditionFailed(
            f"{file.parent} cannot be made: {exc.strerror}", hint="Make it, or name another place by XDG_CONFIG_HOME."
        ) from exc
    with whole(file, replace=True) as draft:  # for its owner alone
        draft.write(kept.model_dump_json(indent=2, exclude_defaults=True).encode() + b"\n")
