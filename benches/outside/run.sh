#!/usr/bin/env bash
# corelane and its rivals as whole programs between the same two namespaces.
#
#     benches/outside/run.sh [ROUNDS [ROW..]]       as root; every row that can run here, 5 rounds
#
# Each round starts every row anew, in an order that turns round by round, so that what else the machine does falls on
# all alike. PRESETS ("super wire soft"), TESTS ("tcp1 tcp4 udp pingpong qperf") and DURATION (1, seconds a test) choose
# what is measured, OUT the file of JSON lines (target/bench-outside.jsonl); KEEP=N adds to it, its rounds from N on.
# What is missing is said and its row left out. Nothing is judged: ratios.py prints the table and the ratios.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rows.sh
. "$outside/rows.sh"

rounds=${1:-5}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "rounds: a number above 0 is needed, not \`$rounds\`"
rows=("${@:2}")
[ ${#rows[@]} -gt 0 ] || rows=("${ROWS[@]}")
read -ra presets <<<"${PRESETS:-super wire soft}"
read -ra tests <<<"${TESTS:-tcp1 tcp4 udp pingpong qperf}"
duration=${DURATION:-1}
out=${OUT:-$target/bench-outside.jsonl}

# runnable: keeps of `rows` what has all it needs.
runnable() {
    local row lack kept=()
    for row in "${rows[@]}"; do
        lack=$(missing "$row")
        if [ -n "$lack" ]; then skip "$row" "$lack"; else kept+=("$row"); fi
    done
    rows=("${kept[@]}")
    [ ${#rows[@]} -gt 0 ] || die "no row can run here"
}

# measure ROW ROUND: all presets of one row.
measure() {
    local row=$1 round=$2 one
    world_up
    if ! start "$row" || ! ends_up; then
        say "$row forwards nothing; it said:"
        why
        world_down
        return
    fi
    for one in "${presets[@]}"; do
        preset "$one"
        sleep 0.2
        python3 "$outside/measure.py" --out "$out" --row "$row" --preset "$one" --round "$round" --namespace "$A" \
            --address "$ADDRESS_B" --core "$ENDS_CORE" --bin "$bin" --seconds "$duration" \
            --processes "$(IFS=,; echo "${forwarder[*]}")" "${tests[@]}"
    done
    world_down
}

prepare
runnable
mkdir -p "$(dirname "$out")"
[ -n "${KEEP:-}" ] || : >"$out"
first=${KEEP:-0}
python3 "$outside/ratios.py" describe --out "$out" --forwarder-core "$FORWARDER_CORE" --ends-core "$ENDS_CORE" \
    --mtu "$MTU" "$(for row in "${rows[@]}"; do printf '%s=%s\n' "$row" "$(title "$row")"; done)"
for ((round = 0; round < rounds; round++)); do
    say "round $((round + 1)) of $rounds: ${rows[*]}"
    for ((index = 0; index < ${#rows[@]}; index++)); do
        measure "${rows[$(((index + round) % ${#rows[@]}))]}" "$((first + round))"
    done
done
python3 "$outside/ratios.py" summary "$out"
