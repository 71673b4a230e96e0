#!/usr/bin/env python3
"""Measures what two namespaces get through the forwarder between them, and what that costs it.

    measure.py --out FILE --row NAME --preset NAME --round N --namespace A --address IP --core N --bin DIR
               [--processes PID,PID] [--seconds S] [--message BYTES] TEST...

Tests: tcp1, tcp4 (iperf3, so many flows), clients4 (so many clients of a flow each, to servers on ports from 5201
on), udp (iperf3, as fast as it sends, what arrives counts), pingpong (64-byte frames, each round trip timed), qperf
(tcp_lat and udp_lat of 64 bytes), q-TEST (one test of qperf with messages of --message bytes).

Appends a JSON line for each figure: bench, case, row, value, unit, round; a figure that could not be had is null, and
stderr says why. The forwarder's time is that of all its threads from /proc, so a forwarder in the kernel has none.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What qperf says, in us and MB/s.
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6, "bytes/sec": 1e-6, "KB/sec": 1e-3, "MB/sec": 1.0, "GB/sec": 1e3}


def cpu_ns(processes):
    """Time on the CPU of all threads that the processes have now, in ns."""
    total = 0
    for process in processes:
        for stat in Path(f"/proc/{process}/task").glob("*/schedstat"):
            try:
                total += int(stat.read_text().split()[0])
            except OSError:
                pass  # a thread that has just ended
    return total


class Failed(Exception):
    """A tool that gave no figure, and what it said."""


class Cell:
    """One forwarder under one preset in one round."""

    def __init__(self, args):
        self.args = args
        self.processes = [int(pid) for pid in args.processes.split(",") if pid]
        self.prefix = ["ip", "netns", "exec", args.namespace, str(HERE / "ahead.sh"), str(args.core)]

    def call(self, words, seconds):
        """What a command in the namespace prints."""
        try:
            done = subprocess.run(self.prefix + words, capture_output=True, text=True, timeout=seconds + 10)
        except subprocess.TimeoutExpired:
            raise Failed(f"{words[0]} did not end within {seconds + 10} s") from None
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip().splitlines()
            raise Failed(f"{words[0]}: {said[-1] if said else 'no figure'}")
        return done.stdout

    def iperf(self, *words):
        """The end of iperf3's report, and the forwarder's time for it."""
        seconds = self.args.seconds
        before = cpu_ns(self.processes)
        text = self.call(["iperf3", "-c", self.args.address, "-p", "5201", "-t", str(seconds), "-J", *words], seconds)
        spent = cpu_ns(self.processes) - before
        return json.loads(text)["end"], spent

    def tcp(self, flows):
        """Throughput, and the forwarder's time for a byte that arrived."""
        end, spent = self.iperf("-P", str(flows))
        got = end["sum_received"]
        yield f"tcp{flows}", got["bits_per_second"] / 1e9, "Gb/s"
        if self.processes and got["bytes"]:
            yield f"tcp{flows} cpu", spent / got["bytes"], "ns/B"

    def clients(self, count):
        """Throughput of clients that run at once, and the forwarder's time for a byte that arrived."""
        seconds = self.args.seconds
        before = cpu_ns(self.processes)
        running = [subprocess.Popen(self.prefix + ["iperf3", "-c", self.args.address, "-p", str(5201 + number), "-t",
                                                   str(seconds), "-J"], stdout=subprocess.PIPE, text=True)
                   for number in range(count)]
        try:
            reports = [json.loads(client.communicate(timeout=seconds + 10)[0]) for client in running]
        except subprocess.TimeoutExpired:
            raise Failed(f"a client did not end within {seconds + 10} s") from None
        finally:
            for client in running:
                client.kill()
        spent = cpu_ns(self.processes) - before
        got = [report["end"]["sum_received"] for report in reports]
        yield f"clients{count}", sum(one["bits_per_second"] for one in got) / 1e9, "Gb/s"
        if self.processes and sum(one["bytes"] for one in got):
            yield f"clients{count} cpu", spent / sum(one["bytes"] for one in got), "ns/B"

    def udp(self):
        """What arrives of datagrams that just fit a frame, sent without pause."""
        end, spent = self.iperf("-u", "-b", "0", "-l", "1472")
        total = end["sum"]
        arrived = total["bytes"] * (1 - total["lost_packets"] / max(total["packets"], 1))
        yield "udp", arrived * 8 / total["seconds"] / 1e9, "Gb/s"
        if self.processes and arrived > 0:
            yield "udp cpu", spent / arrived, "ns/B"

    def pingpong(self):
        """Median and tail of round trips of 64-byte frames."""
        seconds = self.args.seconds
        text = self.call([f"{self.args.bin}/pingpong", self.args.address, "7000", "64", str(seconds)], seconds)
        _, median, tail, _ = text.split()
        yield "pingpong", float(median), "us"
        yield "pingpong p99", float(tail), "us"

    def qperf(self, test, size):
        """One test of qperf with messages of one size. Its latencies are means, of half a round trip."""
        seconds = self.args.seconds
        text = self.call(["qperf", "-t", str(seconds), "-m", size, self.args.address, test], seconds)
        found = dict((name, float(value.replace(",", "")) * UNITS[unit])
                     for name, value, unit in re.findall(r"(\w+)\s*=\s*([\d.,]+)\s*(\S+)", text))
        # A figure of nothing is qperf's way to say that nothing came back.
        for name, case, unit in [("bw", test, "MB/s"), ("send_bw", test, "MB/s"), ("recv_bw", f"{test} recv", "MB/s"),
                                 ("latency", test, "us")]:
            if found.get(name):
                yield case, found[name], unit
        if not any(found.values()):
            raise Failed(f"qperf {test} of {size} bytes: nothing came back")

    def latencies(self):
        """qperf's latencies of 64-byte messages."""
        yield from self.qperf("tcp_lat", "64")
        yield from self.qperf("udp_lat", "64")

    def figures(self, test):
        """The figures of one test, as (case, value, unit)."""
        if match := re.fullmatch(r"(tcp|clients)(\d+)", test):
            return {"tcp": self.tcp, "clients": self.clients}[match[1]](int(match[2]))
        if test.startswith("q-"):
            return self.qperf(test[2:], self.args.message)
        return {"udp": self.udp, "pingpong": self.pingpong, "qperf": self.latencies}[test]()

    def line(self, case, value, unit):
        """One figure as a JSON line."""
        args = self.args
        return json.dumps({"bench": args.bench, "case": f"{args.preset} {case}", "row": args.row, "value": value,
                           "unit": unit, "round": args.round})


def main():
    """Runs the tests in the order given."""
    parser = argparse.ArgumentParser()
    for name in ("--out", "--row", "--preset", "--namespace", "--address", "--core", "--bin"):
        parser.add_argument(name, required=True)
    parser.add_argument("--bench", default="outside")
    parser.add_argument("--processes", default="")
    parser.add_argument("--message", default="64")
    parser.add_argument("--round", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("tests", nargs="+")
    cell = Cell(parser.parse_args())
    with open(cell.args.out, "a", encoding="utf-8") as out:
        for test in cell.args.tests:
            try:
                for figure in cell.figures(test):
                    print(cell.line(*figure), file=out)
            except (Failed, KeyError, ValueError) as error:
                print(f"    {cell.args.row}, {cell.args.preset}, {test}: {error}", file=sys.stderr)
                print(cell.line(test.removeprefix("q-"), None, None), file=out)


if __name__ == "__main__":
    main()
