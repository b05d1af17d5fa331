#!/usr/bin/env bash
# Builds the page that trains in the browser, and serves it on the loopback:
#
#   examples/web/web.sh              # for people: http://127.0.0.1:8080/
#   examples/web/web.sh test         # opens it in a Chromium without a window, and compares what comes out with a run here
#   examples/web/web.sh check        # compiles the libraries and the page for WebAssembly
#   examples/web/web.sh prepare ..   # gets of `target`, `wasm-bindgen` and `chromium` what is named; prints what cannot be had
#
# That is rustc's target for WebAssembly, which rustup has; wasm-bindgen in the version of the lock file, which cargo builds once,
# in the target folder; and for `test` a browser, which CHROMIUM may name. There is no bundler and nothing from npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

triple=wasm32-unknown-unknown
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
page=$CARGO_TARGET_DIR/web

chromium=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    if [ -z "$chromium" ]; then chromium=$(command -v "$name" || true); fi
done

get_target() {
    [ -d "$(rustc --print target-libdir --target "$triple")" ] || rustup --quiet target add "$triple" >&2
}

# The tool must have the version of the library.
version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
tools=$CARGO_TARGET_DIR/wasm-bindgen-$version
bindgen=$tools/bin/wasm-bindgen
get_bindgen() {
    if [ "$(wasm-bindgen --version 2>/dev/null)" = "wasm-bindgen $version" ]; then
        bindgen=wasm-bindgen
    elif [ ! -x "$bindgen" ]; then
        # It is no crate of the workspace, and has no lints of ours. Its own lock file may name what the registry has not.
        local install=(env --unset=RUSTC_WORKSPACE_WRAPPER CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug
            --root "$tools" --bin wasm-bindgen "wasm-bindgen-cli@$version")
        "${install[@]}" --locked >/dev/null 2>&1 || "${install[@]}" >&2
    fi
}

# Unoptimized. With the features of the tests, so that the macro is the one that they were built with.
dev=(--target "$triple" --features array-dsl/verify,array-dsl/assert-trusted --package array-dsl-web)
build_dev() {
    CARGO_PROFILE_DEV_DEBUG=0 cargo build "${dev[@]}"
}

# The page's folder, from the library that was built with this profile.
assemble() {
    mkdir -p "$page"
    cp examples/web/page/{index.html,page.css,page.js} "$page"
    "$bindgen" --target web --no-typescript --out-name digits --out-dir "$page" \
        "$CARGO_TARGET_DIR/$triple/$1/array_dsl_web.wasm"
}

case ${1:-serve} in
prepare)
    for name in "${@:2}"; do
        case $name in
        target) get_target || echo "$name" ;;
        wasm-bindgen) get_bindgen || echo "$name" ;;
        chromium) [ -n "$chromium" ] || echo "$name" ;;
        esac
    done
    ;;
check)
    get_target
    build_dev
    CARGO_PROFILE_DEV_DEBUG=0 cargo check "${dev[@]}" --package array-dsl-compiler
    ;;
serve)
    get_target
    get_bindgen
    cargo build --release --target "$triple" --package array-dsl-web
    assemble release
    cargo run --release --package array-dsl-examples --example web -- serve "$page"
    ;;
test)
    get_target
    get_bindgen
    build_dev
    assemble debug
    # Where all tests were built, it is there and has the features of all.
    example=$CARGO_TARGET_DIR/debug/examples/web
    [ -x "$example" ] || cargo build --package array-dsl-examples --example web
    "$example" test "$page" "$chromium" "$page/page.png"
    ;;
*)
    sed -n '2,7s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
