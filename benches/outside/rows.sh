# How each forwarder of the table is started; to be sourced after lib.sh.
#
# `start ROW` puts a forwarder between a0 and b0 of a fresh world, `missing ROW` says what this machine lacks for it
# (nothing where all is there), `title ROW` names it with its version. Each runs as its documentation has it for one
# core; none is tuned against its own manual.
# shellcheck shell=bash
# The variables come from lib.sh and go back to it.
# shellcheck disable=SC2154,SC2034

readonly ROWS=(corelane corelane-low-latency tapcopy tapcopy-spin ovs-tap ovs-tap-tso ovs-system-tso testpmd bridge)
ovs_program=/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk
ovs_schema=/usr/share/openvswitch/vswitch.ovsschema

missing() {
    case $1 in
        corelane*) have_corelane || echo "$corelane is not built: cargo build --release --package corelane-cli" ;;
        ovs-*) [ -x "$ovs_program" ] && have ovsdb-server || echo "openvswitch-switch-dpdk is not installed" ;;
        testpmd) have dpdk-testpmd || echo "dpdk-testpmd is not installed: apt-get install dpdk" ;;
        tapcopy | tapcopy-spin | bridge) ;;
        *) echo "no such row; there are: ${ROWS[*]}" ;;
    esac
}

title() {
    case $1 in
        corelane) echo "corelane, preset forward, balanced" ;;
        corelane-low-latency) echo "corelane, preset forward, low latency" ;;
        tapcopy) echo "bare copy loop between two taps" ;;
        tapcopy-spin) echo "bare copy loop, never sleeping" ;;
        ovs-tap) echo "Open vSwitch $(ovs_version), userspace, taps" ;;
        ovs-tap-tso) echo "Open vSwitch $(ovs_version), userspace with TSO, taps" ;;
        ovs-system-tso) echo "Open vSwitch $(ovs_version), userspace with TSO, AF_PACKET on veth" ;;
        testpmd) echo "testpmd $(pkg-config --modversion libdpdk 2>/dev/null), io, net_tap" ;;
        bridge) echo "Linux $(uname -r | cut -d- -f1) bridge on veth" ;;
    esac
}
ovs_version() { ovs-vsctl --version | awk 'NR == 1 { print $NF }'; }

start() {
    case $1 in
        corelane) start_corelane preset:forward balanced ;;
        corelane-low-latency) start_corelane preset:forward low-latency ;;
        tapcopy) forward "$bin/tapcopy" a0 b0 && move_taps ;;
        tapcopy-spin) forward "$bin/tapcopy" --spin a0 b0 && move_taps ;;
        ovs-tap) start_ovs tap false && move_taps ;;
        ovs-tap-tso) start_ovs tap true && move_taps ;;
        ovs-system-tso) veths && start_ovs system true ;;
        testpmd) start_testpmd && move_taps ;;
        bridge) veths && start_bridge ;;
    esac
}

# start_corelane DESCRIPTION IDLE [PORT_B]
start_corelane() {
    forward "$corelane" run "$1" --port 'a=Tap("a0")' --port "b=${3:-Tap(\"b0\")}" --cpus "$FORWARDER_CORE" --idle "$2"
    move_taps
}

start_bridge() {
    ip -n "$F" link add br0 type bridge stp_state 0 forward_delay 0
    ip -n "$F" link set br0 mtu "$MTU" up
    ip -n "$F" link set pa master br0
    ip -n "$F" link set pb master br0
}

# start_ovs PORTS TSO: a database and a switch of this run's own. Neither kind of port has a poll-mode driver, so the
# switch's main thread forwards; DPDK's own set-up would add nothing but a thread that spins.
start_ovs() {
    local home=$scratch/ovs port kind
    rm -rf "$home" && mkdir -p "$home"
    export OVS_RUNDIR=$home OVS_DBDIR=$home OVS_LOGDIR=$home OVS_SYSCONFDIR=$home
    ovsdb-tool create "$home/conf.db" "$ovs_schema"
    ip netns exec "$F" "$outside/ahead.sh" "$ENDS_CORE" ovsdb-server "$home/conf.db" --remote="punix:$home/db.sock" \
        --unixctl="$home/db.ctl" >>"$scratch/log" 2>&1 </dev/null &
    disown
    wait_for 10 test -S "$home/db.sock" || return 1
    ovs --no-wait init
    ovs --no-wait set Open_vSwitch . "other_config:userspace-tso-enable=$2"
    forward "$ovs_program" "unix:$home/db.sock" --unixctl="$home/switch.ctl" --no-chdir
    wait_for 10 ovs get Open_vSwitch . ovs_version || return 1
    ovs add-br br0 -- set bridge br0 datapath_type=netdev
    case $1 in tap) port=(a0 b0) kind=tap ;; *) port=(pa pb) kind=system ;; esac
    local one
    for one in "${port[@]}"; do
        ovs add-port br0 "$one" -- set interface "$one" "type=$kind"
    done
}
ovs() { ovs-vsctl --db="unix:$scratch/ovs/db.sock" --timeout=20 "$@" >>"$scratch/log" 2>&1; }

# It places its own threads: the one that waits on core 0, the one that forwards on core 1.
start_testpmd() {
    ip netns exec "$F" "$outside/ahead.sh" - dpdk-testpmd -l "$ENDS_CORE,$FORWARDER_CORE" \
        --no-pci --no-huge --no-shconf --no-telemetry -m 512 \
        --vdev net_tap0,iface=a0 --vdev net_tap1,iface=b0 -- --nb-cores=1 --no-lsc-interrupt \
        --forward-mode=io --auto-start --total-num-mbufs=16384 --stats-period 3600 \
        >>"$scratch/log" 2>&1 </dev/null &
    forwarder+=($!)
    disown
    wait_for 15 grep -q "packet forwarding - ports=2" "$scratch/log"
}
