#!/usr/bin/env bash
# Checks everything: format, lints, all tests on the CPU and on a GPU, the digits example from end to end, the gallery, and digits on
# a page in a browser.
#
# The GPU tests need a Vulkan driver. On a Debian-like system without one, root gets Mesa's software driver
# installed. ARRAY_DSL_GPU=skip leaves out whatever needs a GPU; ARRAY_DSL_ADAPTER=<part of a name> picks one.
#
# The page needs rustc's target for WebAssembly, wasm-bindgen, and Chromium, which has a WebGPU in software. What cannot be had of
# these is no failure, but the last line says what was left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step=preparation
passed=""
scratch=$(mktemp -d)
report() {
    local code=$?
    rm -rf "$scratch"
    if [ "$code" -ne 0 ]; then
        echo "test.sh: FAILED in: $step (passed before:${passed:- nothing})" >&2
    fi
    exit "$code"
}
trap report EXIT
fail() {
    echo "test.sh: $*" >&2
    exit 1
}
run() {
    step=$1
    shift
    echo "== $step: $*"
    "$@"
    passed+=" $step"
}

gpu=yes
if [ "${ARRAY_DSL_GPU:-}" = skip ]; then gpu=no; fi
# Vulkan drivers want a private directory; without one Mesa complains at every start.
export XDG_RUNTIME_DIR=$scratch

has_vulkan() {
    [ "$(uname -s)" = Linux ] || return 0 # Metal and DX12 come with their systems
    local drivers="${VK_DRIVER_FILES:-}:${VK_ICD_FILENAMES:-}" manifest found=no
    for manifest in ${drivers//:/ } {/usr/share,/usr/local/share,/etc}/vulkan/icd.d/*.json; do
        if [ -e "$manifest" ]; then found=yes; fi
    done
    # Not `grep -q`: it may leave ldconfig writing into a closed pipe, which counts as a failure here.
    [ "$found" = yes ] && PATH="$PATH:/usr/sbin:/sbin" ldconfig -p | grep 'libvulkan\.so\.1' >/dev/null
}

packages=()
command -v cc >/dev/null || packages+=(gcc libc6-dev)
if [ "$gpu" = yes ] && ! has_vulkan; then packages+=(mesa-vulkan-drivers libvulkan1); fi
if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "please install ${packages[*]} (Debian's names: a C linker, a Vulkan driver and its loader)," \
            "or set ARRAY_DSL_GPU=skip to leave out the GPU tests"
    fi
    echo "== installing: ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
command -v cargo >/dev/null || fail "cargo is missing: install Rust"
cargo fmt --version >/dev/null || fail "rustfmt is missing: rustup component add rustfmt"
clippy-driver --version >/dev/null || fail "clippy is missing: rustup component add clippy"

# One profile and one choice of packages throughout, so that no crate is compiled twice for running: `cargo run`
# would choose the features of the dependencies anew, so the examples are started from where the build put them.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
examples=$CARGO_TARGET_DIR/debug/examples

# Clippy looks at each crate of the workspace while it is compiled: a run of its own would expand and check everything once more. What
# tests build themselves, the wrong programs, is for rustc alone.
export RUSTC_WORKSPACE_WRAPPER=$PWD/tests/lint.sh CLIPPY_ARGS=-Dwarnings
alone='target."cfg(all())".runner = ["env", "--unset=RUSTC_WORKSPACE_WRAPPER", "--unset=CLIPPY_ARGS"]'

run format cargo fmt --all --check
built_before=no
if [ -d "$CARGO_TARGET_DIR/debug/deps" ]; then built_before=yes; fi
run build-and-lints cargo test --workspace --no-run
# The compiler is one crate for the macro and for its tests only if what it depends on has the same features for both. Where it has not,
# building takes minutes longer and nothing else tells. Of a folder that was there before, what is in it may be older.
once() {
    local found=("$CARGO_TARGET_DIR"/debug/deps/libarray_dsl_compiler-*.rlib)
    [ "$built_before" = yes ] || [ ${#found[@]} -eq 1 ] ||
        fail "the compiler was built ${#found[@]} times: see the features in tests/Cargo.toml"
}
run compiler-built-once once
run benches-and-lints cargo test --workspace --benches --no-run
if [ "$gpu" = yes ]; then
    run adapter "$examples/adapters"
fi
run tests cargo --config "$alone" test --workspace # documentation tests are among them, benchmarks are not
run digits "$examples/digits" --out "$scratch/digits.png"
gallery() {
    local name
    for name in heat gaussian_process hmc ray_marcher attention lstm orbit soft_dtw molecular_dynamics image_warp; do
        echo "-- $name"
        "$examples/$name" --out "$scratch/$name.png"
    done
}
run gallery gallery
other_crates() {
    local name
    for name in checkpoint eight_schools line_for_numpy misra1a robertson rosenbrock; do
        echo "-- $name"
        "$examples/$name"
    done
}
run other-crates other_crates
if [ "$gpu" = yes ]; then
    run digits-gpu "$examples/digits" --gpu --out "$scratch/digits.png"
fi

# In a browser. The macro and what it is made of are those of the tests before.
note=""
leave_out() { note+="; LEFT OUT: $*"; }
if [ "$gpu" = no ]; then leave_out "GPU tests, the page in a browser (ARRAY_DSL_GPU=skip)"; fi
if [ "$gpu" = yes ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null &&
    [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
    echo "== installing: chromium"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || true
fi
if [ -n "$(examples/web/web.sh prepare target)" ]; then
    leave_out "WebAssembly, the page in a browser (rustc has no target wasm32-unknown-unknown, and rustup adds none)"
else
    run webassembly examples/web/web.sh check
    if [ "$gpu" = yes ]; then
        lacks=$(examples/web/web.sh prepare wasm-bindgen chromium)
        if [ -n "$lacks" ]; then
            leave_out "the page in a browser (not to be had:" $lacks")"
        else
            run browser examples/web/web.sh test
        fi
    fi
fi

echo "test.sh: all passed:$passed$note"
