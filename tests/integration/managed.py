#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed.py TRUTH RESULT [C_FUNCTION…]: do the stacks of a JSON snapshot have the frames that the runtime itself saw?

TRUTH is what tests/targets/leak_go prints: places, each with bytes, count and stack. All frames of the language have to
be there, in order and with file and line, and no other of its functions between them; the runtime's own, which differ by
who looks at them, do not count. C_FUNCTIONs have to be on the stacks that C called back into.
"""
import re
import sys

from managed_files import truth_and_result

RUNTIME = ("runtime.main", "runtime.goexit")
# What `go method(…)` is compiled to: Go's own runtime leaves it out where it shows stacks.
WRAPPER = re.compile(r"main\.main\.(func|gowrap)\d+$")


def plain(function):
    """Names without the suffix that Go's linker gives to functions in assembler."""
    return function.removesuffix(".abi0")


def of_program(frames):
    """The program's own frames and where a stack begins."""
    kept = []
    for f in frames:
        name = plain(f.get("function") or "")
        if WRAPPER.match(name):
            continue
        if name in RUNTIME or (name.startswith("main.") and not name.startswith("main._C")):
            kept.append((name, f.get("file"), f.get("line")))
    return kept


def main():
    truth, result = truth_and_result()
    failed = 0
    assert len(truth) >= 4
    for place in truth:
        wanted = of_program(place["stack"])
        found = [
            s
            for s in result["stacks"]
            if (s["live"]["bytes"], s["live"]["count"]) == (place["bytes"], place["count"])
        ]
        if len(found) != 1:
            print(f"{len(found)} stacks of {place['bytes']} bytes in {place['count']} blocks; there are:")
            for s in result["stacks"]:
                print(f"  {s['live']} {s['end']} {[f.get('function') for f in s['frames'][:12]]}")
            failed += 1
            continue
        stack = found[0]
        got = of_program(stack["frames"])
        if got != wanted or stack["end"] != "complete" or stack["truncated"]:
            print(f"{place['bytes']} bytes, end {stack['end']}:\n  got    {got}\n  wanted {wanted}")
            failed += 1
        called_back = any("cgocallback" in f["function"] for f in place["stack"])
        names = [f.get("function") for f in stack["frames"]]
        for function in sys.argv[3:] if called_back else []:
            if function not in names:
                print(f"{place['bytes']} bytes: no {function} in {names}")
                failed += 1
    sys.exit(failed != 0)


main()
