#!/usr/bin/env bash
# Who computes the checksums a sender leaves: the table published for a software switch, on our own ports.
#
#     benches/seeds/tx_checksum.sh [--short] [ROUNDS]       as root; one round of all 17 sizes (about 7 minutes),
#                                                           --short: three sizes
#
# qperf's tcp_bw, tcp_lat, udp_bw and udp_lat over messages of 1 byte to 64 KiB, through corelane (preset forward)
# between two taps:
#
#   sender     nobody but the sender: the kernel at either end sums in software
#   software   the ends leave sums undone, corelane finishes them at egress (ports without transmit checksums)
#   hardware   the ends leave sums undone, and so does corelane: the port finishes them, which a tap does by saying so
#
#   whole      as hardware, and the ends leave segmentation undone as well: what was not to be had there
#
# In the first three no end may leave segmentation to its device, as there. Each size is measured in every way before
# the next. SIZES and TESTS ("tcp_bw tcp_lat udp_lat udp_bw") leave some out. JSON lines go to OUT
# (target/bench-seeds.jsonl) as bench `seed-tx-checksum`. Nothing is judged.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../outside/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../outside/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../outside/rows.sh
. "$outside/rows.sh"

sizes=(1 2 4 8 16 32 64 128 256 512 1K 2K 4K 8K 16K 32K 64K)
[ "${1:-}" != --short ] || { sizes=(64 1K 64K); shift; }
[ -z "${SIZES:-}" ] || read -ra sizes <<<"$SIZES"
# The flood last: what it leaves behind of fragments is forgotten until the next datagrams matter.
read -ra tests <<<"${TESTS:-tcp_bw tcp_lat udp_lat udp_bw}"
rounds=${1:-1}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "rounds: a number above 0 is needed, not \`$rounds\`"
out=${OUT:-$target/bench-seeds.jsonl}

# What is left of a tap whose transmit checksums are taken away: unfinished packets still come in.
readonly SUMMED_HERE='["rx_partial", "multi_part"]'

# ends WAY: whether the kernel at both ends leaves its sums undone.
ends() {
    local tx=on tso=off end
    [ "$1" != sender ] || tx=off
    [ "$1" != whole ] || tso=on
    for end in "$A a0" "$B b0"; do
        # shellcheck disable=SC2086
        features $end rx on sg on gro off tso "$tso" tx-udp-segmentation off gso on tx "$tx"
    done
}

# One world a way, so that sizes can take turns without starting anything anew.
declare -A ends_of
# begin WAY
begin() {
    world=cl-$$-$1 A=$world-a B=$world-b F=$world-f
    ends_of[$1]=$world
    world_up
    case $1 in
        software) forward_between "Tap(name: \"a0\", caps: $SUMMED_HERE)" "Tap(name: \"b0\", caps: $SUMMED_HERE)" ;;
        *) forward_between 'Tap("a0")' 'Tap("b0")' ;;
    esac || { why; die "corelane does not start"; }
    ends_up || { why; die "corelane forwards nothing"; }
    ends "$1"
}

# forward_between PORT_A PORT_B
forward_between() {
    forward "$corelane" run preset:forward --port "a=$1" --port "b=$2" --cpus "$FORWARDER_CORE" --idle balanced
    move_taps
}

# Every world goes, whichever was the last.
clean_up() {
    for world in "${ends_of[@]}"; do
        A=$world-a B=$world-b F=$world-f
        world_down
    done
    rm -rf "$scratch"
}

prepare
lack=$(missing corelane)
[ -z "$lack" ] || die "$lack"
mkdir -p "$(dirname "$out")"
python3 "$root/benches/seeds/tables.py" forget seed-tx-checksum "$out"
ways=(sender software hardware whole)
for way in "${ways[@]}"; do
    begin "$way"
done
for ((round = 0; round < rounds; round++)); do
    for size in "${sizes[@]}"; do
        say "round $((round + 1)) of $rounds, messages of $size bytes"
        for way in "${ways[@]}"; do
            python3 "$outside/measure.py" --bench seed-tx-checksum --out "$out" --row "$way" --preset "$size" \
                --round "$round" --namespace "${ends_of[$way]}-a" --address "$ADDRESS_B" --core "$ENDS_CORE" \
                --bin "$bin" --seconds 1 --message "$size" "${tests[@]/#/q-}"
        done
    done
done
python3 "$root/benches/seeds/tables.py" tx-checksum "$out"
