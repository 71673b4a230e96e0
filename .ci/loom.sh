#!/usr/bin/env bash
# The loom models of the runtime: every interleaving of the sleep protocol, of buffers going home, and of the table
# that stages share.
#
# A build of its own, beside the others, since the flag changes every crate below the runtime. A run
# that finds no model fails.
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

require_rust
log=$target/loom.log
export RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
cargo test --package corelane-runtime --lib --target-dir "$target/loom" -- loom 2>&1 | tee "$log"
! grep -q '^running 0 tests$' "$log" || die "no loom model ran"
