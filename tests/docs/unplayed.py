"""Commands of the pages that no test types, each with the reason."""

from __future__ import annotations

from typing import Final

_SUITE: Final = "it is a suite of the tests itself (tests/suites.toml), or the long form of one"
_SYSTEMD: Final = "it needs root, and systemd as the first process; tests/unit/deploy/test_systemd.py reads the units"
_INSTALLED: Final = "tests/real/test_wheel.py installs the wheel beside the lock, by the commands of the container file"
_PODMAN: Final = "it needs podman and an image from a registry; tests/unit/deploy/test_container.py reads the file"
_KUBERNETES: Final = "it needs Kubernetes"
_OBJECTS: Final = "it needs an object store"
_TWO_CLUSTERS: Final = "it needs two Pulsar clusters with clients at work; tests/migration plays whole migrations"
_THREE_CLUSTERS: Final = "it needs three Pulsar clusters; tests/real/test_migration_worlds.py asks the same by REST"
_COLLECTS: Final = "it needs brokers that collect topics; tests/shell/test_collected_topics.py decides such a hold"
_INDEX: Final = "it needs a package index that carries this package"

_RIGHTS: Final = "a token's text is another one each time; tests/unit/cli/commands/test_api.py gives these commands"

_BROKERS: Final = "it needs brokers under load; tests/unit/cli/commands/balancing give these commands"
_SCRIPT: Final = "tests/edges/test_http_script.py runs the script of the page"
_REMOTE: Final = "it needs daemons of other hosts; tests/api/test_both_ways.py gives these commands to a served region"
_LOAD: Final = "it needs a Pulsar cluster at work; tests/real/test_load.py reads real ones"
_LEDGERS: Final = "it needs a Pulsar cluster at work; tests/ledgers asks a real one"

UNPLAYED: Final = (
    ("tutorial/first-sync", "make setup*", "the suite 'setup' runs it; here it stands installed"),
    ("how-to/alert", "#!/bin/sh*", "it needs sudo and a monitoring server; the page plays the command in it"),
    ("how-to/answer-holds-by-script", "syncer api *", _RIGHTS),
    ("how-to/answer-holds-by-script", "echo *", _SCRIPT),
    ("how-to/answer-holds-by-script", "SYNCER_TOKEN=*", _SCRIPT),
    ("how-to/balance-a-cluster", "*", _BROKERS),
    ("how-to/collected-topics", "*", _COLLECTS),
    ("how-to/contribute", "make *", _SUITE),
    ("how-to/give-programs-access", "syncer api *", _RIGHTS),
    ("how-to/install-systemd", "python3 -m venv *", _INSTALLED),
    ("how-to/install-systemd", "*/pip install *", _INSTALLED),
    ("how-to/install-systemd", "install *", _SYSTEMD),
    ("how-to/install-systemd", "systemd-sysusers", _SYSTEMD),
    ("how-to/install-systemd", "runuser *", _SYSTEMD),
    ("how-to/install-systemd", "systemctl *", _SYSTEMD),
    ("how-to/migrate-a-cluster", "pulsar-admin *", _THREE_CLUSTERS),
    ("how-to/migrate-a-cluster", "syncer config check --connect", _TWO_CLUSTERS),
    ("how-to/migrate-a-cluster", "syncer migration *", _TWO_CLUSTERS),
    ("how-to/leave-etcd", "*", "tests/real/test_leave_etcd.py goes these steps"),
    ("how-to/upgrade-pulsar", "*", "tests/real/test_rolling_upgrade.py upgrades clusters under load"),
    ("how-to/follow-a-store-migration", "*", "tests/real/test_moved_zookeeper.py goes these steps"),
    ("how-to/move-the-bus", "*", "tests/real/test_migration_synced_pair.py moves the bus of a region by these steps"),
    ("how-to/read-the-load", "syncer balancer *", _LOAD),
    ("how-to/audit-ledgers", "syncer ledgers *", _LEDGERS),
    ("how-to/audit-ledgers", "syncer --server *", _LEDGERS),
    ("how-to/put-a-proxy-before-it", "curl *", "it needs a proxy, and a name that leads to it"),
    ("how-to/run-as-sidecar", "make wheel", "tests/real/test_wheel.py builds it"),
    ("how-to/run-as-sidecar", "podman *", _PODMAN),
    ("how-to/operate-from-elsewhere", "*", _REMOTE),
    ("how-to/snapshots", "pip install *", _INDEX),
    ("how-to/snapshots", "rsync *", "it needs another host"),
    ("how-to/snapshots", "syncer jobs *", "it needs a daemon at work beside Spark; tests/shell/test_jobs.py has one"),
    ("how-to/soak", "make *", _SUITE),
    ("how-to/upgrade-and-downgrade", "systemctl *", _SYSTEMD),
    ("how-to/upgrade-and-downgrade", "cp --archive *", _SYSTEMD),
    ("how-to/spark-anywhere", "export AWS_*", _OBJECTS),
    ("how-to/spark-anywhere", "*--master yarn*", "it needs YARN"),
    ("how-to/spark-anywhere", "*--master k8s://*", _KUBERNETES),
    ("how-to/spark-anywhere", "kubectl *", _KUBERNETES),
    ("how-to/spark-anywhere", "*env/bin/pip install *", _INDEX),
    ("how-to/spark-anywhere", "*org.apache.hadoop:hadoop-aws*", _OBJECTS),
)
"""Page, command (``*`` for any text), reason."""
