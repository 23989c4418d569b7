"""Places that a region's metadata is read from, with the one reader for each kind. No Spark here.

What names a place has no secret in it: stores name the files of their secrets, which every worker must have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, Self

from pydantic import BaseModel, ValidationError

from spark_snapshot.sources.found import ResourceBatch
from spark_snapshot.sources.reach import Share
from syncer.config import adapters
from syncer.config.clusters import cluster_store_settings
from syncer.config.model import Config
from syncer.errors import ConfigError, ValueInvalid
from syncer.model import MetaPath, Region
from syncer.paths import fence_path
from syncer.replication.fence import Fence
from syncer.wanted.contract import WantedPaths

Part = Any
"""What one of several readers reads; each kind of place has its own, which can be pickled."""

ZOOKEEPER_FILES: Final = "zookeeper-files"
ETCD_FILE: Final = "etcd-file"
PARQUET_FILES: Final = "parquet-files"
WRITTEN_BY: Final = {ZOOKEEPER_FILES: "zookeeper", ETCD_FILE: "etcd", PARQUET_FILES: ""}
"""Files that are read without a server, and the kind of the store that writes them; empty: rows of any store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFacts:
    """What a place is and how far it had come, for the record of a snapshot.

    Args:
        kind: Of the store.
        where: Its address or folder.
        identity: The id that the daemon gave it (in its fence), where there is one.
        cluster: The id that the store's servers have themselves, where they have one.
        position: The newest change: ZooKeeper's zxid in hexadecimal, etcd's revision, SQLite's number of the change;
            empty for a store that is read by its adapter's contract, which has no word for it.
    """

    kind: str
    where: str
    identity: str | None
    cluster: str | None
    position: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """A store by its kind and settings, as text: it travels as an option of a data source.

    Args:
        kind: Of the store's adapter, or of its files.
        settings: JSON of the adapter's settings.
        region: Whose store it is; its fence names the store.
    """

    kind: str
    settings: str
    region: str = ""

    @classmethod
    def of(cls, config: Config) -> Self:
        """The store of a configuration.

        Raises:
            ConfigError: Its settings cannot be sent to workers; most often they hold a secret.
        """
        return cls.made(config.store.kind, config.store_settings, region=config.region)

    @classmethod
    def of_cluster(cls, config: Config, name: str) -> Self:
        """A cluster's own store: that of its table ``[cluster.NAME]``, or else the region's.

        Raises:
            NotFound: There is no such table.
            ConfigError: As :meth:`of`.
        """
        kind, settings = cluster_store_settings(config, name)
        return cls.made(kind, settings)

    @classmethod
    def made(cls, kind: str, settings: BaseModel, *, region: str = "") -> Self:
        """A store by its settings; raises as :meth:`of` does."""
        text = settings.model_dump_json()
        try:
            whole = type(settings).model_validate_json(text) == settings
        except ValidationError:
            whole = False
        if not whole:
            raise ConfigError(
                f"the settings of the store {kind!r} cannot be sent to readers in other processes: they hold a secret, "
                "or something else that is not told when they are written",
                hint="Have its adapter take the secret from a file.",
            )
        return cls(kind=kind, settings=text, region=region)

    @classmethod
    def offline(cls, files: Path, *, logs: Path | None = None, prefix: str = "", region: str = "") -> Self:
        """A store's own files, of the kind that they are.

        Args:
            files: ``dataDir`` of a ZooKeeper or a copy of it, a file of ``etcdctl snapshot save``, or what was read of
                any store as Parquet: a file, or a folder of files.
            logs: ZooKeeper's ``dataLogDir``, where that is another.
            prefix: Where the brokers' paths begin: ZooKeeper's chroot, etcd's namespace. Parquet has brokers' paths.
            region: Whose store it is.

        Raises:
            ConfigError: There is nothing.
        """
        here = files.absolute()
        if here.suffix == ".parquet" or (here.is_dir() and any(here.glob("**/*.parquet"))):
            return cls(kind=PARQUET_FILES, settings=json.dumps({"place": str(here)}), region=region)
        if here.is_dir():
            folder = {"folder": str(here), "logs": None if logs is None else str(logs.absolute()), "chroot": prefix}
            return cls(kind=ZOOKEEPER_FILES, settings=json.dumps(folder), region=region)
        if not here.exists():
            raise ConfigError(
                f"there is no folder {here}, and no file",
                hint="Name ZooKeeper's dataDir, a file of 'etcdctl snapshot save', or Parquet of paths and values.",
            )
        file = {"file": str(here), "namespace": prefix}
        return cls(kind=ETCD_FILE, settings=json.dumps(file), region=region)

    @classmethod
    def files_of(cls, config: Config, files: Path) -> Self:
        """Files that the store of a configuration has written.

        Raises:
            ConfigError: There is nothing, or a store of another kind writes such files.
        """
        store = config.store.kind, config.store_settings
        return cls._written(files, *store, whose=f"region {config.region}", region=config.region)

    @classmethod
    def files_of_cluster(cls, config: Config, name: str, files: Path) -> Self:
        """Files that a cluster's own store has written.

        Raises:
            NotFound: There is no table of this name.
            ConfigError: As :meth:`files_of`.
        """
        return cls._written(files, *cluster_store_settings(config, name), whose=f"cluster {name}")

    @classmethod
    def _written(cls, files: Path, kind: str, settings: BaseModel, *, whose: str, region: str = "") -> Self:
        prefix = str(getattr(settings, "chroot", "") or getattr(settings, "namespace", ""))
        place = cls.offline(files, prefix=prefix, region=region)
        found = WRITTEN_BY[place.kind]
        if found not in {"", kind}:
            raise ConfigError(
                f"{files} is read as {'a folder' if files.is_dir() else 'a file'} of {found}, and the store of {whose} "
                f"is {kind}",
                hint="Of ZooKeeper name the folder (dataDir), of etcd a file of 'etcdctl snapshot save'; "
                "a store of another kind is read live.",
            )
        return place

    def to_json(self) -> str:
        """As text, for an option of a data source."""
        return json.dumps({"kind": self.kind, "settings": self.settings, "region": self.region})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From that text."""
        return cls(**json.loads(text))


class Source(Protocol):
    """How one kind of place is read."""

    def parts(self, wanted: WantedPaths, count: int) -> list[Part]:
        """What each of at most ``count`` readers reads; together all that is asked for, each path once."""
        ...

    def read(self, wanted: WantedPaths, part: Part) -> Iterator[ResourceBatch]:
        """Read a part, on the terms of what is wanted. Complete, or an error."""
        ...

    def facts(self, region: str) -> PlaceFacts:
        """What it is, and how far it has come now."""
        ...


def source(place: StorePlace) -> Source:
    """The reader of a place; imports the client that it needs.

    Raises:
        ConfigError: There is no reader of this kind, or its client is not installed.
    """
    if place.kind in WRITTEN_BY:
        makers_of_files = {
            ZOOKEEPER_FILES: _zookeeper_files,
            ETCD_FILE: _etcd_file,
            PARQUET_FILES: _parquet_files,
        }
        return makers_of_files[place.kind](json.loads(place.settings))
    settings = adapters.load(adapters.STORES, place.kind).config_model.model_validate_json(place.settings)
    makers: dict[str, Callable[[Any], Source]] = {"zookeeper": _zookeeper, "etcd": _etcd, "sqlite": _sqlite}
    maker = makers.get(place.kind)
    return _any(place.kind, settings) if maker is None else maker(settings)


def facts(place: StorePlace) -> PlaceFacts:
    """What a place is, and how far it has come now; raises what its reader raises."""
    return source(place).facts(place.region)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A reader made of what its module does."""

    parts_of: Callable[[WantedPaths, int], list[Part]]
    read_part: Callable[[WantedPaths, Part], Iterator[ResourceBatch]]
    facts_of: Callable[[str], PlaceFacts]

    def parts(self, wanted: WantedPaths, count: int) -> list[Part]:
        return self.parts_of(wanted, count)

    def read(self, wanted: WantedPaths, part: Part) -> Iterator[ResourceBatch]:
        return self.read_part(wanted, part)

    def facts(self, region: str) -> PlaceFacts:
        return self.facts_of(region)


