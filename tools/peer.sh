#!/bin/sh
# Another debugger, in an environment of its own, that some tests compare facts with.
# Where it cannot be installed nothing is done, and the tests that need it skip with the reason.
set -u
cd "$(dirname "$0")/.."
[ -x .peer/bin/ntoseye ] && exit 0
line="${PYTHON:-python3} -m venv .peer && .peer/bin/pip install --quiet --disable-pip-version-check ntoseye==0.52.0"
sh -c "$line" >/dev/null 2>&1 || echo "some tests will skip; to run them all: $line"
