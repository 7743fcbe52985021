#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does memcheck know every block that memleakbpf calls definitely lost?

    known_leaks.py SNAPSHOT XML

SNAPSHOT is one object of `-f json --verdict`, XML valgrind's --xml-file of another run of the same command. Blocks are counted by
the function that called the allocator (both find its name in the same symbol table; what has none is one group). Prints the
groups, and exits with 1 when memleakbpf has more lost blocks in one than memcheck.
"""
import collections
import json
import sys
import xml.etree.ElementTree

ALLOCATORS = ("malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "strdup", "operator new")


def caller(functions):
    for function in functions:
        if function and not function.startswith(ALLOCATORS):
            return function.split("(")[0]
        if not function:
            break
    return "?"


def main():
    ours, memcheck = collections.Counter(), collections.Counter()
    with open(sys.argv[1], encoding="utf-8") as file:
        snapshot = json.load(file)
    for stack in snapshot["stacks"]:
        count = stack["verdict"]["definite"]["count"]
        if count:
            ours[caller([frame.get("function") for frame in stack["frames"]])] += count
    for error in xml.etree.ElementTree.parse(sys.argv[2]).getroot().iter("error"):
        if error.findtext("kind") == "Leak_DefinitelyLost":
            functions = [frame.findtext("fn") for frame in error.find("stack").iter("frame")]
            memcheck[caller(functions)] += int(error.findtext("xwhat/leakedblocks"))
    for name in sorted(set(ours) | set(memcheck)):
        print(f"{name}: {ours[name]} definitely lost, memcheck {memcheck[name]}")
    print(f"total: {sum(ours.values())} definitely lost, memcheck {sum(memcheck.values())}")
    return 1 if ours - memcheck else 0


sys.exit(main())
