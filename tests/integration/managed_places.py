#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_places.py TRUTH RESULT KIND COUNT: do the stacks of a JSON snapshot have the frames of that kind that the program saw?

TRUTH is what tests/targets/leak_perl.pl or leak_php.php prints, of more than COUNT places. All functions have to be there, in
order, with file and line, and no others.
"""
import sys

from managed_files import places_differ, truth_and_result


def main():
    truth, result = truth_and_result()
    assert len(truth[0]["places"]) > int(sys.argv[4])
    failed = places_differ(truth, result, sys.argv[3])
    sys.exit(failed != 0)


main()
