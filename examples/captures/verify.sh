#!/usr/bin/env bash
# Checks captures of TCP with tshark, which knows nothing of corelane: every frame whole and no larger than the MTU
# (1500) allows, every IPv4, UDP and TCP checksum at every level good, none bad, none unverified, and each connection
# with its handshake and both FINs. Where the name starts with vxlan, frames of other protocols may stand between,
# and UDP without a checksum; elsewhere every frame is TCP.
#
# Usage: [MTU=1550] verify.sh [FILE...]; without arguments, the captures beside this script. Prints one line a
# file. Exit 1 on the first file that fails, 2 where tshark is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
[ $# -gt 0 ] || set -- "$here"/*.pcap
command -v tshark >/dev/null || { echo "verify.sh: tshark is not installed" >&2; exit 2; }

# One line a frame; where a field occurs at several levels, all of them, outermost first.
fields() {
    tshark -r "$1" -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
        -T fields -E separator=';' -E occurrence=a \
        -e frame.len -e frame.cap_len -e ip.checksum.status -e udp.checksum.status -e tcp.checksum.status \
        -e tcp.flags.syn -e tcp.flags.ack -e tcp.flags.fin -e tcp.len 2>/dev/null
}

# tshark's checksum states: 1 good, 0 bad, 2 unverified, 3 not present; empty: no such header. Some
# versions print booleans as words.
judge() {
    awk -F';' -v file="$1" -v tunnel="$2" -v most="$((${MTU:-1500} + 14))" '
        function is_set(value) { return value == "1" || value == "True" }
        function want(what, found, wanted) {
            if (found + 0 == wanted + 0) return
            printf "verify.sh: %s: %s: found %d, expected %d\n", file, what, found, wanted > "/dev/stderr"
            failed = 1
        }
        # Adds the states of one protocol up.
        function look(states, is_udp,    n, i, each) {
            n = split(states, each, ",")
            for (i = 1; i <= n; i++) {
                if (each[i] == "1") good++
                else if (each[i] == "0") bad++
                else if (is_udp && each[i] == "3") none++
                else unverified++
            }
        }
        {
            whole += ($1 == $2); large += ($1 > most)
            look($3, 0); look($4, 1); look($5, 0)
        }
        $5 != "" {
            tcp++
            syn += is_set($6) && !is_set($7); syn_ack += is_set($6) && is_set($7)
            fin += is_set($8); data += ($9 > 0)
        }
        END {
            printf "%s: %d frames, %d with data, %d connection(s); ", file, NR, data, syn
            printf "checksums: %d good, %d bad, %d unverified", good, bad, unverified
            printf (none ? ", %d left out\n" : "\n"), none
            if (NR == 0) { printf "verify.sh: %s: no frames\n", file > "/dev/stderr"; exit 1 }
            if (!tunnel) { want("TCP frames", tcp, NR); want("UDP without a checksum", none, 0) }
            want("whole frames", whole, NR)
            want("frames over the MTU", large, 0)
            want("bad checksums", bad, 0)
            want("unverified checksums", unverified, 0)
            want("connections with an answer to their SYN", syn_ack, syn)
            want("FINs", fin, 2 * syn)
            exit failed
        }'
}

for file in "$@"; do
    [ -r "$file" ] || { echo "verify.sh: $file: cannot be read" >&2; exit 1; }
    name=$(basename "$file")
    fields "$file" | judge "$file" "$([ "${name#vxlan}" = "$name" ] || echo 1)"
done
