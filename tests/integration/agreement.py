#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints how verdicts agree, one line per site: the truth, memleakbpf's, memcheck's and LeakSanitizer's.

    agreement.py TRUTH [--ours SNAPSHOT] [--memcheck XML] [--lsan LOG] [--title TEXT]

TRUTH is a target's line (tests/targets/verdict.h), SNAPSHOT one object of `-f json --verdict`, XML valgrind's --xml-file, LOG
LeakSanitizer's log_path file. A block that LeakSanitizer does not report is reachable for it. Exits with 1 when memleakbpf's
verdicts are not the truth, and says which.
"""
import argparse
import collections
import json
import re
import sys
import xml.etree.ElementTree

CLASSES = ("definite", "indirect", "possible", "reachable")
LETTERS = dict(zip(CLASSES, "DIPR"))
KINDS = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
    "Leak_StillReachable": "reachable",
}


class Table(collections.defaultdict):
    """(site, class) -> [bytes, blocks]"""

    def __init__(self):
        super().__init__(lambda: [0, 0])

    def add(self, site, name, size, count):
        self[site, name][0] += size
        self[site, name][1] += count

    def row(self, site):
        return {name: tuple(self[site, name]) for name in CLASSES}


def site_of(functions, sites):
    """The innermost of the functions that is a site. C++ names may have arguments and namespaces."""
    for function in functions:
        name = re.sub(r"\(.*", "", function or "").split("::")[-1].split(" ")[-1]
        if name in sites:
            return name
    return None


def read_truth(path):
    table = Table()
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)["verdict"]
    for site, classes in truth.items():
        for name in CLASSES:
            table.add(site, name, classes[name]["bytes"], classes[name]["count"])
    return list(truth), table


def read_ours(path, sites):
    table = Table()
    with open(path, encoding="utf-8") as file:
        snapshot = json.load(file)
    for stack in snapshot["stacks"]:
        site = site_of([frame.get("function") for frame in stack["frames"]], sites)
        for name, amount in stack.get("verdict", {}).items():
            table.add(site, name, amount["bytes"], amount["count"])
    return table


def read_memcheck(path, sites):
    table = Table()
    for error in xml.etree.ElementTree.parse(path).getroot():
        if error.findtext("state") == "FINISHED":
            break  # what follows was found at the exit, after what the target asked for
        kind = KINDS.get(error.findtext("kind"))
        if not kind:
            continue
        site = site_of([frame.findtext("fn") for frame in error.find("stack").iter("frame")], sites)
        table.add(site, kind, int(error.findtext("xwhat/leakedbytes")), int(error.findtext("xwhat/leakedblocks")))
    return table


def read_lsan(path, sites, truth):
    table = Table()
    kind = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            head = re.match(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)", line)
            frame = re.match(r"\s+#\d+ 0x[0-9a-f]+ in (.*?)( [^ ]*)?$", line.rstrip("\n"))
            if head:
                kind = "definite" if head[1] == "Direct" else "indirect"
                amount = int(head[2]), int(head[3])
            elif frame and kind:
                site = site_of([frame[1]], sites)
                if site:
                    table.add(site, kind, *amount)
                    kind = None
    for site in sites:
        rest = [sum(row[i] for row in truth.row(site).values()) - sum(row[i] for row in table.row(site).values()) for i in (0, 1)]
        table.add(site, "reachable", *rest)
    return table


def cell(row):
    return " ".join(f"{count}{LETTERS[name]}" for name, (_, count) in row.items() if count) or "-"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("truth")
    parser.add_argument("--ours")
    parser.add_argument("--memcheck")
    parser.add_argument("--lsan")
    parser.add_argument("--title", default="")
    options = parser.parse_args()

    sites, truth = read_truth(options.truth)
    columns = [("truth", truth)]
    if options.ours:
        columns.append(("memleakbpf", read_ours(options.ours, sites)))
    if options.memcheck:
        columns.append(("memcheck", read_memcheck(options.memcheck, sites)))
    if options.lsan:
        columns.append(("LeakSanitizer", read_lsan(options.lsan, sites, truth)))

    lines = [["site" if not options.title else options.title] + [name for name, _ in columns]]
    wrong = []
    right = collections.Counter()
    for site in sites:
        line = [site, cell(truth.row(site))]
        for name, table in columns[1:]:
            # By bytes, too, where they mean the same: memcheck's of a lost block hold those of what hangs on it, and
            # LeakSanitizer makes one byte of none.
            same = cell(table.row(site)) == cell(truth.row(site))
            if name == "memleakbpf":
                same = table.row(site) == truth.row(site)
            right[name] += same
            line.append("same" if same else cell(table.row(site)))
            if not same and name == "memleakbpf":
                wrong.append(f"{site}: {table.row(site)}, in truth {truth.row(site)}")
        lines.append(line)
    lines.append([f"right, of {len(sites)} sites", ""] + [str(right[name]) for name, _ in columns[1:]])

    widths = [max(len(line[i]) for line in lines) for i in range(len(columns) + 1)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
