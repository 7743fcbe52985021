# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What managed*.py compare: the last lines of the files TRUTH and RESULT, which they are called with, as JSON."""
import json
import sys


def last_line(path):
    with open(path, encoding="utf-8") as f:
        return json.loads(f.readlines()[-1])


def truth_and_result():
    return last_line(sys.argv[1]), last_line(sys.argv[2])


def frames_of(stack, kind):
    return [(f.get("function"), f.get("file"), f.get("line")) for f in stack["frames"] if f.get("kind") == kind]


def places_differ(truth, result, kind):
    """In how many of the truth's places the stacks' frames of that kind, or their sums, are not what the program saw."""
    failed = 0
    for place in truth[0]["places"]:
        wanted = [(f["function"], f["file"], f["line"]) for f in place["stack"]]
        found = [s for s in result["stacks"] if s["live"]["count"] and s["live"]["bytes"] == place["bytes"] * s["live"]["count"]]
        if sum(s["live"]["count"] for s in found) != place["count"] or len(found) != 1:
            print(f"{place['bytes']} bytes in {place['count']} blocks: {[s['live'] for s in found]}")
            failed += 1
        for stack in found:
            got = frames_of(stack, kind)
            if got != wanted or stack["end"] != "complete":
                print(f"{stack['live']}, end {stack['end']}:\n  got    {got}\n  wanted {wanted}")
                failed += 1
    return failed
