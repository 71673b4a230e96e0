# Two namespaces and whatever forwards between them; shared by benches/outside and benches/seeds, to be sourced by
# bash with `set -euo pipefail`.
#
#     A, device a0, 10.77.0.1   --   F, the forwarder   --   B, device b0, 10.77.0.2
#
# Everything runs in namespaces made here, under names no other run has, and goes with them: processes first, then the
# namespaces, however the script ends. Nothing of the machine outside them is touched. The forwarder has core 1 for
# itself, both ends share core 0; all of them go before other programs (ahead.sh), so that a busy machine disturbs less.
# shellcheck shell=bash

outside=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$outside/../.." && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
bin=$target/outside
corelane=${CORELANE:-$target/release/corelane}
readonly FORWARDER_CORE=1 ENDS_CORE=0 ADDRESS_A=10.77.0.1 ADDRESS_B=10.77.0.2 MTU=1500

world=cl-$$
A=$world-a B=$world-b F=$world-f
forwarder=()   # processes that forward; their time on the CPU is measured
scratch=

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# skip NAME REASON: says what is left out and why.
skip() { printf 'SKIP %s: %s\n' "$1" "$2" >&2; }

# lacking: what this machine lacks for any of it, and the cure; nothing where all is there.
lacking() {
    local tool
    for tool in ip:iproute2 ethtool:ethtool iperf3:iperf3 qperf:qperf gcc:gcc python3:python3; do
        have "${tool%%:*}" || { echo "${tool%%:*} is not installed: apt-get install ${tool#*:}"; return; }
    done
    [ "$(id -u)" = 0 ] || { echo "namespaces and taps need root: run this with sudo"; return; }
    [ -c /dev/net/tun ] || { echo "/dev/net/tun is missing: modprobe tun"; return; }
    [ "$(nproc)" -ge 2 ] || echo "the forwarder and the ends need two cores"
}

