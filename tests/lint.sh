#!/usr/bin/env bash
# What compiles the crates of the workspace in place of rustc while the tests are built (`RUSTC_WORKSPACE_WRAPPER`): Clippy, which
# compiles what it looks at. It would take minutes for the megabytes that build.rs writes. So the crates with these are shown to it
# without them, which the option `--cfg clippy` leaves out, and then compiled by rustc.
set -euo pipefail
case " $* " in
*" tests/tests/random_"* | *" tests/tests/constructs.rs "*) ;;
*) exec clippy-driver "$@" ;;
esac
shown=$(mktemp -d)
trap 'rm -rf "$shown"' EXIT
arguments=() last=""
for argument in "$@"; do
    if [ "$last" = --out-dir ]; then argument=$shown; fi
    case $argument in
    --emit=*) argument=--emit=metadata ;;
    esac
    arguments+=("$argument")
    last=$argument
done
clippy-driver "${arguments[@]}"
"$@"
