#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_ruby.py TRUTH RESULT: do the stacks of a JSON snapshot have the frames that Ruby itself saw?

TRUTH is what tests/targets/leak_ruby.rb prints. All methods and blocks have to be there, those in C as well, in order, with file and line,
and no others.
"""
import sys

from managed_files import frames_of, places_differ, truth_and_result


def main():
    truth, result = truth_and_result()
    assert len(truth[0]["places"]) > 200
    failed = places_differ(truth, result, "ruby")
    literal = truth[0]["literal"]
    wanted = (literal["function"], literal["file"], literal["line"])
    innermost = [frames_of(s, "ruby")[:1] for s in result["stacks"] if s["live"]["bytes"] == literal["bytes"]]
    found = [f[0] for f in innermost if f and f[0][0] == wanted[0]]
    if wanted not in found:
        print(f"what calls nothing: got {found}, wanted {wanted}")
        failed += 1
    sys.exit(failed != 0)


main()
