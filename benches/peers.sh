#!/usr/bin/env bash
# corelane beside DPDK's libraries, in one process. Rows go to target/bench-peers.jsonl; less than ten minutes.
#
# Without libdpdk it says which package is missing and ends well. As root it sets 2 MiB pages aside for DPDK while it
# runs, if there are too few, and puts the number back: DPDK's users have them. Arguments go to the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! pkg-config --atleast-version=21.11 libdpdk 2>/dev/null; then
    echo "skipped: no libdpdk here; apt-get install libdpdk-dev pkg-config"
    exit 0
fi
target=${CARGO_TARGET_DIR:-target}
cargo build --release --quiet --package corelane-benches --features dpdk --bin peers

# Pages for both sides: corelane's pools take huge ones too where there are any.
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
wanted=400
before=$(cat "$pages" 2>/dev/null || echo "$wanted")
if [ "$before" -lt "$wanted" ] && [ -w "$pages" ]; then
    trap 'echo "$before" >"$pages"' EXIT
    echo "$wanted" >"$pages"
fi
echo "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), kernel $(uname -r)," \
    "huge pages $(cat "$pages" 2>/dev/null || echo 0), load $(cut -d' ' -f1 /proc/loadavg)"
mkdir -p "$target"
"$target/release/peers" --out "$target/bench-peers.jsonl" "$@"
