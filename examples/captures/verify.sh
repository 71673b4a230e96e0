#!/usr/bin/env bash
# Checks captures of TCP with tshark, which knows nothing of corelane: every frame whole, TCP over IP
# and no larger than an MTU of 1500 allows, every IPv4 and TCP checksum good, none bad, none unverified,
# and each connection with its handshake and both FINs.
#
# Usage: verify.sh [FILE...]; without arguments, the two captures beside this script. Prints one line a
# file. Exit 1 on the first file that fails, 2 where tshark is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
[ $# -gt 0 ] || set -- "$here/tcp-bulk-v4.pcap" "$here/tcp-bulk-v6.pcap"
command -v tshark >/dev/null || { echo "verify.sh: tshark is not installed" >&2; exit 2; }

# One line a frame. `occurrence=l` takes the innermost header where a field occurs more than once.
fields() {
    tshark -r "$1" -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE \
        -T fields -E separator=';' -E occurrence=l \
        -e frame.len -e frame.cap_len -e ip.version -e ip.checksum.status -e tcp.checksum.status \
        -e tcp.flags.syn -e tcp.flags.ack -e tcp.flags.fin -e tcp.len 2>/dev/null
}

# tshark's checksum states: 1 good, 0 bad, 2 unverified, 3 not present; empty: no such header. Some
# versions print booleans as words.
judge() {
    awk -F';' -v file="$1" '
        function is_set(value) { return value == "1" || value == "True" }
        function want(what, found, wanted) {
            if (found + 0 == wanted + 0) return
            printf "verify.sh: %s: %s: found %d, expected %d\n", file, what, found, wanted > "/dev/stderr"
            failed = 1
        }
        { whole += ($1 == $2); large += ($1 > 1514); v4 += ($3 == "4"); v4_good += ($4 == "1") }
        $5 != "" {
            tcp++; good += ($5 == "1"); bad += ($5 == "0"); unverified += ($5 != "1" && $5 != "0")
            syn += is_set($6) && !is_set($7); syn_ack += is_set($6) && is_set($7)
            fin += is_set($8); data += ($9 > 0)
        }
        END {
            printf "%s: %d frames, %d with data, %d connection(s); ", file, NR, data, syn
            printf "TCP checksums: %d good, %d bad, %d unverified\n", good, bad, unverified
            if (NR == 0) { printf "verify.sh: %s: no frames\n", file > "/dev/stderr"; exit 1 }
            want("TCP frames", tcp, NR)
            want("whole frames", whole, NR)
            want("frames over the MTU", large, 0)
            want("good TCP checksums", good, NR)
            want("good IPv4 checksums", v4_good, v4)
            want("answers to a SYN", syn_ack, syn)
            want("FINs", fin, 2 * syn)
            exit failed
        }'
}

for file in "$@"; do
    [ -r "$file" ] || { echo "verify.sh: $file: cannot be read" >&2; exit 1; }
    fields "$file" | judge "$file"
done
