#!/usr/bin/env bash
# Makes sure that a PostgreSQL server is there: the tests of shared databases start their own of its programs.
# As root on Debian or Ubuntu it installs the package, without the server that the package would start by itself
# (SYNCER_NO_APT=1 forbids it); otherwise it says what to do.
set -euo pipefail

present() {
    [ -x "${POSTGRES_BIN:-}/initdb" ] || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v initdb >/dev/null
}

present && exit 0

if [ "$(id -u)" = 0 ] && [ -z "${SYNCER_NO_APT:-}" ] && command -v apt-get >/dev/null; then
    echo "setup: installing postgresql for the real servers" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -qq --yes --no-install-recommends postgresql-common >/dev/null
    mkdir -p /etc/postgresql-common/createcluster.d
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/none.conf
    apt-get install -qq --yes --no-install-recommends postgresql >/dev/null
    present && exit 0
fi

echo "setup: the real servers need PostgreSQL's server programs. Please install: postgresql" >&2
echo "       on Debian and Ubuntu: sudo apt-get install --no-install-recommends postgresql" >&2
exit 1
