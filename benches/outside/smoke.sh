#!/usr/bin/env bash
# Whether the benches of whole programs still run: the shortest of each, in half a minute. Judges no figure, only that
# each forwarder has one.
#
#     CORELANE=target/debug/corelane benches/outside/smoke.sh
#
# What this machine lacks is skipped by name, and recorded where CORELANE_SKIP_LOG says.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# leave_out NAME REASON: as the tests do it.
leave_out() {
    skip "$1" "$2"
    [ -z "${CORELANE_SKIP_LOG:-}" ] || printf 'SKIP %s: %s\n' "$1" "$2" >>"$CORELANE_SKIP_LOG"
}

# figures FILE ROW...: fails unless the file has a figure of each row, and no test without one.
figures() {
    python3 - "$@" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
lines = [line for line in lines if "value" in line]
missing = set(sys.argv[2:]) - {line["row"] for line in lines if line["value"]}
failed = [f"{line['row']}: {line['case']}" for line in lines if line["value"] is None]
if missing or failed:
    sys.exit(f"error: no figure of {', '.join(sorted(missing) + failed)}")
PYTHON
}

have python3 || { leave_out bench-scripts "python3 is not installed"; exit 0; }
"$outside/ratios.py" self-test
"$root/benches/seeds/tables.py" self-test
lack=$(lacking)
have_corelane || lack="$corelane is not built"
[ -z "$lack" ] || { leave_out bench-outside-smoke "$lack"; exit 0; }

OUT=$(mktemp)
export OUT
trap 'rm -f "$OUT"' EXIT
PRESETS=super TESTS="tcp1 pingpong" "$outside/run.sh" 1 corelane tapcopy
figures "$OUT" corelane tapcopy
: >"$OUT"
LOADS=tcp1 "$root/benches/seeds/gro.sh" --short
figures "$OUT" none kernel ours
: >"$OUT"
SIZES=1K TESTS="tcp_bw udp_lat" "$root/benches/seeds/tx_checksum.sh"
figures "$OUT" sender software hardware whole
