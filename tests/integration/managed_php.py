#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_php.py TRUTH RESULT: do the stacks of a JSON snapshot have the frames that PHP itself saw?

TRUTH is what tests/targets/leak_php.php prints. All functions have to be there, in order, with file and line, and no others.
"""
import sys

from managed_files import truth_and_result


def php(stack):
    return [(f.get("function"), f.get("file"), f.get("line")) for f in stack["frames"] if f.get("kind") == "php"]


def main():
    truth, result = truth_and_result()
    failed = 0
    assert len(truth[0]["places"]) > 55
    for place in truth[0]["places"]:
        wanted = [(f["function"], f["file"], f["line"]) for f in place["stack"]]
        found = [s for s in result["stacks"] if s["live"]["count"] and s["live"]["bytes"] == place["bytes"] * s["live"]["count"]]
        if sum(s["live"]["count"] for s in found) != place["count"] or len(found) != 1:
            print(f"{place['bytes']} bytes in {place['count']} blocks: {[s['live'] for s in found]}")
            failed += 1
        for stack in found:
            got = php(stack)
            if got != wanted or stack["end"] != "complete":
                print(f"{stack['live']}, end {stack['end']}:\n  got    {got}\n  wanted {wanted}")
                failed += 1
    sys.exit(failed != 0)


main()
