#!/bin/sh
# System packages that the tests use: oracles, a machine for the lab's guest, the compilers that it is built with, npm. As root
# they are installed; otherwise the line to run is printed, and the tests that need them skip with that line as the reason.
set -u
missing=""
command -v llvm-pdbutil >/dev/null 2>&1 || missing="$missing llvm"
command -v qemu-system-x86_64 >/dev/null 2>&1 || missing="$missing qemu-system-x86"
command -v clang-14 >/dev/null 2>&1 || missing="$missing clang-14"
command -v lld-link-14 >/dev/null 2>&1 || missing="$missing lld-14"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
[ -z "$missing" ] && exit 0
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && $line >/dev/null
else
    echo "some tests will skip; to run them all: $line"
fi
