#!/usr/bin/env bash
# What joining segments before the receiver is worth, beside what was published of a userspace GRO library.
#
#     benches/seeds/gro.sh [--short] [ROUNDS]       as root; 5 rounds of 2 s, --short: one of 1 s
#
# A sender without TSO (frames of 1,500 bytes, sums finished) goes through corelane, over two taps, a bridge and a veth
# pair, to a receiver on one core:
#
#   none     preset forward, the receiver's GRO off
#   kernel   preset forward, the receiver's GRO on
#   ours     preset bump, which joins; the receiver's GRO off
#
# with one flow, with several flows of one client and with as many clients. The kernel joins nothing that is written to
# a tap, so the receiver sits behind a veth device, which does, and may hold segments as long as some drivers do (50 us;
# of the ways to have it join here this was the fastest). Its stack is on core 0 in all three cases, by RPS.
#
# LOADS ("tcp1 tcp4 clients4") leaves some out. JSON lines go to OUT (target/bench-seeds.jsonl) as bench `seed-gro`.
# Nothing is judged.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../outside/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../outside/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../outside/rows.sh
. "$outside/rows.sh"

readonly CLIENTS=4 KERNEL_HOLD_NS=50000
rounds=5 duration=2
[ "${1:-}" != --short ] || { rounds=1 duration=1; shift; }
rounds=${1:-$rounds}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "rounds: a number above 0 is needed, not \`$rounds\`"
read -ra loads <<<"${LOADS:-tcp1 tcp$CLIENTS clients$CLIENTS}"
out=${OUT:-$target/bench-seeds.jsonl}

# behind_veth: puts a bridge and a veth pair between the tap and the receiver.
behind_veth() {
    ip -n "$B" link set b0 name t0
    ip -n "$B" link set t0 netns "$F"
    ip link add b0 netns "$B" type veth peer name pb netns "$F"
    ip -n "$F" link add br0 type bridge stp_state 0 forward_delay 0
    local port
    for port in t0 pb; do
        ip -n "$F" link set "$port" mtu "$MTU" master br0
        ip -n "$F" link set "$port" up
    done
    ip -n "$F" link set br0 up
}

# receiver on|off: where the receiver's stack runs, and whether it joins.
receiver() {
    local mask
    mask=$(printf '%x' $((1 << ENDS_CORE)))
    of_b0 "queues/rx-0/rps_cpus" "$mask"
    features "$B" b0 gro "$1"
    [ "$1" = on ] || return 0
    # A veth device takes what its peer sends past GRO, unless the peer has no TSO and so must be sending frames.
    features "$F" pb tso off
    # Each write to the tap ends in a poll; what that one joined is kept for the next, else there is nothing to join.
    of_b0 napi_defer_hard_irqs 10
    of_b0 gro_flush_timeout "$KERNEL_HOLD_NS"
}

# of_b0 FILE VALUE: a setting of the device that the kernel has no other way to.
of_b0() { ip netns exec "$B" sh -c "echo $2 >/sys/class/net/b0/$1"; }

# measure CASE ROUND
measure() {
    local description=preset:forward gro=off
    case $1 in
        ours) description=preset:bump ;;
        kernel) gro=on ;;
    esac
    world_up
    start_corelane "$description" balanced || { why; die "corelane does not start"; }
    behind_veth
    ends_up || { why; die "corelane forwards nothing"; }
    for ((client = 1; client < CLIENTS; client++)); do
        serve iperf3 -s -p $((5201 + client))
    done
    preset soft
    receiver "$gro"
    sleep 0.3
    python3 "$outside/measure.py" --bench seed-gro --out "$out" --row "$1" --preset soft --round "$2" \
        --namespace "$A" --address "$ADDRESS_B" --core "$ENDS_CORE" --bin "$bin" --seconds "$duration" \
        --processes "${forwarder[0]}" "${loads[@]}"
    world_down
}

prepare
lack=$(missing corelane)
[ -z "$lack" ] || die "$lack"
mkdir -p "$(dirname "$out")"
python3 "$root/benches/seeds/tables.py" forget seed-gro "$out"
cases=(none kernel ours)
for ((round = 0; round < rounds; round++)); do
    say "round $((round + 1)) of $rounds: ${cases[*]}"
    for ((index = 0; index < ${#cases[@]}; index++)); do
        measure "${cases[$(((index + round) % ${#cases[@]}))]}" "$round"
    done
done
python3 "$root/benches/seeds/tables.py" gro "$out"
