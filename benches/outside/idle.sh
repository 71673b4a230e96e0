#!/usr/bin/env bash
# What an idle forwarder costs: CPU time over a while in which nothing is sent.
#
#     benches/outside/idle.sh [SECONDS]       as root; 30 s
#
# Two taps, both ends up, preset forward under Balanced, round trips before and after to show that it forwards. Prints
# the share of one core that all its threads had, and appends a JSON line to OUT (target/bench-outside.jsonl). The goal
# is less than 1 %.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rows.sh
. "$outside/rows.sh"

seconds=${1:-30}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "seconds: a whole number above 0 is needed, not \`$seconds\`"
out=${OUT:-$target/bench-outside.jsonl}

# cpu_ns: time on the CPU of all the forwarder's threads.
cpu_ns() { cat /proc/"${forwarder[0]}"/task/*/schedstat | awk '{ sum += $1 } END { print sum }'; }

prepare
lack=$(missing corelane)
[ -z "$lack" ] || die "$lack"
world_up
{ start corelane && ends_up; } || { why; die "corelane forwards nothing"; }
preset super
sleep 2 # what the ends still have to say to each other
before=$(cpu_ns) clock=$(date +%s%N)
sleep "$seconds"
after=$(cpu_ns) passed=$(($(date +%s%N) - clock))
wait_for 1 ip netns exec "$A" "$bin/pingpong" "$ADDRESS_B" 7000 64 0.2 || die "corelane forwards no more after idling"
share=$(awk -v spent="$((after - before))" -v passed="$passed" 'BEGIN { printf "%.3f", 100 * spent / passed }')
printf 'idle for %s s under Balanced: %s %% of a core (goal: below 1 %%)\n' "$seconds" "$share"
mkdir -p "$(dirname "$out")"
printf '{"bench": "outside", "case": "idle", "row": "corelane", "value": %s, "unit": "%% of a core", "round": 0}\n' \
    "$share" >>"$out"
