#!/usr/bin/env bash
# Instructions a packet, by callgrind: the same for the same binary and input, whatever else the machine does.
#
# Each case of `chain`, `classify` and `decap` runs twice with different numbers of packets; the difference, divided
# by the packets between them, is the cost of one. Valgrind hides AVX-512 from the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v valgrind >/dev/null || { echo "valgrind is needed: apt-get install valgrind"; exit 1; }
cargo build --release --quiet --package corelane-benches
bin=${CARGO_TARGET_DIR:-target}/release
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# instructions COMMAND...: instructions of the whole run
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$log"
    awk '/Collected/ { print $4 }' "$log"
}

short=4000 long=24000

# table PROGRAM HEADING: instructions a packet of every case of a program
table() {
    printf '%-24s %14s\n' "$2" "instructions"
    local case few many
    for case in $("$bin/$1" --list); do
        few=$(instructions "$bin/$1" --count "$case" "$short")
        many=$(instructions "$bin/$1" --count "$case" "$long")
        printf '%-24s %14s\n' "$case" "$(((many - few) / (long - short)))"
    done
    echo
}
table chain "case (16 flows)"
table classify "rules of Classify"
table decap "64 bytes in VXLAN"

# measured CASE: instructions inside ring_hop's measured loop, which handles 20,000 packets
measured() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
        --toggle-collect='*ring_hop*measured*' "$bin/ring_hop" --count "$1" >/dev/null 2>"$log"
    awk '/Collected/ { print $4 }' "$log"
}
printf '%-24s %14s %14s %14s\n' "ring hop, one thread" "same core" "with ring" "ring alone"
for burst in 1 8 32 64; do
    same=$(measured "same-$burst") hop=$(measured "hop-$burst")
    printf 'burst %-18s %14s %14s %14s\n' "$burst" "$((same / 20000))" "$((hop / 20000))" "$(((hop - same) / 20000))"
done
