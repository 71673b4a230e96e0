# Shared by the scripts of this folder; to be sourced by bash with `set -euo pipefail`.
#
# Sets: root (the checkout), target (where cargo builds). The working folder becomes the checkout.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
# Absolute, since tests run in the folders of their packages.
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
mkdir -p "$target"

# Commands that some checks need and the package that has each, as `command:package`, and libraries as
# pkg-config knows them, as `library:package`. Nothing else is ever installed. Rust itself is not in the list:
# without it there is nothing to do.
readonly tools=(
    tshark:tshark pkg-config:pkg-config
    ip:iproute2 ping:iputils-ping ethtool:ethtool iperf3:iperf3 sysctl:procps python3:python3
)
readonly libraries=(hwloc:libhwloc-dev libudev:libudev-dev)

say() { printf '==> %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
have_library() { have pkg-config && pkg-config --exists "$1"; }

require_rust() {
    have cargo || die "cargo is not installed; corelane needs Rust, see rust-toolchain.toml for the version"
}

# skip NAME REASON: says that a check is left out and why, and records it as the tests do theirs.
skip() {
    printf 'SKIP %s: %s\n' "$1" "$2"
    [ -z "${CORELANE_SKIP_LOG:-}" ] || printf 'SKIP %s: %s\n' "$1" "$2" >>"$CORELANE_SKIP_LOG"
}

apt() { DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null; }

# Installs what is missing of `tools` and `libraries` where that is possible. Never fails: what needs a tool that is
# not there is skipped by name, and `.ci/run` says whether a skip may stand.
install_tools() {
    local tool library missing=() log
    for tool in "${tools[@]}"; do
        have "${tool%%:*}" || missing+=("${tool#*:}")
    done
    for library in "${libraries[@]}"; do
        have_library "${library%%:*}" || missing+=("${library#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! have apt-get || [ "$(id -u)" != 0 ]; then
        say "not installed: ${missing[*]}; what needs them is skipped. To have it run: sudo apt-get install ${missing[*]}"
        return 0
    fi
    say "installing ${missing[*]}"
    log=$(mktemp)
    # The package lists may be there and fresh; they are fetched only if the first try fails.
    if apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1 \
        || { apt update >"$log" 2>&1 && apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; }; then
        say "installed ${missing[*]}"
    else
        tail -n 5 "$log" >&2
        say "could not install ${missing[*]}; what needs them is skipped"
    fi
    rm -f "$log"
}
