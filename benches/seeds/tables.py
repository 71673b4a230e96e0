#!/usr/bin/env python3
"""The two published experiments beside our own figures.

    tables.py forget BENCH FILE       takes an earlier run of the bench out of FILE
    tables.py gro FILE                what joining is worth, as gro.sh measured it
    tables.py tx-checksum FILE        who computes checksums, as tx_checksum.sh measured it
    tables.py self-test               tries the pairing on figures whose answer is known

The published figures are of other machines and of real network cards, so only ratios stand side by side: each of ours
is the median over rounds of the ratio within a round, with the 95 % interval where there are several.
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left in the tree
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "outside"))
import ratios  # noqa: E402  (the same arithmetic as run.sh's)

# Published for messages of so many bytes: tcp_bw in MB/s and tcp_lat in us, each with the sums made by the sender, in
# software at egress, by the card. UDP was equal within noise in all three, and 64 KiB datagrams were not sent.
SIZES = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1K", "2K", "4K", "8K", "16K", "32K", "64K"]
PUBLISHED = {
    "tcp_bw": [(1.95, 1.93, 1.9), (3.93, 3.83, 3.83), (8.04, 7.81, 7.71), (15.3, 14.7, 14.5), (29.6, 27.4, 27),
               (54.5, 50.7, 50.5), (92.9, 83.7, 82.6), (147, 144, 146), (194, 203, 211), (255, 253, 257),
               (303, 294, 301), (337, 354, 379), (402, 506, 556), (444, 698, 800), (468, 866, 1030), (477, 985, 1110),
               (517, 1090, 1170)],
    "tcp_lat": [(28.8, 29.4, 29.8), (28.5, 29.3, 29.6), (28.7, 29.3, 29.5), (28.6, 29.3, 29.5), (28.6, 29.3, 29.7),
                (28.6, 29.5, 29.9), (29, 29.8, 30.4), (29.2, 30.3, 30.2), (30.4, 30.9, 31), (43.6, 32.2, 32.3),
                (47.8, 34.3, 34.7), (43.3, 44.2, 44.1), (47.4, 48, 47.1), (76.9, 75.9, 76.8), (83.5, 83.1, 84.1),
                (134, 94.6, 96.1), (184, 203, 196)],
}
WAYS = ("sender", "software", "hardware", "whole")
TESTS = [("tcp_bw", "MB/s"), ("tcp_lat", "us"), ("udp_bw", "MB/s sent"), ("udp_bw recv", "MB/s received"),
         ("udp_lat", "us")]


def of_bench(path, bench):
    """The figures of one bench in a file."""
    return ratios.Figures([line for line in ratios.read(path) if line["bench"] == bench])


def over(figures, case, row, base):
    """Row over base in the sense of `better`: pairs of one round."""
    ours, theirs = figures.values.get((case, row), {}), figures.values.get((case, base), {})
    turned = figures.units.get(case) in ratios.LESS_IS_BETTER
    both = [(ours[n], theirs[n]) for n in sorted(ours) if theirs.get(n, 0) > 0 and ours[n] > 0]
    return [b / a if turned else a / b for a, b in both]


def told(pairs):
    """A ratio with its interval, or a dash."""
    return ratios.told(pairs) if pairs else "-"


def summaries(figures, bench, case, row, bases, published):
    """Summary lines of one case: the row over each base."""
    for base in bases:
        pairs = over(figures, case, row, base)
        if pairs:
            ratio, low, high = ratios.interval(pairs)
            yield {"bench": bench, "case": case, "ours": figures.median(case, row),
                   "rival": figures.median(case, base), "unit": figures.units[case], "ratio": round(ratio, 4),
                   "low": round(low, 4), "high": round(high, 4), "rounds": len(pairs), "rival_name": base,
                   "ours_name": row, "published": published.get(base)}


def gro(path):
    """Joining here over none and over the kernel's, with the summary lines."""
    figures = of_bench(path, "seed-gro")
    loads = [(case, head) for case, head in [("soft tcp1", "1 flow"), ("soft tcp4", "4 flows, 1 client"),
                                             ("soft clients4", "4 clients")] if case in figures.cases]
    print("GRO before the receiver: Gb/s that arrive, frames of 1,500 bytes from a sender without TSO\n")
    rows = []
    for row, name in [("none", "nobody joins"), ("kernel", "the receiver's kernel"), ("ours", "corelane (bump)")]:
        rows.append([name, *(ratios.spread(figures, case, row) for case, _ in loads), ""])
    for base, name, known in [("none", "corelane / nobody", "almost 2"), ("kernel", "corelane / kernel", "almost 1.2")]:
        rows.append([name, *(told(over(figures, case, "ours", base)) for case, _ in loads), known])
    print("\n".join(ratios.grid(["", *(head for _, head in loads), "published"], rows)))
    published = {"none": 2.0, "kernel": 1.2}
    return [line for case, _ in loads
            for line in summaries(figures, "seed-gro", case, "ours", ["none", "kernel"], published)]


