#!/bin/sh
# Runs a command on one core ahead of other programs: nice -10, and for the kernel's grouping of sessions as well, which
# would else share a core out by session whatever the niceness.
#
#     ahead.sh CORE COMMAND...
#
# CORE `-` leaves the choice to the command. Becomes the command, in a session of its own.
set -eu
[ -n "${CORELANE_AHEAD:-}" ] || CORELANE_AHEAD=1 exec setsid nice -n -10 "$0" "$@"
unset CORELANE_AHEAD
[ ! -w /proc/self/autogroup ] || echo -10 >/proc/self/autogroup
core=$1
shift
[ "$core" = - ] || exec taskset -c "$core" "$@"
exec "$@"
