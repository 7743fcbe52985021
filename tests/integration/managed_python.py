#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_python.py TRUTH RESULT [native]: do the stacks of a JSON snapshot have the frames that Python itself saw?

TRUTH is what tests/targets/leak_python.py prints. All Python functions have to be there, in order, with file and line,
and no others. With `native`, the interpreter's own functions are there too, and call for call.
"""
import sys

from managed_files import truth_and_result

EVAL = "_PyEval_EvalFrameDefault"


def is_right(stack, wanted, native):
    frames = stack["frames"]
    got = [(f.get("function"), f.get("file"), f.get("line")) for f in frames if f.get("kind") == "python"]
    # Each call of the interpreter has the functions that it runs behind it; and they have it before them.
    calls = "".join("P" if f.get("kind") == "python" else "E" if f.get("function") == EVAL else "c" for f in frames)
    right = (calls.count("E") == calls.count("EP") and "cP" not in calls) if native else "E" not in calls
    if got == wanted and stack["end"] == "complete" and right:
        return True
    print(f"{stack['live']}, end {stack['end']}, {calls}:\n  got    {got}\n  wanted {wanted}")
    return False


def main():
    truth, result = truth_and_result()
    native = sys.argv[3:] == ["native"]
    failed = 0
    assert len(truth) > 200
    for place in truth:
        wanted = [(f["function"], f["file"], f["line"]) for f in place["stack"]]
        size = place["bytes"] // place["count"]
        found = [s for s in result["stacks"] if s["live"]["count"] and s["live"]["bytes"] == size * s["live"]["count"]]
        # C may have called Python in several places of its own, which are shown with `native`.
        if sum(s["live"]["count"] for s in found) != place["count"] or not (native or len(found) == 1):
            print(f"{size} bytes in {place['count']} blocks: {[s['live'] for s in found]}")
            failed += 1
        for stack in found:
            failed += not is_right(stack, wanted, native)
    sys.exit(failed != 0)


main()
