#!/usr/bin/env bash
# Records tcp-bulk-v4.pcap and tcp-bulk-v6.pcap: bulk TCP between two kernel stacks.
#
# Makes two network namespaces joined by a veth pair, switches off at both ends every offload that
# would leave partial checksums or superpackets in a capture, moves data with plain sockets, and
# keeps what tcpdump saw only if verify.sh finds every checksum good. Namespaces, processes and
# scratch files are gone when it ends, however it ends.
#
# Needs root, iproute2, ethtool, tcpdump, python3 and tshark. Usage: record.sh [OUTPUT_FOLDER]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "${1:-$here}" && pwd)
readonly here out
readonly sender="corelane-rec-a-$$" receiver="corelane-rec-b-$$"
readonly mtu=1500

[ "$(id -u)" = 0 ] || { echo "record.sh: needs root to make network namespaces" >&2; exit 2; }
for tool in ip ethtool tcpdump python3 tshark; do
    command -v "$tool" >/dev/null || { echo "record.sh: $tool is not installed" >&2; exit 2; }
done

scratch=$(mktemp -d)
readonly scratch
children=()

# The namespaces go last: a process still inside would keep one alive without a name.
clean_up() {
    local pid namespace
    for pid in "${children[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    for namespace in "$sender" "$receiver"; do
        ip netns del "$namespace" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# end NAMESPACE MAC HOST_PART: one end of the wire.
set_up_end() {
    local namespace=$1 mac=$2 host=$3
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link set wire address "$mac" mtu "$mtu"
    # A superpacket or a sum left to the "hardware" would be recorded as such: all of it is off.
    ip netns exec "$namespace" ethtool -K wire tx off rx off sg off tso off gso off gro off >/dev/null
    ip -n "$namespace" link set wire up
    ip -n "$namespace" address add "192.0.2.$host/24" dev wire
    ip -n "$namespace" address add "2001:db8::$host/64" dev wire nodad
    ip netns exec "$namespace" sysctl -qw net.ipv4.tcp_congestion_control=reno
}

set_up_wire() {
    ip netns add "$sender"
    ip netns add "$receiver"
    ip -n "$sender" link add wire type veth peer name wire netns "$receiver"
    set_up_end "$sender" 02:00:00:00:00:01 1
    set_up_end "$receiver" 02:00:00:00:00:02 2
    # Fill the neighbour caches, so that no handshake is retried while an address resolves.
    ip netns exec "$sender" ping -q -c 1 -W 5 192.0.2.2 >/dev/null 2>&1 || true
    ip netns exec "$sender" ping -q -c 1 -W 5 2001:db8::2 >/dev/null 2>&1 || true
}

# wait_for DESCRIPTION COMMAND...: polls for up to five seconds.
wait_for() {
    local what=$1
    shift
    for _ in $(seq 100); do
        "$@" && return 0
        sleep 0.05
    done
    echo "record.sh: gave up waiting for $what" >&2
    return 1
}

listening() { [ -n "$(ip netns exec "$receiver" ss -Hltn "sport = :5001" 2>/dev/null)" ]; }
capturing() { grep -q 'listening on' "$scratch/tcpdump.log" 2>/dev/null; }

# record FILE FILTER ADDRESS BYTES...: one connection for each BYTES, all at the same time.
record() {
    local file=$1 filter=$2 address=$3
    shift 3
    echo "recording $file: $# connection(s) to $address, $* bytes"

    # Small snapshots would be cut frames: -s 0 keeps whole ones. Recorded where data arrives.
    ip netns exec "$receiver" tcpdump -i wire -s 0 --immediate-mode --time-stamp-precision=nano -Z root \
        -w "$scratch/$file" "$filter" 2>"$scratch/tcpdump.log" &
    local dump=$!
    children+=("$dump")
    wait_for "tcpdump" capturing

    ip netns exec "$receiver" python3 "$here/bulk.py" receive "$address" "$@" &
    local server=$!
    children+=("$server")
    wait_for "the receiver to listen" listening

    ip netns exec "$sender" python3 "$here/bulk.py" send "$address" "$@"
    wait "$server"
    sleep 0.3 # the last ACK of a FIN comes after both programs are gone
    kill -INT "$dump"
    wait "$dump" || true
    grep -q '^0 packets dropped by kernel' "$scratch/tcpdump.log" \
        || { echo "record.sh: tcpdump lost packets:" >&2; cat "$scratch/tcpdump.log" >&2; return 1; }
}

set_up_wire
# Odd totals: each last segment has an odd length and is summed with a padding byte.
record tcp-bulk-v4.pcap 'ip and tcp' 192.0.2.2 400001
record tcp-bulk-v6.pcap 'ip6 and tcp' 2001:db8::2 200003 130001

"$here/verify.sh" "$scratch/tcp-bulk-v4.pcap" "$scratch/tcp-bulk-v6.pcap"
install -m 0644 "$scratch/tcp-bulk-v4.pcap" "$scratch/tcp-bulk-v6.pcap" "$out/"
echo "written to $out"
