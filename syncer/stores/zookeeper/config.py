"""Configuration of the ZooKeeper store, and the client that it makes."""

from __future__ import annotations

import re
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from syncer.connecting.hosts import host_fault, separated
from syncer.errors import ConfigError
from syncer.local_files import secret_text
from syncer.stores.zookeeper.requests import Permission
from syncer.stores.zookeeper.wire import Client, Told

_SCHEME: Final = re.compile(r"^(metadata-store:)?zk(\+\w+)?:(//)?(?!\d+\s*(,|/|$))")
"""The scheme of a store in a broker's configuration; ``zk:2181`` is a host and its port."""
_CHROOT: Final = re.compile(r"(/[^/]+)*")


class ZooKeeperAuth(BaseModel):
    """Digest credentials; the password stands in a file of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: Annotated[str, StringConstraints(min_length=1, pattern="^[^:]+$")]
    password_file: Path


class ZooKeeperTls(BaseModel):
    """TLS to the server, with a client certificate where the server asks for one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    key_password_file: Path | None = None
    verify: bool = True
    verify_hostname: bool = True

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.cert is None) != (self.key is None):
            raise ValueError("'cert' and 'key' belong together")
        return self


class ZooKeeperConfig(BaseModel):
    """Settings of a ZooKeeper store.

    ``acl`` is what created nodes get, as ``scheme:id:permissions`` (``auth::cdrwa`` is whoever creates them); updated
    nodes keep theirs. ``max_value_bytes`` must stay below the server's ``jute.maxbuffer``: over it the server cuts the
    connection without a word.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["zookeeper"] = "zookeeper"
    hosts: Annotated[str, Field(json_schema_extra={"minLength": 1, "pattern": "^[^/ ]+$"})]
    chroot: Annotated[str, Field(json_schema_extra={"pattern": "^(/[^/]+)*$"})] = ""
    session_timeout: Annotated[timedelta, Field(ge=timedelta(seconds=1))] = timedelta(seconds=10)
    request_timeout: Annotated[timedelta, Field(gt=timedelta(0))] = timedelta(seconds=10)
    connect_timeout: Annotated[timedelta, Field(gt=timedelta(0))] = timedelta(seconds=15)
    auth: ZooKeeperAuth | None = None
    tls: ZooKeeperTls | None = None
    acl: tuple[str, ...] = ("world:anyone:cdrwa",)
    max_batch_writes: Annotated[int, Field(ge=2, le=1_000)] = 50
    max_batch_bytes: Annotated[int, Field(ge=1_024)] = 32 * 1024
    max_value_bytes: Annotated[int, Field(ge=1_024)] = 1_000_000
    max_pending_paths: Annotated[int, Field(ge=1)] = 100_000

    @field_validator("hosts", mode="before")
    @classmethod
    def _one_text(cls, given: object) -> object:
        """Say how a list is written."""
        if isinstance(given, list | tuple):
            raise ValueError("it is a list; write the servers as one text: 'zk1:2181,zk2:2181'")  # noqa: TRY004 - pydantic's
        return given

    @field_validator("hosts")
    @classmethod
    def _each_a_host(cls, given: str) -> str:
        """Take a list with blanks beside its commas; say how brokers' form of it is written here."""
        plain = _SCHEME.sub("", given.strip())
        servers, slash, chroot = plain.partition("/")
        found = separated(servers)
        for host in found:
            if fault := host_fault(host):
                raise ValueError(f"{fault}; write the servers as 'zk1:2181,zk2:2181'")
        if plain != given.strip() or slash:
            below = f" and chroot = '/{chroot.strip('/')}'" if chroot.strip("/") else ""
            if "," in chroot:
                raise ValueError(
                    "a chroot stands before a host: write the servers as 'zk1:2181,zk2:2181', and the path below which "
                    "all of them are used as 'chroot'"
                )
            raise ValueError(
                f"this is the form of brokers' 'metadataStoreUrl': write hosts = '{','.join(found)}'{below}"
            )
        return ",".join(found)

    @field_validator("chroot")
    @classmethod
    def _a_path(cls, chroot: str) -> str:
        if not _CHROOT.fullmatch(chroot):
            raise ValueError(f"{chroot!r} is no chroot: it begins with '/', as '/pulsar', and does not end with one")
        return chroot

    @field_validator("acl")
    @classmethod
    def _readable(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        if not entries:
            raise ValueError("a node needs at least one entry")
        for entry in entries:
            Permission.read(entry)
        return entries


def client_of(config: ZooKeeperConfig, changed: Told) -> Client:
    """A client by a store's settings, not yet started; ``changed`` is called with watched changes.

    Raises:
        ConfigError: A named file cannot be read.
    """
    auth = [] if config.auth is None else [("digest", f"{config.auth.user}:{_secret(config.auth.password_file)}")]
    return Client(
        hosts=config.hosts,
        session_timeout_s=config.session_timeout.total_seconds(),
        auth=auth,
        tls=_tls_context(config.tls),
        changed=changed,
    )


def _tls_context(tls: ZooKeeperTls | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert is not None:
            context.load_cert_chain(
                tls.cert, tls.key, _secret(tls.key_password_file) if tls.key_password_file else None
            )
    except OSError as exc:  # ssl.SSLError too
        raise ConfigError(f"cannot use the TLS files of the ZooKeeper store ({tls.ca}, {tls.cert}): {exc}") from exc
    context.check_hostname = tls.verify and tls.verify_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    return context


def _secret(file: Path) -> str:
    try:
        return secret_text(file).strip()
    except OSError as exc:
        raise ConfigError(f"cannot read the secret in {file}: {exc.strerror}") from exc
