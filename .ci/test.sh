#!/usr/bin/env bash
# make test: every test of the workspace; ends with what was skipped and what passed.
#
# Each skip is recorded by the helper that the tests share, in the file that CORELANE_SKIP_LOG names.
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Runs a command and keeps a copy of what it prints. Tests that failed are counted by the summary.
logged() { "$@" 2>&1 | tee -a "$log"; }

# Sum of the numbers before WORD on the summary lines of cargo test (one a binary) and nextest.
count() {
    sed 's/\x1b\[[0-9;]*m//g' "$log" | awk -v word="$1" '
        /^test result:/ || /^ *Summary \[/ {
            for (i = 2; i <= NF; i++) if ($i ~ "^" word "[;,]?$") sum += $(i - 1)
        }
        END { print sum + 0 }'
}

# `skipped N: name (reason), ...`, each skip once.
skipped() {
    sed 's/^SKIP //' "$CORELANE_SKIP_LOG" | sort -u | awk '
        { at = index($0, ": "); list = list (NR > 1 ? ", " : " ") substr($0, 1, at - 1) " (" substr($0, at + 2) ")" }
        END { printf "skipped %d:%s\n", NR, NR ? list : " nothing" }'
}

require_rust
install_tools
log=$target/test.log
export CORELANE_SKIP_LOG=${CORELANE_SKIP_LOG:-$target/skipped.log}
: >"$log"
: >"$CORELANE_SKIP_LOG"
if [ -n "${CORELANE_CORPUS:-}" ]; then
    [ -d "$CORELANE_CORPUS" ] || die "CORELANE_CORPUS names $CORELANE_CORPUS, which is no folder"
    CORELANE_CORPUS=$(realpath "$CORELANE_CORPUS") # tests run in the folders of their packages
    export CORELANE_CORPUS
else
    say "CORELANE_CORPUS is not set: tests over the corpus of captures are skipped"
fi

status=0
say "examples in the documentation"
logged cargo test --workspace --doc || status=1
if have cargo-nextest; then
    say "tests, by cargo-nextest"
    logged cargo nextest run --workspace --no-fail-fast || status=1
else
    say "tests, by cargo test (cargo-nextest is not installed)"
    logged cargo test --workspace --lib --bins --tests --no-fail-fast || status=1
fi

skipped
printf '%s passed, %s failed\n' "$(count passed)" "$(count failed)" | tee "$target/test-summary"
exit "$status"
