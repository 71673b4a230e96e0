#!/usr/bin/env bash
# Runs each fuzz target for a while: .ci/fuzz.sh [SECONDS a target, default 60] [TARGET...]
#
# Coverage flags are given to the compiler directly, so stable Rust is enough and nothing is installed. What
# a target finds lies in target/fuzz/TARGET/; run the program there with that file to see it again.
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

require_rust
seconds=${1:-60}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(layers reversible tunnel classify capture description)
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
host=$(rustc -vV | awk '/^host/ { print $2 }')
# With a target named, the flags do not reach build scripts.
cargo build --manifest-path stages/fuzz/Cargo.toml --release --target "$host" --target-dir "$target/fuzz"
for name in "${targets[@]}"; do
    work=$target/fuzz/$name
    mkdir -p "$work/corpus"
    say "fuzzing $name for $seconds s"
    "$target/fuzz/$host/release/$name" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="$work/" -print_final_stats=1 "$work/corpus" >"$work/log" 2>&1 ||
        { tail -n 40 "$work/log"; die "$name found something: see $work"; }
    grep -E 'stat::(number_of_executed_units|new_units_added)' "$work/log"
done