# prepare: what every row needs. Ends the script where it is not there.
prepare() {
    local lack
    lack=$(lacking)
    [ -z "$lack" ] || die "$lack"
    sweep
    mkdir -p "$bin"
    local program
    for program in tapcopy pingpong; do
        gcc -O2 -o "$bin/$program" "$outside/$program.c"
    done
    scratch=$(mktemp -d)
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# sweep: removes the namespaces that runs which were killed have left behind, and what still runs in them.
sweep() {
    local namespace process
    for namespace in $(ip netns list 2>/dev/null | awk '/^cl-[0-9]+-/ { print $1 }'); do
        process=${namespace#cl-}
        process=${process%%-*}
        [ ! -d "/proc/$process" ] || continue
        # shellcheck disable=SC2046
        kill -KILL $(ip netns pids "$namespace") 2>/dev/null || true
        ip netns del "$namespace" 2>/dev/null || true
    done
}

# have_corelane: whether the command is built.
have_corelane() { [ -x "$corelane" ]; }

# processes: those in this run's namespaces, all started here.
processes() {
    local namespace
    for namespace in "$F" "$A" "$B"; do
        ip netns pids "$namespace" 2>/dev/null || true
    done
}

# world_down: ends what runs in the namespaces, then removes them.
world_down() {
    local list tries
    for tries in {1..40}; do
        list=$(processes)
        [ -n "$list" ] || break
        # The forwarder may drain; what is still there after two seconds is ended by force.
        # shellcheck disable=SC2086
        if [ "$tries" -lt 20 ]; then kill -TERM $list 2>/dev/null || true; else kill -KILL $list 2>/dev/null || true; fi
        sleep 0.1
    done
    local namespace
    for namespace in "$A" "$B" "$F"; do
        ip netns del "$namespace" 2>/dev/null || true
    done
    forwarder=()
}

clean_up() {
    world_down
    [ -z "$scratch" ] || rm -rf "$scratch"
}

# world_up: three empty namespaces.
world_up() {
    local namespace
    for namespace in "$A" "$B" "$F"; do
        ip netns add "$namespace"
        ip -n "$namespace" link set lo up
        # IPv6 would send of its own accord, and bbr paces by a timer that veth and tap do not deserve.
        ip netns exec "$namespace" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip netns exec "$namespace" sysctl -qw net.ipv4.tcp_congestion_control=reno
        # Fragments of datagrams that a flood has lost parts of would keep later ones out for half a minute.
        ip netns exec "$namespace" sysctl -qw net.ipv4.ipfrag_high_thresh=67108864 net.ipv4.ipfrag_time=1
    done
    : >"$scratch/log"
}

# inside NAMESPACE COMMAND...: in the foreground, on the core of the ends.
inside() { ip netns exec "$1" "$outside/ahead.sh" "$ENDS_CORE" "${@:2}"; }

# forward COMMAND...: starts a forwarder in F, on its core. `ip netns exec` and `ahead.sh` become the command.
forward() {
    ip netns exec "$F" "$outside/ahead.sh" "$FORWARDER_CORE" "$@" >>"$scratch/log" 2>&1 </dev/null &
    forwarder+=($!)
    disown # the shell need not say how it ended
}

# serve COMMAND...: a server in B.
serve() {
    ip netns exec "$B" "$outside/ahead.sh" "$ENDS_CORE" "$@" >/dev/null 2>&1 </dev/null &
    disown
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when time is up or the forwarder is gone.
wait_for() {
    local left=$(($1 * 20)) process
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        for process in "${forwarder[@]}"; do
            kill -0 "$process" 2>/dev/null || return 1
        done
        sleep 0.05
    done
}

# veths: a pair of veth devices to either end, pa and pb in F.
veths() {
    ip link add a0 netns "$A" type veth peer name pa netns "$F"
    ip link add b0 netns "$B" type veth peer name pb netns "$F"
    ip -n "$F" link set pa mtu "$MTU" up
    ip -n "$F" link set pb mtu "$MTU" up
}

# move_taps: gives the taps that the forwarder has made in F to the ends.
move_taps() {
    wait_for 10 ip -n "$F" link show a0 && wait_for 10 ip -n "$F" link show b0 || return 1
    # A forwarder may set its ports up only after it made them.
    sleep 0.2
    ip -n "$F" link set a0 netns "$A" && ip -n "$F" link set b0 netns "$B"
}

# ends_up: addresses, servers in B, and a round trip to show that it forwards.
ends_up() {
    ip -n "$A" link set a0 mtu "$MTU" up && ip -n "$A" address add "$ADDRESS_A/24" dev a0
    ip -n "$B" link set b0 mtu "$MTU" up && ip -n "$B" address add "$ADDRESS_B/24" dev b0
    serve iperf3 -s -p 5201
    serve qperf
    serve "$bin/pingpong" serve 7000
    wait_for 10 ip netns exec "$A" "$bin/pingpong" "$ADDRESS_B" 7000 64 0.2
}

# features NAMESPACE DEVICE (NAME on|off)...: one by one, since what a device refuses must not hinder the rest.
features() {
    local namespace=$1 device=$2
    shift 2
    while [ $# -gt 1 ]; do
        ip netns exec "$namespace" ethtool -K "$device" "$1" "$2" >/dev/null 2>&1 || true
        shift 2
    done
}

# preset NAME: what the kernel at both ends leaves to the device.
#   super  everything: superpackets of 64 KB cross
#   wire   checksums, no segmentation: frames of the MTU cross, their sums undone
#   soft   nothing: finished frames of the MTU cross
preset() {
    local all=(rx on tx on sg on tso on gso on gro on tx-udp-segmentation on) end
    case $1 in
        super) ;;
        wire) all+=(tso off gro off tx-udp-segmentation off gso off) ;;
        soft) all=(tso off gso off gro off tx-udp-segmentation off tx off rx off) ;;
        *) die "preset $1: super, wire or soft" ;;
    esac
    for end in "$A a0" "$B b0"; do
        # shellcheck disable=SC2086
        features $end "${all[@]}"
    done
}

# why: the last that the forwarder said.
why() { tail -n 4 "$scratch/log" | sed 's/^/    /' >&2; }
