#!/usr/bin/env python3
"""Puts the rows of target/bench-peers.jsonl into the table of benches/README.md.

usage: benches/peers_table.py [ROWS.jsonl]    (after make bench-peers)
It changes what lies between the two marks and nothing else.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- peers: begin -->\n", "<!-- peers: end -->\n"


def number(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def ratio(row):
    if "of_ceiling" in row:
        return f"{100 * row['of_ceiling']:.0f} % of it"
    if row["ratio"] is None:
        return "-"
    digits = 2 if row["ratio"] < 20 else 0
    return "**{:.{d}f}** ({:.{d}f} to {:.{d}f})".format(row["ratio"], row["low"], row["high"], d=digits)


def judged(row):
    word = {True: "right", False: "**wrong**", None: "-"}
    return f"{word[row['correct_ours']]} / {word[row['correct_rival']]}"


def table(rows):
    lines = ["| bench | case | ours | rival | rival / ours (95 %) | result: ours / rival | rival is |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["bench"], row["case"], number(row["ours"]), number(row["rival"]), ratio(row), judged(row), f"`{row['rival_name']}`"]
        lines.append("| " + " | ".join(cells) + " |")
    units = sorted({f"{row['bench']}: {row['unit']}" for row in rows if row["unit"]})
    return "\n".join(lines) + f"\n\nUnits: {'; '.join(units)}. {rows[0]['rounds']} pairs a row or more.\n"


def main():
    given = sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "target" / "bench-peers.jsonl"
    rows = [json.loads(line) for line in open(given, encoding="utf-8")]
    readme = HERE / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(before + BEGIN + table(rows) + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
