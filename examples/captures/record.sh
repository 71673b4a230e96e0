#!/usr/bin/env bash
# Records tcp-bulk-v4.pcap and tcp-bulk-v6.pcap, bulk TCP between two kernel stacks, and vxlan-bulk-v4.pcap and
# vxlan-bulk-v6.pcap, the same inside a VXLAN of the kernel, each with the frames inside as *-inner.pcap.
#
# Makes two network namespaces joined by a veth pair, with a VXLAN over IPv4 and one over IPv6 on it, switches off
# at both ends, on inner and outer devices, every offload that would leave partial checksums or superpackets in a
# capture, moves data with plain sockets, and keeps what tcpdump saw only if verify.sh finds every checksum good.
# Namespaces, processes and scratch files are gone when it ends, however it ends.
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

# A superpacket or a sum left to the "hardware" would be recorded as such: all of it is off.
no_offload() { ip netns exec "$1" ethtool -K "$2" tx off rx off sg off tso off gso off gro off >/dev/null; }

# set_up_end NAMESPACE MAC HOST_PART: one end of the wire.
set_up_end() {
    local namespace=$1 mac=$2 host=$3
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link set wire address "$mac" mtu "$mtu"
    no_offload "$namespace" wire
    ip -n "$namespace" link set wire up
    ip -n "$namespace" address add "192.0.2.$host/24" dev wire
    ip -n "$namespace" address add "2001:db8::$host/64" dev wire nodad
    ip netns exec "$namespace" sysctl -qw net.ipv4.tcp_congestion_control=reno
}

# set_up_vxlan NAMESPACE DEVICE VNI LOCAL REMOTE MAC ADDRESS: one end of a tunnel on the wire. The outer UDP checksum is
# left out over IPv4 and filled over IPv6, as RFC 7348 and RFC 8200 would have it.
set_up_vxlan() {
    local namespace=$1 device=$2 vni=$3 local=$4 remote=$5 mac=$6 address=$7
    ip -n "$namespace" link add "$device" type vxlan id "$vni" local "$local" remote "$remote" \
        dstport 4789 dev wire noudpcsum
    ip -n "$namespace" link set "$device" address "$mac"
    no_offload "$namespace" "$device"
    ip -n "$namespace" link set "$device" up
    ip -n "$namespace" address add "$address" dev "$device" nodad 2>/dev/null
}

set_up_tunnels() {
    set_up_vxlan "$sender" vx4 42 192.0.2.1 192.0.2.2 02:00:00:00:04:01 198.51.100.1/24
    set_up_vxlan "$receiver" vx4 42 192.0.2.2 192.0.2.1 02:00:00:00:04:02 198.51.100.2/24
    set_up_vxlan "$sender" vx6 43 2001:db8::1 2001:db8::2 02:00:00:00:06:01 2001:db8:6::1/64
    set_up_vxlan "$receiver" vx6 43 2001:db8::2 2001:db8::1 02:00:00:00:06:02 2001:db8:6::2/64
    sleep 2 # reports of multicast listeners, which come after a random time, are not what this is about
    ip netns exec "$sender" ping -q -c 1 -W 5 198.51.100.2 >/dev/null 2>&1 || true
    ip netns exec "$sender" ping -q -c 1 -W 5 2001:db8:6::2 >/dev/null 2>&1 || true
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
capturing() { grep -q 'listening on' "$scratch/$1.log" 2>/dev/null; }

# start_dump DEVICE FILE FILTER: records at the end where the data arrives. Small snapshots would be cut frames: -s 0
# keeps whole ones.
start_dump() {
    local device=$1 file=$2 filter=$3
    ip netns exec "$receiver" tcpdump -i "$device" -s 0 --immediate-mode --time-stamp-precision=nano -Z root \
        -w "$scratch/$file" "$filter" 2>"$scratch/$file.log" &
    dumps+=("$!:$file")
    children+=("$!")
    wait_for "tcpdump" capturing "$file"
}

# Ends every recording; fails where one lost packets.
end_dumps() {
    local dump file
    for dump in "${dumps[@]}"; do
        file=${dump#*:}
        kill -INT "${dump%%:*}"
        wait "${dump%%:*}" || true
        grep -q '^0 packets dropped by kernel' "$scratch/$file.log" \
            || { echo "record.sh: tcpdump lost packets:" >&2; cat "$scratch/$file.log" >&2; return 1; }
    done
    dumps=()
}

# move ADDRESS BYTES...: one connection for each BYTES, all at the same time.
move() {
    local address=$1
    shift
    echo "recording: $# connection(s) to $address, $* bytes"
    ip netns exec "$receiver" python3 "$here/bulk.py" receive "$address" "$@" &
    local server=$!
    children+=("$server")
    wait_for "the receiver to listen" listening
    ip netns exec "$sender" python3 "$here/bulk.py" send "$address" "$@"
    wait "$server"
    sleep 0.3 # the last ACK of a FIN comes after both programs are gone
    end_dumps
}

dumps=()
set_up_wire
# Odd totals: each last segment has an odd length and is summed with a padding byte.
start_dump wire tcp-bulk-v4.pcap 'ip and tcp'
move 192.0.2.2 400001
start_dump wire tcp-bulk-v6.pcap 'ip6 and tcp'
move 2001:db8::2 200003 130001
"$here/verify.sh" "$scratch/tcp-bulk-v4.pcap" "$scratch/tcp-bulk-v6.pcap"

set_up_tunnels
# A frame that comes while one recording runs and the other does not yet is in one of them: then once more.
record_inside() {
    local name=$1 device=$2 filter=$3 headers=$4
    shift 4
    for _ in 1 2 3 4 5; do
        start_dump "$device" "$name-inner.pcap" ''
        start_dump wire "$name.pcap" "$filter and udp port 4789"
        move "$@"
        python3 "$here/inside.py" "$scratch/$name.pcap" "$scratch/$name-inner.pcap" "$headers" && return 0
    done
    return 1
}

record_inside vxlan-bulk-v4 vx4 ip 50 198.51.100.2 120001
record_inside vxlan-bulk-v6 vx6 ip6 70 2001:db8:6::2 70003 50001
"$here/verify.sh" "$scratch"/vxlan-bulk-v[46].pcap "$scratch"/vxlan-bulk-v[46]-inner.pcap

install -m 0644 "$scratch"/*.pcap "$out/"
echo "written to $out"
