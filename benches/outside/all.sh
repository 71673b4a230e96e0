#!/usr/bin/env bash
# Everything that benches/README.md shows of whole programs, within a quarter of an hour on a quiet machine.
#
#     benches/outside/all.sh [--quick] [--readme]       as root; --readme puts the tables into benches/README.md
#
# First the rows that a goal hangs on, 15 interleaved rounds with superpackets; then every row with all presets, 3
# rounds; what idling costs; and the seeds in their short form (`make bench-seeds` is the long one). --quick is one
# round of each, to see whether all of it works.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
export OUT=$target/bench-outside.jsonl
seeds=$target/bench-seeds.jsonl
readme=$root/benches/README.md

# keep MARK: prints, and with --readme puts what is printed between the marks of the README as well.
keep() {
    if [ "$mode" = --readme ]; then tee >(cat >&2) | "$here/ratios.py" into "$readme" "$1"; else cat; fi
}

most=15 some=3 rest=30 mode=
while [ $# -gt 0 ]; do
    case $1 in
        --readme) mode=--readme ;;
        --quick) most=1 some=1 rest=5 ;;
        *) echo "usage: $0 [--quick] [--readme]" >&2; exit 2 ;;
    esac
    shift
done

others=(corelane tapcopy tapcopy-spin ovs-tap ovs-tap-tso ovs-system-tso testpmd bridge)
PRESETS=super TESTS="tcp1 pingpong" "$here/run.sh" "$most" corelane corelane-low-latency tapcopy ovs-tap-tso >/dev/null
PRESETS=super KEEP=100 "$here/run.sh" "$some" "${others[@]}" >/dev/null
PRESETS="wire soft" TESTS="tcp1 udp pingpong" KEEP=200 "$here/run.sh" "$some" "${others[@]}" >/dev/null
"$here/idle.sh" "$rest"
"$here/ratios.py" summary "$OUT" | keep outside
OUT=$seeds "$root/benches/seeds/gro.sh" --short "$some" | keep seed-gro
OUT=$seeds "$root/benches/seeds/tx_checksum.sh" --short | keep seed-tx-checksum