def _zookeeper(config: Any) -> Source:  # noqa: ANN401 - the adapter's own model
    from spark_snapshot.sources.zookeeper import live  # noqa: PLC0415 - clients load where they are used

    def facts_of(region: str) -> PlaceFacts:
        return PlaceFacts(
            kind="zookeeper",
            where=config.hosts + config.chroot,
            identity=_identity(partial(live.value_at, config), region),
            cluster=None,
            position=f"0x{live.position(config):x}",
        )

    return _Made(parts_of=_shares, read_part=partial(live.read, config), facts_of=facts_of)


def _etcd(config: Any) -> Source:  # noqa: ANN401 - the adapter's own model
    from spark_snapshot.sources.etcd import live  # noqa: PLC0415 - clients load where they are used

    def facts_of(region: str) -> PlaceFacts:
        cluster, revision = live.position(config)
        return PlaceFacts(
            kind="etcd",
            where=",".join(config.endpoints) + config.namespace,
            identity=_identity(partial(live.value_at, config), region),
            cluster=f"{cluster:x}",
            position=str(revision),
        )

    return _Made(parts_of=partial(live.parts, config), read_part=partial(live.read, config), facts_of=facts_of)


def _sqlite(config: Any) -> Source:  # noqa: ANN401 - the adapter's own model
    from spark_snapshot.sources import sqlite  # noqa: PLC0415 - clients load where they are used

    def facts_of(region: str) -> PlaceFacts:
        return PlaceFacts(
            kind="sqlite",
            where=str(config.path),
            identity=_identity(partial(sqlite.value_at, config), region),
            cluster=None,
            position=str(sqlite.position(config)),
        )

    # One reader: two would have two moments.
    return _Made(parts_of=_one, read_part=partial(sqlite.read, config), facts_of=facts_of)


