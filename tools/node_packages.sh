#!/bin/sh
# Programs from npm that the MCP tests use: the public conformance suite, the inspector, and the Node that they need.
# Without npm nothing is done, and the tests that need them skip with the reason.
set -u
cd "$(dirname "$0")/.."
[ -x .node/node_modules/.bin/conformance ] && exit 0
line="npm install --prefix .node --no-fund --no-audit --loglevel=error \
node@22.23.3 @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0"
if command -v npm >/dev/null 2>&1; then
    mkdir -p .node
    # shellcheck disable=SC2086
    $line >/dev/null || echo "some MCP tests will skip: npm could not install their programs"
else
    echo "some MCP tests will skip; to run them all install npm, then: $line"
fi
