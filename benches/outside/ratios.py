#!/usr/bin/env python3
"""What the figures of run.sh say: tables of medians, and ratios of corelane to each rival.

    ratios.py describe --out FILE ...     writes who ran where as the file's first line (run.sh calls it)
    ratios.py summary FILE                prints the tables, puts the ratios into FILE as lines of their own
    ratios.py into README MARK            puts standard input between README's markers of that name
    ratios.py self-test                   tries the arithmetic on figures whose answer is known

A ratio is taken within one round, so that what else the machine did then falls on both sides; the median over all
rounds is given with the 95 % interval of a bootstrap over rounds. Above 1 corelane is ahead, whatever the unit: for
times and costs the ratio is rival / ours. A round in which either side has no figure makes no pair.
"""

import argparse
import json
import platform
import random
import statistics
import sys
from pathlib import Path

OURS = "corelane"
RESAMPLES = 4000
LESS_IS_BETTER = {"us", "ns/B"}
COLUMNS = [("tcp1", "TCP, 1 flow"), ("tcp1 cpu", "its cost"), ("tcp4", "4 flows"), ("tcp4 cpu", "its cost"),
           ("udp", "UDP"), ("pingpong", "round trip"), ("pingpong p99", "its p99"), ("tcp_lat", "qperf tcp_lat"),
           ("udp_lat", "udp_lat")]
# What must hold, as (case, rival, least ratio). The first two are one goal: either will do.
GOALS = [("super tcp1", "tapcopy", 0.9), ("super tcp1 cpu", "tapcopy", 1 / 1.1), ("super tcp1", "ovs-tap-tso", 1.0),
         ("super tcp1", "ovs-tap", 1.0), ("super tcp1", "ovs-system-tso", 1.0), ("super tcp1", "testpmd", 1.0),
         ("super pingpong", "corelane-low-latency", 1 / 1.2)]
IDLE_MOST = 1.0  # % of a core


def interval(ratios, seed=1):
    """Median of the ratios and the 95 % interval of a bootstrap over them."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return statistics.median(ratios), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]


class Figures:
    """The lines of one file: values by case, row and round."""

    def __init__(self, lines):
        self.about = next((line for line in lines if line["case"] == "about"), {})
        self.values, self.units = {}, {}
        for line in lines:
            if line.get("value") is not None:
                self.values.setdefault((line["case"], line["row"]), {})[line["round"]] = line["value"]
                self.units[line["case"]] = line["unit"]
        self.cases = list(dict.fromkeys(case for case, _ in self.values))
        self.rows = list(dict.fromkeys([*self.about.get("rows", {}), *(row for _, row in self.values)]))

    def pairs(self, case, rival):
        """Ratios of the rounds in which both have a figure; above 1 ours is better."""
        ours, theirs = self.values.get((case, OURS), {}), self.values.get((case, rival), {})
        turned = self.units.get(case) in LESS_IS_BETTER
        both = [(ours[n], theirs[n]) for n in sorted(ours) if n in theirs and ours[n] > 0 and theirs[n] > 0]
        return [theirs / ours if turned else ours / theirs for ours, theirs in both]

    def median(self, case, row):
        """Median over the rounds, or nothing."""
        rounds = self.values.get((case, row))
        return statistics.median(rounds.values()) if rounds else None

    def ratios(self):
        """A summary line for each case and rival."""
        for case in self.cases:
            for rival in self.rows:
                found = self.pairs(case, rival) if rival != OURS else []
                if found:
                    ratio, low, high = interval(found)
                    yield {"bench": self.about.get("bench", "outside"), "case": case, "ours": self.median(case, OURS),
                           "rival": self.median(case, rival), "unit": self.units[case], "ratio": round(ratio, 4),
                           "low": round(low, 4), "high": round(high, 4), "rounds": len(found), "rival_name": rival,
                           "title": self.about.get("rows", {}).get(rival, rival)}


def digits(value):
    """Three significant digits."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(figures, case, row):
    """Median with least and most."""
    rounds = figures.values.get((case, row))
    if not rounds:
        return "-"
    middle = digits(statistics.median(rounds.values()))
    if len(rounds) == 1:
        return middle
    return f"{middle} ({digits(min(rounds.values()))} to {digits(max(rounds.values()))})"


