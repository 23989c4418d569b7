"""The session of a command: the options before the command, and the configuration and database that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from syncer.cli.render.output import Format
from syncer.errors import StateMissing

if TYPE_CHECKING:
    from syncer.cli.reaching.choosing import ChosenServer
    from syncer.cli.reaching.clusters import AskedClusters
    from syncer.cli.reaching.contract import RegionReach
    from syncer.cli.reaching.ledgers import AskedLedgers
    from syncer.config import Config
    from syncer.state.views.region import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSession:
    """One call of the command line.

    Args:
        config_path: The configuration file.
        form: Of the data on stdout.
        config_named: Whether this call has named the file.
        as_owner: This very call as another user, by that user's name.
        server: The daemon that is asked by REST; ``None``: the command is for the region of this host.
    """

    config_path: Path
    form: Format
    config_named: bool = False
    as_owner: Callable[[str], str] = "sudo -u {} syncer status".format
    server: ChosenServer | None = None

    @contextmanager
    def region(self) -> Iterator[RegionReach]:
        """The region that the command is for: of this host, or of the server that was chosen.

        Raises:
            ConfigError: What leads there is wrong.
        """
        found = self._reach()
        try:
            yield found
        finally:
            found.close()

    def clusters(self) -> AskedClusters:
        """The clusters of the region that the command is for.

        Raises:
            ConfigError: What leads to a server is wrong.
        """
        from syncer.cli.reaching.clusters import LocalClusters, RemoteClusters

        if self.server is not None:
            return RemoteClusters(self.server)
        return LocalClusters(self.looking_config)

    def ledgers(self) -> AskedLedgers:
        """The ledgers of clusters of the region that the command is for.

        Raises:
            ConfigError: What leads to a server is wrong.
        """
        from syncer.cli.reaching.ledgers import LocalLedgers, RemoteLedgers

        if self.server is not None:
            return RemoteLedgers(self.server)
        return LocalLedgers(self.looking_config)

    def looking_config(self) -> Config:
        """Read the configuration for a command that looks at clusters beside the daemon; trouble is told on stderr.

        Raises:
            ConfigError: It is wrong, or not there.
        """
        config = self.config(whole=False)
        log_to_stderr()
        return config

    def _reach(self) -> RegionReach:
        if self.server is not None:
            from syncer.cli.reaching.deciding import RemoteRegion

            return RemoteRegion(self.server)
        from syncer.cli.reaching.local import LocalRegion

        return LocalRegion(lambda whole: self.config(whole=whole), self.views)

    def config(self, *, whole: bool = True) -> Config:
        """Read the configuration.

        Args:
            whole: Check the tables of store and bus too; that loads their client libraries.

        Raises:
            ConfigError: It is wrong, or not there.
        """
        from syncer.config import load

        return load(self.config_path, check_adapters=whole)

    @contextmanager
    def views(self) -> Iterator[Views]:
        """Open the sidecar database of the configured region, to look into it.

        Raises:
            ConfigError: The configuration is wrong.
            StateError: The database is not there, foreign, or cannot be used.
        """
        from syncer.model import Region
        from syncer.state.views.region import Views

        config = self.config(whole=False)
        with looked_for(config):
            views = Views.open(config.database_url(), Region(config.region))
        try:
            yield views
        finally:
            views.close()


@contextmanager
def looked_for(config: Config) -> Iterator[None]:
    """Say of a database that is not there by which setting it was looked for.

    Raises:
        StateMissing: It is not there.
    """
    try:
        yield
    except StateMissing as exc:
        raise StateMissing(exc.message, hint=f"{_setting(config)}. {exc.hint}") from exc


def _setting(config: Config) -> str:
    """Which setting says where the database is, and what it says, without secrets."""
    from syncer.state.sql.opening import parse_url, safe

    if config.state.url is not None:
        return f"'state.url' is {safe(parse_url(config.state.url.get_secret_value()))}"
    given = "" if "path" in config.state.model_fields_set else ", by default"
    observer = "; an observer adds '.observe'" if config.mode == "observe" else ""
    return f"'state.path' is {config.state.path}{given}{observer}"


def log_to_stderr(*, but: Collection[str] = ()) -> None:
    """Have the libraries and adapters that a command uses tell trouble on stderr: stdout is for data.

    Args:
        but: Loggers whose news the command tells itself.
    """
    from syncer import log

    log.configure(level="warning", form="console", but=but)


def session_of(context: typer.Context) -> CommandSession:
    """The session that the root command made."""
    session = context.find_root().obj
    if not isinstance(session, CommandSession):
        raise TypeError("no session: the root command did not run")
    return session
