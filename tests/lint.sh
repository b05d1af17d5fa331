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
arguments=()
for argument in "$@"; do
    case ${arguments[-1]:-} in
    --out-dir) argument=$shown ;;
    esac
    case $argument in
    --emit=*) argument=--emit=metadata ;;
    esac
    arguments+=("$argument")
done
clippy-driver "${arguments[@]}"
"$@"
