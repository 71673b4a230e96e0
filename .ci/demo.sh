#!/usr/bin/env bash
# make demo: the whole chain over recorded captures, what runs where and why, and the proof that it was done right.
#
# Needs Rust only. Where tshark is there or can be installed, it judges the checksums that were written.
set -euo pipefail
# shellcheck source=.ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

require_rust
install_tools
say "building corelane and the checkers (release)"
cargo build --release --package corelane-cli --package corelane-examples \
    --bin corelane --bin check_report --bin compare_captures
bin=$target/release
corelane=$bin/corelane
captures=examples/captures
mkdir -p out

# The words beside the description: what is read, and where everything goes.
software() {
    printf '%s\n' --set "plain=$captures/tcp-bulk-$1.pcap" --set "tunnel=$captures/vxlan-bulk-$1.pcap" \
        --set "vni=$2" --set "out=out/vxlan-demo-$1.pcap" --set "rest=out/demo-rest-$1.pcap"
}

# The same with cards in memory that can do everything in the place of files.
hardware() {
    printf '%s\n' --set plain=- --set tunnel=- --set "vni=$2" --set "rest=out/demo-rest-$1-hardware.pcap" \
        --port "office=Emulated(caps: All, read: \"$captures/tcp-bulk-$1.pcap\")" \
        --port "wan=Emulated(caps: All, read: \"$captures/vxlan-bulk-$1.pcap\")" \
        --port "core=Emulated(caps: All, write: \"out/vxlan-demo-$1-hardware.pcap\")"
}

# What came in must be what is inside of what went out; and both ways of doing it must give the same bytes.
prove() {
    local name=$1 out=out/vxlan-demo-$1 rest=out/demo-rest-$1
    "$bin/compare_captures" --inside "$captures/tcp-bulk-$name.pcap" "$captures/vxlan-bulk-$name-inner.pcap" \
        -- "$out.pcap" "$rest.pcap"
    "$bin/compare_captures" "$out.pcap" "$out-hardware.pcap"
    if have tshark; then
        MTU=1550 examples/captures/verify.sh "$out.pcap"
    else
        skip "demo-$name-tshark" "tshark is not installed"
    fi
}

# run NAME VNI: in software, then in hardware; both reports are kept.
run() {
    local words
    for way in software hardware; do
        mapfile -t words < <("$way" "$1" "$2")
        "$corelane" run preset:demo "${words[@]}" --format json --out "out/demo-$1-$way.json" 2>out/demo.log \
            || { cat out/demo.log >&2; return 1; }
    done
}

# A report on 80 columns: names of ports stand closer, notes of stages end where they must.
narrow() {
    sed -E -e '/^PORTS/,/^STAGES/s/^(.{10})   /\1/' -e '/^  [a-z_]+\.[0-9+]/s/^(.{80}).*/\1/' | fold -s -w 80
}

mapfile -t words < <(software v4 42)
mapfile -t cards < <(hardware v4 42)

cat <<'TEXT'

------------------------------------------------------------------------------
1. The pipeline. Two captures come in: TCP between two Linux kernels, and TCP
   inside a VXLAN of theirs. Both are checked, the tunnel is taken off, TCP is
   joined, sorted by rules, put into VXLAN 4200, cut again and written.
   The file, with comments: corelane new demo

   What runs where (+ was added by the planner):
------------------------------------------------------------------------------
TEXT
"$corelane" explain preset:demo "${words[@]}" --brief

cat <<'TEXT'

------------------------------------------------------------------------------
2. The run. A capture file can do nothing in hardware: all of it is software.
------------------------------------------------------------------------------
TEXT
"$corelane" run preset:demo "${words[@]}" 2>/dev/null | narrow

cat <<'TEXT'

------------------------------------------------------------------------------
3. The same with cards in memory that can do everything. What is left here:
------------------------------------------------------------------------------
TEXT
"$corelane" run preset:demo "${cards[@]}" 2>/dev/null \
    | grep -E '^(PORTS|  office|  wan|  core|STAGES|PAYLOAD|BALANCED)' | narrow | grep -v '^STAGES'

cat <<'TEXT'

------------------------------------------------------------------------------
4. The proof, over IPv4 and over IPv6. What came in is inside of what went
   out, frame by frame in the order of each flow; software and hardware wrote
   the same bytes; the books balance; tshark finds every checksum good.
------------------------------------------------------------------------------
TEXT
run v4 42
run v6 43
"$bin/check_report" out/demo-v4-software.json
"$bin/check_report" out/demo-v6-software.json
prove v4
prove v6

cat <<TEXT

------------------------------------------------------------------------------
demo: PASSED. Captures and reports are in out/.

Try next:
  $bin/corelane run preset:checksum_audit --set file=YOUR.pcap
  $bin/corelane explain preset:demo --set plain=x --set tunnel=y \\
      --caps core=i40e-like --why bulk.+Gso
  $bin/corelane new vxlan_gateway > mine.ron
------------------------------------------------------------------------------
TEXT