def tx_checksum(path):
    """The three ways by size, with the summary lines."""
    figures = of_bench(path, "seed-tx-checksum")
    lines = []
    for test, unit in TESTS:
        rows = []
        for index, size in enumerate(SIZES):
            case = f"{size} {test}"
            if case not in figures.cases:
                continue
            known = PUBLISHED.get(test)
            published = dict.fromkeys(("software", "hardware"), "1" if test in ("udp_bw", "udp_lat") else "-")
            if known:
                sender, software, card = known[index]
                pair = (software / sender, card / sender)
                pair = (1 / pair[0], 1 / pair[1]) if test == "tcp_lat" else pair
                published = dict(zip(("software", "hardware"), (f"{ratio:.2f}" for ratio in pair)))
            middles = [ratios.digits(figures.median(case, way)) for way in WAYS]
            rows.append([size, *middles, told(over(figures, case, "software", "sender")), published["software"],
                         told(over(figures, case, "hardware", "sender")), published["hardware"],
                         told(over(figures, case, "whole", "sender"))])
            for way in WAYS[1:]:
                known = {"sender": float(published[way])} if published.get(way, "-") != "-" else {}
                lines += summaries(figures, "seed-tx-checksum", case, way, ["sender"], known)
        if not rows:
            continue
        print(f"\n{test}, {unit} (ratios: above 1 is better than sums by the sender)\n")
        print("\n".join(ratios.grid(["bytes", *WAYS, "software / sender", "published", "hardware / sender", "published",
                                     "whole / sender"], rows)))
    print("\nUDP was published as equal within noise, not how much arrived; 64 KiB datagrams do not send.")
    return lines


def self_test():
    """Figures whose answer is known."""
    assert all(len(rows) == len(SIZES) for rows in PUBLISHED.values())
    lines = [{"bench": "t", "case": "64K tcp_bw", "row": row, "value": value, "unit": "MB/s", "round": number}
             for row, values in [("sender", [10, 20]), ("hardware", [20, 40])] for number, value in enumerate(values)]
    lines += [{"bench": "t", "case": "64K tcp_lat", "row": row, "value": value, "unit": "us", "round": 0}
              for row, value in {"sender": 30.0, "hardware": 20.0}.items()]
    figures = ratios.Figures(lines)
    assert over(figures, "64K tcp_bw", "hardware", "sender") == [2.0, 2.0]
    assert over(figures, "64K tcp_lat", "hardware", "sender") == [1.5], "less is better"
    assert over(figures, "64K tcp_lat", "software", "sender") == []
    (line,) = summaries(figures, "t", "64K tcp_bw", "hardware", ["sender"], {"sender": 2.26})
    assert (line["ours"], line["rival"], line["ratio"], line["published"]) == (30, 15, 2.0, 2.26), line
    print("tables.py: pairing as expected")


def main():
    """One of the four commands."""
    if sys.argv[1:] == ["self-test"]:
        self_test()
        return
    if sys.argv[1:2] == ["forget"] and len(sys.argv) == 4:
        path = Path(sys.argv[3])
        kept = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in kept if json.loads(line)["bench"] != sys.argv[2]]
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        return
    table = {"gro": gro, "tx-checksum": tx_checksum}.get(sys.argv[1] if len(sys.argv) == 3 else "")
    if table is None:
        sys.exit(__doc__)
    lines = table(sys.argv[2])
    with open(sys.argv[2], "a", encoding="utf-8") as out:
        for line in lines:
            print(json.dumps(line), file=out)


if __name__ == "__main__":
    main()
