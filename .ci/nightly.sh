#!/usr/bin/env bash
# make nightly: what takes too long for every change. More cases a property, more seeds for the
# simulator, and loom models explored further.
#
# The fuzz targets run too.
#
# CORELANE_NIGHTLY=N multiplies the work (default 1, about an hour on two cores).
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

times=${CORELANE_NIGHTLY:-1}
say "tests with $((times * 10000)) cases a property and $((times * 10000)) seeds"
PROPTEST_CASES=$((times * 10000)) CORELANE_SEEDS=$((times * 10000)) .ci/test.sh
say "loom models, six preemptions deep"
LOOM_MAX_PREEMPTIONS=6 .ci/loom.sh
.ci/fuzz.sh "$((times * 600))"
