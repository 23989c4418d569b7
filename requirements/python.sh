#!/usr/bin/env bash
# Makes .venv hold exactly-pinned, hash-checked dependencies and the project itself, editable.
# People and CI come this way ('make setup'); nothing else installs Python packages.
# PYTHON names the interpreter, until it names another; at first it is the first python3, or one that is much faster.
# Done before with the same lock, project table and interpreter: returns at once.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
lock=requirements/dev.lock

mkdir -p .setup
# Two 'make' side by side must not install into one environment at once.
if command -v flock >/dev/null; then
    exec 9>.setup/lock
    flock -w 900 9
fi

python=${PYTHON:-$(cat .setup/interpreter 2>/dev/null || true)}
if [ -z "${PYTHON:-}" ] && ! command -v "$python" >/dev/null; then
    python=$(requirements/interpreter.sh || echo python3)
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "setup: '$python' is missing or older than Python 3.11; name a newer one: make setup PYTHON=python3.12" >&2
    exit 1
fi
echo "$python" >.setup/interpreter

key=$("$python" - "$lock" pyproject.toml <<'PY'
import hashlib, json, pathlib, sys, tomllib
lock, project = (pathlib.Path(name) for name in sys.argv[1:])
table = tomllib.loads(project.read_text())
parts = [lock.read_bytes(), json.dumps([table["build-system"], table["project"]], sort_keys=True).encode(), sys.version.encode()]
print(hashlib.sha256(b"\0".join([*parts, str(pathlib.Path.cwd()).encode()])).hexdigest())
PY
)
stamp=$venv/.setup-key
[ "$(cat "$stamp" 2>/dev/null || true)" = "$key" ] && exit 0

echo "setup: installing $(grep -c '==' "$lock") pinned packages into $venv (a minute or two, once)" >&2
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
version='import sys; print(sys.version)'
if ! "$venv/bin/python" -c 'import pip' 2>/dev/null || [ "$("$venv/bin/python" -c "$version")" != "$("$python" -c "$version")" ]; then
    if ! "$python" -m venv --clear "$venv"; then
        echo "setup: this Python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2
        exit 1
    fi
fi
"$venv/bin/python" -m pip install --quiet --require-hashes --requirement "$lock"
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
"$venv/bin/python" -m pip check >/dev/null
echo "$key" >"$stamp"
echo "setup: done" >&2
