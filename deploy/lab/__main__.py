"""Command line of the lab: ``python -m deploy.lab up|status|down|stop|start|kill|admin``.

    up [NAME[:STORE[:VERSION]] ...]
                              start (or complete) clusters; without names us-east:zookeeper us-west:etcd
    status                    one JSON object: URLs, processes, memory, health
    stop NAME [PART]          stop a cluster or one part (store, configuration-store, broker); the data stays
    start NAME [PART]         start it again
    kill NAME [PART]          like stop, but as a power loss would
    admin NAME ARG ...        run pulsar-admin against a cluster
    down [NAME ...]           stop and delete clusters; without names all

What it starts runs until ``down``. Everything is kept below ``--directory`` (default: ``$PULSAR_SYNCER_LAB``, else
``~/.local/state/pulsar-syncer/lab``).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, Part, PulsarCluster, StoreKind, bring_up, share_namespace
from deploy.lab.pulsar_admin import pulsar_admin
from deploy.lab.releases.assembled import home_of
from deploy.lab.releases.versions import RELEASES, VersionRefused, release
from deploy.lab.software import PULSAR_VERSION, SoftwareMissing, etcd_binary, java, pulsar_home
from syncer.waiting import WaitFailed

DEFAULT_CLUSTERS = ("us-east:zookeeper", "us-west:etcd")


class UnknownCluster(Exception):
    """A name that no cluster of the lab has."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status says whether it worked."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ServerFailed, SoftwareMissing, UnknownCluster, WaitFailed) as exc:
        print(exc, file=sys.stderr)
        return 1


def _up(options: argparse.Namespace) -> int:
    began = time.monotonic()
    java()
    pulsar_home()
    present = {cluster.name: cluster for cluster in _clusters(options.directory)}
    chosen = []
    for word in options.names or DEFAULT_CLUSTERS:
        name, kind, version = _parts(word)
        home_of(version)
        if kind is StoreKind.ETCD:
            etcd_binary()
        settings = ClusterSettings(
            name=name,
            store=kind,
            separate_configuration=options.separate_configuration,
            broker=dict(options.set),
            quick_start=not options.full_jit,
            version=version,
        )
        chosen.append(present.get(name) or PulsarCluster(options.directory / name, settings))
    everyone = list({cluster.name: cluster for cluster in (*present.values(), *chosen)}.values())
    running = [cluster for cluster in everyone if cluster in chosen or cluster.broker.pid() is not None]
    bring_up(running, peers=not options.no_peers)
    for namespace in options.share:
        share_namespace(running, namespace)
    print(f"{', '.join(cluster.name for cluster in chosen)} up in {time.monotonic() - began:.1f} s", file=sys.stderr)
    return _status(options)


def _status(options: argparse.Namespace) -> int:
    print(json.dumps({cluster.name: cluster.status() for cluster in _clusters(options.directory)}, indent=1))
    return 0


def _stop(options: argparse.Namespace) -> int:
    _named(options).stop(options.part)
    return 0


def _kill(options: argparse.Namespace) -> int:
    _named(options).kill(options.part)
    return 0


def _start(options: argparse.Namespace) -> int:
    cluster = _named(options)
    if options.set:
        cluster.set_broker(dict(options.set))
    cluster.start(options.part)
    return 0


def _admin(options: argparse.Namespace) -> int:
    return pulsar_admin(_named(options).admin_url, options.arguments)


def _down(options: argparse.Namespace) -> int:
    clusters = {cluster.name: cluster for cluster in _clusters(options.directory)}
    for name in options.names or list(clusters):
        _known(clusters, name).remove()
    return 0


def _clusters(directory: Path) -> list[PulsarCluster]:
    return [PulsarCluster(file.parent) for file in sorted(directory.glob("*/cluster.json"))]


def _named(options: argparse.Namespace) -> PulsarCluster:
    return _known({cluster.name: cluster for cluster in _clusters(options.directory)}, options.name)


def _known(clusters: dict[str, PulsarCluster], name: str) -> PulsarCluster:
    if name not in clusters:
        raise UnknownCluster(f"no cluster {name!r}; there are: {', '.join(clusters) or 'none'}")
    return clusters[name]


def _default_directory() -> Path:
    own = os.environ.get("PULSAR_SYNCER_LAB")
    state = os.environ.get("XDG_STATE_HOME")
    return Path(own) if own else (Path(state) if state else Path.home() / ".local" / "state") / "pulsar-syncer" / "lab"


def _setting(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{word!r} is not KEY=VALUE")
    return key, value


def _cluster_word(word: str) -> str:
    name, *rest = word.split(":")
    if not name or len(rest) > 2 or (rest and rest[0] not in set(StoreKind)):
        raise argparse.ArgumentTypeError(
            f"{word!r} is not NAME, NAME:STORE or NAME:STORE:VERSION, STORE one of {', '.join(StoreKind)}, "
            f"VERSION one of {', '.join(RELEASES)}"
        )
    _, kind, version = _parts(word)
    try:
        release(version, etcd=kind is StoreKind.ETCD)
    except VersionRefused as exc:
        raise argparse.ArgumentTypeError(f"{word!r}: {exc}") from exc
    return word


def _parts(word: str) -> tuple[str, StoreKind, str]:
    name, _, rest = word.partition(":")
    store, _, version = rest.partition(":")
    return name, StoreKind(store or StoreKind.ZOOKEEPER), version or PULSAR_VERSION


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, default=_default_directory(), help="where the lab is kept")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start clusters")
    up.add_argument("names", nargs="*", metavar="NAME[:STORE[:VERSION]]", type=_cluster_word)
    up.add_argument("--separate-configuration", action="store_true", help="a second store for the configuration")
    up.add_argument("--set", action="append", default=[], type=_setting, metavar="KEY=VALUE", help="a broker setting")
    up.add_argument("--full-jit", action="store_true", help="slower to start, faster when warm: for measurements")
    up.add_argument("--no-peers", action="store_true", help="do not make the clusters known to each other")
    up.add_argument("--share", action="append", default=[], metavar="TENANT/NAMESPACE", help="replicate a namespace")
    up.set_defaults(run=_up)

    commands.add_parser("status", help="URLs, processes, memory, health").set_defaults(run=_status)
    for name, run in (("stop", _stop), ("start", _start), ("kill", _kill)):
        command = commands.add_parser(name, help=f"{name} a cluster or one part of it")
        command.add_argument("name")
        command.add_argument("part", nargs="?", type=Part, choices=tuple(Part))
        if name == "start":
            command.add_argument("--set", action="append", default=[], type=_setting, metavar="KEY=VALUE")
        command.set_defaults(run=run)

    admin = commands.add_parser("admin", help="run pulsar-admin")
    admin.add_argument("name")
    admin.add_argument("arguments", nargs=argparse.REMAINDER)
    admin.set_defaults(run=_admin)

    down = commands.add_parser("down", help="stop and delete clusters")
    down.add_argument("names", nargs="*", metavar="NAME")
    down.set_defaults(run=_down)
    return parser


if __name__ == "__main__":
    sys.exit(main())
