#!/usr/bin/env bash
# make demo: examples/02_join_and_cut.ron over the recorded captures, and whether it did what it promises.
#
# Needs Rust only. Where tshark is there or can be installed, it judges the checksums that were written.
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# demo NAME: runs the pipeline over examples/captures/tcp-bulk-NAME.pcap and judges the run.
demo() {
    local name=$1
    local input=examples/captures/tcp-bulk-$name.pcap output=out/demo-$name.pcap report=out/demo-$name.json
    rm -f "$output" "$report"

    say "$name: $input through examples/02_join_and_cut.ron, into $output"
    "$corelane" run examples/02_join_and_cut.ron --set "in=$input" --set "out=$output"

    say "$name: once more, for the report as JSON: $report"
    "$corelane" run examples/02_join_and_cut.ron --set "in=$input" --set "out=$output" --format json --out "$report"
    "$bin/check_report" "$report"

    say "$name: is what came out what went in, frame by frame?"
    "$bin/compare_captures" "$input" "$output"

    if have tshark; then
        say "$name: what tshark thinks of every checksum in $output"
        examples/captures/verify.sh "$output"
    else
        skip "demo-$name-tshark" "tshark is not installed"
    fi
}

require_rust
install_tools
say "building corelane and the checkers (release)"
cargo build --release --package corelane-cli --package corelane-examples --bins
bin=$target/release
corelane=$bin/corelane
mkdir -p out

demo v4
demo v6
say "demo: PASSED (IPv4 and IPv6 bulk TCP joined, carried to the next core and cut again, byte for byte; reports and captures are in out/)"