def _any(kind: str, settings: BaseModel) -> Source:
    from spark_snapshot.sources import contract  # noqa: PLC0415 - asyncio loads where it is used

    make = partial(adapters.make_store, kind, settings)

    def facts_of(region: str) -> PlaceFacts:
        return PlaceFacts(
            kind=kind,
            where=kind,
            identity=_identity(partial(contract.value_at, make), region),
            cluster=None,
            position="",
        )

    # One reader: two would have two moments.
    return _Made(parts_of=_one, read_part=partial(contract.read, make), facts_of=facts_of)


def _zookeeper_files(settings: dict[str, str | None]) -> Source:
    from spark_snapshot.sources.zookeeper import files  # noqa: PLC0415 - clients load where they are used

    folder, logs = Path(settings["folder"] or ""), settings["logs"]
    place = files.ZooKeeperFolder(
        folder=folder, logs=None if logs is None else Path(logs), chroot=settings["chroot"] or ""
    )

    def facts_of(region: str) -> PlaceFacts:
        return PlaceFacts(
            kind=ZOOKEEPER_FILES,
            where=str(folder),
            identity=_identity(partial(files.value_at, place), region),
            cluster=None,
            position=f"0x{files.position(place):x}",
        )

    return _Made(parts_of=_shares, read_part=partial(files.read, place), facts_of=facts_of)


def _etcd_file(settings: dict[str, str | None]) -> Source:
    from spark_snapshot.sources.etcd import snapshot_file  # noqa: PLC0415 - clients load where they are used

    place = snapshot_file.EtcdFile(file=Path(settings["file"] or ""), namespace=settings["namespace"] or "")

    def facts_of(region: str) -> PlaceFacts:
        with snapshot_file.SnapshotFile(place) as saved:
            saved.check()
            return PlaceFacts(
                kind=ETCD_FILE,
                where=str(place.file),
                identity=_identity(saved.value_at, region),
                cluster=None,  # only the members' logs tell it
                position=str(saved.revision()),
            )

    return _Made(
        parts_of=lambda wanted, count: snapshot_file.parts(place, count) if wanted.roots else [],
        read_part=partial(snapshot_file.read, place),
        facts_of=facts_of,
    )


def _parquet_files(settings: dict[str, str | None]) -> Source:
    from spark_snapshot.sources import parquet  # noqa: PLC0415 - Arrow loads where it is used

    place = Path(settings["place"] or "")

    def facts_of(region: str) -> PlaceFacts:
        return PlaceFacts(
            kind=PARQUET_FILES,
            where=str(place),
            identity=_identity(partial(parquet.value_at, place), region),
            cluster=None,
            position=parquet.written(place),
        )

    return _Made(
        parts_of=lambda wanted, count: parquet.parts(place, count) if wanted.roots else [],
        read_part=parquet.read,
        facts_of=facts_of,
    )


def _shares(wanted: WantedPaths, count: int) -> list[Part]:
    return [Share(index, count) for index in range(count)] if wanted.roots else []


def _one(wanted: WantedPaths, _: int) -> list[Part]:
    return _shares(wanted, 1)


def _identity(value_at: Callable[[MetaPath], bytes | None], region: str) -> str | None:
    """The store's id in the fence of its daemon; none where no daemon has been, or something else stands there."""
    value = value_at(fence_path(Region(region))) if region else None
    if value is None:
        return None
    try:
        return Fence.decode(value).store_id
    except ValueInvalid:
        return None