def grid(heads, rows):
    """A table in Markdown whose columns also line up as they stand."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(heads, *rows)]
    lines = [" | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) for row in [heads, *rows]]
    lines.insert(1, "-|-".join("-" * width for width in widths))
    return [f"| {line} |" if number != 1 else f"|-{line}-|" for number, line in enumerate(lines)]


def told(found):
    """Median of the ratios and its interval, where there are several."""
    ratio, low, high = interval(found)
    return f"{ratio:.2f}" if len(found) == 1 else f"{ratio:.2f} ({low:.2f} to {high:.2f})"


def ratio_cell(figures, case, rival):
    """Ratio and interval of ours over a rival."""
    found = figures.pairs(case, rival)
    if not found:
        return "-"
    return told(found)


def tables(figures):
    """All tables as lines of Markdown: per preset the medians, then corelane over each rival."""
    about = figures.about
    names = about.get("rows", {})
    yield about.get("text", "")
    for preset in dict.fromkeys(case.split()[0] for case in figures.cases if " " in case):
        here = [(f"{preset} {key}", head) for key, head in COLUMNS if f"{preset} {key}" in figures.cases]
        rows = [row for row in figures.rows if any((case, row) in figures.values for case, _ in here)]
        heads = [f"{head}, {figures.units[case]}" for case, head in here]
        most = max((len(rounds) for (case, _), rounds in figures.values.items() if case.startswith(preset)), default=0)
        yield ""
        yield f"`{preset}`, median (least to most) of up to {most} interleaved rounds:"
        yield ""
        yield from grid(["", *heads],
                        [[names.get(row, row), *(spread(figures, case, row) for case, _ in here)] for row in rows])
        rivals = [row for row in rows if row != OURS]
        if OURS in rows and rivals:
            yield ""
            yield f"`{preset}`, corelane over each (above 1 corelane is ahead; median of paired ratios, 95 % interval):"
            yield ""
            yield from grid(["", *(head for _, head in here)],
                            [[names.get(row, row), *(ratio_cell(figures, case, row) for case, _ in here)]
                             for row in rivals])
    goals = list(goal_lines(figures))
    if goals:
        yield ""
        yield from grid(["goal", "wanted", "found", ""], goals)


def goal_lines(figures):
    """What was aimed at and what was found."""
    for case, rival, least in GOALS:
        found = figures.pairs(case, rival)
        if found:
            verdict = "reached" if interval(found)[0] >= least else "not reached"
            yield [f"{case} over {rival}, {len(found)} rounds", f"{least:.2f}", told(found), verdict]
    idle = figures.median("idle", OURS)
    if idle is not None:
        verdict = "reached" if idle < IDLE_MOST else "not reached"
        yield ["idle, % of a core", f"below {IDLE_MOST:.0f}", f"{idle:.2f}", verdict]


def read(path):
    """All lines of a file but earlier summaries."""
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    return [line for line in lines if "ratio" not in line]


def summary(path):
    """Prints the tables and puts the ratios into the file."""
    lines = read(path)
    figures = Figures(lines)
    print("\n".join(tables(figures)))
    with open(path, "w", encoding="utf-8") as out:
        for line in [*lines, *figures.ratios()]:
            print(json.dumps(line), file=out)


def into(readme, mark, body):
    """Puts a text between the markers."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    text = Path(readme).read_text(encoding="utf-8")
    if text.count(begin) != 1 or end not in text.split(begin)[1]:
        sys.exit(f"error: {readme} needs one `{begin}` and `{end}` after it")
    before, rest = text.split(begin)
    Path(readme).write_text(f"{before}{begin}\n{body.strip()}\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


def processor():
    """The processor's name as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def describe(args):
    """The first line: machine, placement and names of rows. A file that has one keeps it, with the rows added."""
    path = Path(args.out)
    rows = dict(line.split("=", 1) for line in args.titles.splitlines())
    lines = read(path) if path.exists() else []
    for line in lines:
        if line["case"] == "about":
            rows = {**line["rows"], **rows}
    text = (f"{processor()}, {len(list(Path('/sys/devices/system/cpu').glob('cpu[0-9]*')))} virtual CPUs, Linux "
            f"{platform.release().split('-')[0]}; MTU {args.mtu}. The forwarder is on core {args.forwarder_core}, both "
            f"ends share core {args.ends_core}. Cost: the forwarder's CPU time for a payload byte that arrived. Round "
            "trip: frames of 64 bytes, from core to core and back.")
    about = {"bench": args.bench, "case": "about", "text": text, "rows": rows}
    with open(path, "w", encoding="utf-8") as out:
        for line in [about, *(line for line in lines if line["case"] != "about")]:
            print(json.dumps(line), file=out)


def self_test():
    """Figures whose answer is known."""
    def lines(case, unit, **rows):
        return [{"bench": "t", "case": case, "row": row, "value": value, "unit": unit, "round": number}
                for row, values in rows.items() for number, value in enumerate(values)]

    # The machine is twice as slow in round 1: unpaired medians would be 15 and 10, paired ratios are all 1.5.
    figures = Figures(lines("super tcp1", "Gb/s", corelane=[15, 7.5, 30], tapcopy=[10, 5, 20]))
    assert figures.pairs("super tcp1", "tapcopy") == [1.5, 1.5, 1.5]
    assert interval(figures.pairs("super tcp1", "tapcopy")) == (1.5, 1.5, 1.5)
    # Half the cost is ahead, and a missing figure makes no pair.
    figures = Figures(lines("super tcp1 cpu", "ns/B", corelane=[1.0, None, 2.0], tapcopy=[2.0, 9.0, 4.0]))
    assert figures.pairs("super tcp1 cpu", "tapcopy") == [2.0, 2.0]
    # The median of 1..101 is 51; its 95 % interval by order statistics is the 41st to the 61st.
    middle, low, high = interval([float(number) for number in range(1, 102)])
    assert middle == 51 and abs(low - 41) <= 2 and abs(high - 61) <= 2, (middle, low, high)
    # One outlier moves neither the median nor the lower end.
    middle, low, high = interval([1.0] * 14 + [100.0])
    assert (middle, low, high) == (1.0, 1.0, 1.0)
    (line,) = Figures(lines("wire udp", "Gb/s", corelane=[2, 4], bridge=[1, 1])).ratios()
    assert (line["ours"], line["rival"], line["ratio"], line["rounds"]) == (3, 1, 3.0, 2), line
    assert [digits(value) for value in (None, 0.5, 12.34, 1234.5)] == ["-", "0.50", "12.3", "1234"]
    assert [line[3] for line in goal_lines(figures)] == ["reached"]
    slow = Figures(lines("super tcp1", "Gb/s", corelane=[8, 8], tapcopy=[10, 10]) + lines("idle", "%", corelane=[1.2]))
    assert [line[3] for line in goal_lines(slow)] == ["not reached", "not reached"]
    print("ratios.py: arithmetic as expected")


def main():
    """One of the four commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    about = commands.add_parser("describe")
    for name in ("--out", "--forwarder-core", "--ends-core", "--mtu"):
        about.add_argument(name, required=True)
    about.add_argument("--bench", default="outside")
    about.add_argument("titles")
    commands.add_parser("summary").add_argument("file")
    put = commands.add_parser("into")
    put.add_argument("readme")
    put.add_argument("mark")
    commands.add_parser("self-test")
    args = parser.parse_args()
    if args.command == "describe":
        describe(args)
    elif args.command == "summary":
        summary(args.file)
    elif args.command == "into":
        into(args.readme, args.mark, sys.stdin.read())
    else:
        self_test()


if __name__ == "__main__":
    main()
