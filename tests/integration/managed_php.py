#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_php.py TRUTH RESULT: do the stacks of a JSON snapshot have the frames that PHP itself saw?

TRUTH is what tests/targets/leak_php.php prints. All functions have to be there, in order, with file and line, and no others.
"""
import sys

from managed_files import places_differ, truth_and_result


def main():
    truth, result = truth_and_result()
    assert len(truth[0]["places"]) > 55
    failed = places_differ(truth, result, "php")
    sys.exit(failed != 0)


main()
