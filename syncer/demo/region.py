"""One region of the demo, as a process: the daemon as it is, with a clock that may be wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from syncer.config import load
from syncer.daemon import Daemon, supervise
from syncer.log import configure
from syncer.model import Millis
from syncer.replication.runtime.environment import wall_clock_ms


def main(arguments: list[str]) -> None:
    """Run the daemon of a configuration file: ``FILE [milliseconds by which the clock is ahead]``."""
    config = load(Path(arguments[0]))
    ahead_ms = int(arguments[1]) if len(arguments) > 1 else 0
    configure(level=config.log.level, form="json")
    daemon = Daemon(config, clock=lambda: Millis(wall_clock_ms() + ahead_ms), config_file=Path(arguments[0]))
    anyio.run(supervise, daemon)


if __name__ == "__main__":
    main(sys.argv[1:])
