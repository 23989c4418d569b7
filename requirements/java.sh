#!/usr/bin/env bash
# Makes sure that Java 17 or newer and Maven are there: the real Pulsar, ZooKeeper and BookKeeper of the tests and of
# 'make demo-pulsar' need them; the product itself does not.
# As root on Debian or Ubuntu it installs them (SYNCER_NO_APT=1 forbids it); otherwise it says what to do.
set -euo pipefail

missing() {
    local version
    version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || true
    [ "${version:-0}" -ge 17 ] || echo default-jre-headless
    command -v mvn >/dev/null || echo maven
}

mapfile -t packages < <(missing)
[ "${#packages[@]}" -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && [ -z "${SYNCER_NO_APT:-}" ] && command -v apt-get >/dev/null; then
    echo "setup: installing ${packages[*]} for the real servers" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
    mapfile -t packages < <(missing)
    [ "${#packages[@]}" -eq 0 ] && exit 0
fi

echo "setup: the real servers need Java 17 or newer and Maven. Please install: ${packages[*]}" >&2
echo "       on Debian and Ubuntu: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
exit 1
