#!/usr/bin/env bash
# Makes sure that Chromium is there: a test lays the page of a comparison out in it.
# As root on Debian or Ubuntu it installs the package (SYNCER_NO_APT=1 forbids it); otherwise it says what to do.
set -euo pipefail

present() {
    [ -x "${CHROMIUM:-}" ] || command -v chromium >/dev/null
}

present && exit 0

if [ "$(id -u)" = 0 ] && [ -z "${SYNCER_NO_APT:-}" ] && command -v apt-get >/dev/null; then
    echo "setup: installing chromium for the test of a page" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -qq --yes --no-install-recommends chromium >/dev/null
    present && exit 0
fi

echo "setup: the test of a page needs a browser. Please install: chromium, or set CHROMIUM to its program" >&2
echo "       on Debian and Ubuntu: sudo apt-get install --no-install-recommends chromium" >&2
exit 1
